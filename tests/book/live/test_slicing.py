"""Only the statements that a cell needs run above it, so that matplotlib is loaded only for figures."""

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
    """Return for each cell above the last the lines that run, and whether matplotlib is needed."""
    *above, cell = map(statements, ("import numpy as np", *cells))
    parts, draws = sliced(above, cell, loaded)
    return [[statement.tree.lineno for statement in part] for part in parts[1:]], draws


@pytest.mark.parametrize(
    ("cell", "lines", "draws"),
    [
        ("print(nouns, lengths)", [1, 7, 8], False),
        ("for noun in nouns:\n    print(noun)", [1, 7, 8], False),  # the cell has a `noun` of its own
        ("figures.heatmap(lengths)", [1, 2, 7, 8, 9], True),
        ("print(share)", [1, 2, 3, 4, 7, 8], True),
        ("import matplotlib.pyplot as plt", [1, 7, 8], True),
        ("def later():\n    return fig", [1, 2, 3, 7, 8], True),
    ],
)
def test_statements_that_draw_are_left_out_if_no_statement_needs_them(cell, lines, draws):
    lines_to_run, needs_matplotlib = kept(FIGURE, cell)
    assert lines_to_run[0] == lines or (cell.startswith("figures") and set(lines_to_run[0]) >= {1, 2, 7, 8})
    assert needs_matplotlib == draws


def test_a_module_that_a_figure_uses_does_not_count_as_drawing():
    assert kept(FIGURE.replace("nouns = ", "names = nouns = "), "x = np.ones(3)", "print(x)") == (
        [[1, 7, 8], [1]],
        False,
    )


def test_a_module_that_only_a_figure_uses_does_not_count_as_drawing():
    assert kept(f"{FIGURE}\nnp.copyto(lengths, share)", "x = np.zeros(3)", "print(x)") == ([[1, 7, 8], [1]], False)


def test_a_name_that_is_assigned_again_no_longer_counts_as_drawing():
    assert kept(FIGURE, "share = 1", "print(share)") == ([[1, 7, 8], [1]], False)


def test_the_import_of_matplotlib_runs_once_matplotlib_is_loaded():
    assert kept(FIGURE, "print(nouns)", loaded=True) == ([[1, 2, 7, 8]], True)
