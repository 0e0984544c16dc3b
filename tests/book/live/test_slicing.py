"""Which statements above a cell are run for it: matplotlib is not loaded where a cell can do without."""

import pytest

from book.live.in_page.slicing import sliced, statements

pytestmark = pytest.mark.book

FIGURE = """nouns = ["Ada", "Tom"]
import figures
fig, ax = figures.subplots()
for noun in nouns:
    share = len(noun)
    ax.text(0, share, noun)
np.seterr(all="ignore")
lengths = np.ones(3)
figures.show(fig, alt="two words")"""


def kept(*cells, loaded=False):
    """The lines of the cells above the last that are run, a list for each; whether matplotlib is needed."""
    *above, cell = map(statements, ("import numpy as np", *cells))
    left, draws = sliced(above, cell, loaded)
    return [[statement.tree.lineno for statement in each] for each in left[1:]], draws


@pytest.mark.parametrize(
    ("cell", "lines", "draws"),
    [
        ("print(nouns, lengths)", [1, 7, 8], False),
        ("for noun in nouns:\n    print(noun)", [1, 7, 8], False),  # of its own
        ("figures.heatmap(lengths)", [1, 2, 7, 8, 9], True),
        ("print(share)", [1, 2, 3, 4, 7, 8], True),
        ("import matplotlib.pyplot as plt", [1, 7, 8], True),
        ("def later():\n    return fig", [1, 2, 3, 7, 8], True),
    ],
)
def test_what_draws_is_left_out_where_nothing_needs_it(cell, lines, draws):
    found, needs_matplotlib = kept(FIGURE, cell)
    assert found[0] == lines or (cell.startswith("figures") and set(found[0]) >= {1, 2, 7, 8})
    assert needs_matplotlib == draws


def test_a_module_that_a_figure_used_is_no_drawing():
    assert kept(FIGURE.replace("nouns = ", "names = nouns = "), "x = np.ones(3)", "print(x)") == (
        [[1, 7, 8], [1]],
        False,
    )


def test_a_module_that_only_a_figure_needs_is_no_drawing_either():
    assert kept(f"{FIGURE}\nnp.copyto(lengths, share)", "x = np.zeros(3)", "print(x)") == ([[1, 7, 8], [1]], False)


def test_a_name_that_is_bound_anew_is_no_drawing_any_more():
    assert kept(FIGURE, "share = 1", "print(share)") == ([[1, 7, 8], [1]], False)


def test_once_matplotlib_is_there_its_import_is_run():
    assert kept(FIGURE, "print(nouns)", loaded=True) == ([[1, 2, 7, 8]], True)
