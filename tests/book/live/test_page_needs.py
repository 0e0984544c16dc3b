"""What a page knows about the cells of its chapter before a reader runs any."""

import pytest

from autograder.authoring.exercise import find_exercise
from autograder.chapter.chapter import GIVEN, Chapter, read_chapter
from autograder.layout import chapter_names
from autograder.release.lending import lent_helpers
from book.live.page_needs import given_cells, used_functions
from book.live.self_study import helper_functions

pytestmark = pytest.mark.book

STUBS = """```{code-cell} python
:tags: [exercise]

def masked_softmax(scores, mask):
    raise NotImplementedError
```

```{code-cell} python
:tags: [exercise]

class Attention(nn.Module):
    pass
```
"""


def described(*cells, setup="import numpy as np"):
    """Return what a page knows about these cells, below two stubs."""
    cell = "```{{code-cell}} python\n{}\n```\n"
    text = cell.format(f":tags: [setup]\n\n{setup}") + STUBS + "".join(map(cell.format, cells))
    known, *cells_after_setup = given_cells(Chapter("03_masking", text, ()), functions={"linear"})
    assert known == {}
    return cells_after_setup


def test_a_cell_waits_for_exercises_of_this_chapter_and_of_earlier_ones():
    setup = "from solutions.attention import attention, softmax\nfrom solutions.backward import linear"
    assert described("a = softmax(x)", "masked_softmax(a, m)", "linear(3)", setup=setup) == [
        {"rests": ["softmax"]}, {"rests": ["masked_softmax", "softmax"]}, {},
    ]  # fmt: skip


def test_a_cell_and_an_exercise_wait_for_what_a_given_function_calls():
    setup = "from solutions.masked_attention import masked_attention"
    assert described("masked_attention(q, k, v, m)", setup=setup) == [{"rests": ["masked_softmax"]}]
    assert used_functions(find_exercise("cross_attention"), read_chapter("07_cross")) == ["masked_softmax"]


def test_a_cell_names_the_package_that_a_page_lacks():
    guarded = "try:\n    import torch\nexcept ModuleNotFoundError:\n    torch = None"
    used = "rate = 1\nif torch:\n    rate = torch.ones(rate)"
    pytorch = {"lacks": "PyTorch does not run in the browser. Use the chapter’s notebook for the cells that need it."}
    assert described(guarded, used, "print(rate)", "Attention(3)") == [pytorch, pytorch, {}, pytorch]
    assert described("import walks", "walks.table('Q', q, rows, columns)") == [{}, {}], "the bundle contains it"
    lacks_pandas = {"lacks": "The page does not have pandas. Use the chapter’s notebook for the cells that need it."}
    assert described("import pandas", "pandas.DataFrame()") == [lacks_pandas, lacks_pandas]
    assert described("from solutions import numbers", "numbers.words([1])") == [{}, {}]
    own = {"lacks": "The page does not have `unembed`, one of the book’s own functions."}
    assert described("unembed(1)", setup="from solutions.model import unembed") == [own]


def test_the_source_of_a_hidden_cell_is_included():
    assert described(":tags: [remove-input]\n\nimport figures") == [{"source": "import figures"}]


def test_most_cells_of_the_book_can_be_tried():
    for name in chapter_names():
        functions = set(lent_helpers(8)) if name == "09_training" else set()  # most cells of this chapter decode
        cells = given_cells(read_chapter(name), functions)
        assert len([cell for cell in cells if "lacks" not in cell]) >= 0.6 * len(cells), name


def test_the_cell_that_prints_the_failed_runs_waits_for_no_exercise():
    chapter = read_chapter("10_project")
    sources = [cell.source for cell in chapter.cells if cell.part in ("setup", *GIVEN)]
    cells = given_cells(chapter, set())
    (about,) = (about for source, about in zip(sources, cells, strict=True) if source.startswith("failed = {}"))
    assert about == {}


def test_imports_of_earlier_setups_are_included():
    """A reader's `encoder_layer` of chapter 5 needs it, and the setup of chapter 9 does not import it."""
    assert set(helper_functions(read_chapter("09_training"))) == {"linear", "cached_weights"}
    assert helper_functions(read_chapter("01_attention")) == {}
