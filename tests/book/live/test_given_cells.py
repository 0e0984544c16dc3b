"""What a page knows of the cells that its chapter gives, before one presses anything."""

import ast
import time
import timeit
from types import SimpleNamespace

import pytest

from autograder.chapter.chapter import Chapter, read_chapter
from autograder.house import chapter_names
from book.live.given_cells import given_cells
from book.live.self_study import given_functions

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


def told(*cells, setup="import numpy as np"):
    """What a page knows of these cells, below two stubs."""
    cell = "```{{code-cell}} python\n{}\n```\n"
    text = cell.format(f":tags: [setup]\n\n{setup}") + STUBS + "".join(map(cell.format, cells))
    known, *found = given_cells(Chapter("03_masking", text, ()), functions={"linear"})
    assert known == {}
    return found


def test_a_cell_waits_for_exercises_of_this_chapter_and_of_earlier_ones():
    setup = "from solutions.attention import attention, softmax\nfrom solutions.backward import linear"
    assert told("a = softmax(x)", "masked_softmax(a, m)", "linear(3)", setup=setup) == [
        {"rests": ["softmax"]}, {"rests": ["masked_softmax", "softmax"]}, {},
    ]  # fmt: skip


def test_a_cell_says_what_a_page_has_not():
    guarded = "try:\n    import torch\nexcept ModuleNotFoundError:\n    torch = None"
    used = "rate = 1\nif torch:\n    rate = torch.ones(rate)"
    pytorch = {"lacks": "PyTorch does not run in the browser. Use the chapter’s notebook for the cells that need it."}
    assert told(guarded, used, "print(rate)", "Attention(3)") == [pytorch, pytorch, {}, pytorch]
    assert told("import walks", "walks.table('Q', q, rows, columns)") == [{}, {}], "it comes with the bundle"
    words = {"lacks": "The page does not have num2words. Use the chapter’s notebook for the cells that need it."}
    assert told("from solutions import numbers", "numbers.words([1])") == [words, words]
    own = {"lacks": "The page does not have `log_softmax`, one of the book’s own functions."}
    assert told("log_softmax(1)", setup="from solutions.model import log_softmax") == [own]


def test_what_a_page_does_not_show_comes_along():
    assert told(":tags: [remove-input]\n\nimport figures") == [{"source": "import figures"}]


def test_most_cells_of_the_book_can_be_tried():
    for name in {*chapter_names()} - {"09_training"}:  # most of its cells need num2words
        cells = given_cells(read_chapter(name), functions=set())
        assert len([cell for cell in cells if "lacks" not in cell]) >= 0.6 * len(cells), name


def test_what_earlier_setups_import_comes_along_too():
    """A reader's `encoder_layer` of chapter 5 needs it, and the setup of chapter 9 does not import it."""
    assert set(given_functions(read_chapter("09_training"))) == {"linear", "cached_weights"}
    assert given_functions(read_chapter("01_attention")) == {}


def test_chapter_2_times_what_takes_no_time_by_a_browser_s_clock():
    """It goes in steps of a tenth of a millisecond, and a quotient of two such times was a division by zero."""
    (source,) = (cell.source for cell in read_chapter("02_backward").cells if "def seconds(" in cell.source)
    (function,) = (node for node in ast.parse(source).body if getattr(node, "name", "") == "seconds")
    coarse = SimpleNamespace(Timer=lambda run: timeit.Timer(run, timer=lambda: round(time.perf_counter(), 4)))
    space = {"timeit": coarse}
    exec(ast.unparse(function), space)
    assert 0 < space["seconds"](lambda: None) < 1e-4
