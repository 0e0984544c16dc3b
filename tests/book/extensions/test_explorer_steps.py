"""Chapters 2 and 5: the backward pass, one arrow at a time, with the numbers of the chapter's cells."""

from types import SimpleNamespace

import numpy as np
import pytest
import walks
from docutils.core import publish_doctree
from docutils.parsers.rst import directives

from book.extensions import explorers
from solutions.attention import attention
from solutions.backward import attention_backward, softmax_backward
from tests.book.extensions.explorer import KEYS, STATUS, VALUES, reads_well

pytestmark = pytest.mark.book

STEP = """(part => ({
  status: document.querySelector(".explorer-status").textContent,
  formulas: [...part.querySelectorAll("mjx-container")].filter(box => box.getBoundingClientRect().width > 9).length,
  tables: [...part.querySelectorAll("table")].map(table => [...table.rows].map(
    row => [...row.cells].map(cell => cell.textContent))),
  arrows: document.querySelectorAll(".explorer-graph .backwards:not(.later)").length,
}))(document.querySelector(".explorer-step:not([hidden])"))"""


def step(tab, number, of):
    """Wait until the page shows a step, and return what it shows."""
    tab.wait(f"{STATUS}.startsWith('Step {number} of {of}: ')")
    result = tab.evaluate(STEP)
    assert result["arrows"] == number and result["formulas"] > 0
    return result


def written(matrix):
    return [[f"{n:.2f}".replace("-0.00", "0.00").replace("-", "−") for n in row] for row in matrix]


def test_each_step_shows_its_arrow_its_shape_and_its_gradient(opened):
    tab = opened("02_backward")
    asking = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0], [0.0, -1.0]])
    wanted = np.array([[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]) @ VALUES
    result, cache = attention(asking, KEYS, VALUES)
    arrays = {"A": cache[3], "O": result, "wanted": wanted, "dO": result - wanted, "Q": asking, "K": KEYS, "V": VALUES}
    arrays["dQ"], arrays["dK"], arrays["dV"] = attention_backward(result - wanted, cache)
    arrays["dA"] = (result - wanted) @ VALUES.T
    arrays["dS"] = softmax_backward(arrays["dA"], cache[3])
    shown = {}
    for number in range(1, 7):
        part = step(tab, number, of=6)
        for (head, *_), *rows in part["tables"]:
            assert [row[1:] for row in rows] == written(arrays[head]), head
        shown[head] = part["status"]
        tab.evaluate("document.querySelectorAll('.explorer-presets button')[1].click()")
    assert list(shown) == ["dO", "dV", "dA", "dS", "dQ", "dK"]
    assert all(status.endswith(f": {name}, of shape {arrays[name].shape}") for name, status in shown.items())
    assert reads_well(tab)
    assert not tab.exceptions()


def test_the_arrow_keys_walk_through_the_steps_and_keep_the_focus(opened):
    tab = opened("02_backward")
    tab.evaluate("document.querySelectorAll('.explorer-presets button')[1].focus()")
    for key, number in (("End", 6), ("ArrowRight", 6), ("ArrowLeft", 5), ("ArrowRight", 6), ("Enter", 6)):
        tab.press(key)
        step(tab, number, of=6)
        assert tab.evaluate("document.activeElement.textContent") == "Next"


def test_in_an_encoder_layer_gradients_reach_other_words_only_through_attention(opened):
    tab = opened("05_residual")
    tab.evaluate("document.querySelectorAll('.explorer-presets button')[0].focus()")
    shown, he = {}, [word == 6 for word in range(9)]  # Ada threw Tom the ball but he dropped it
    for number in range(1, 10):
        part = step(tab, number, of=9)
        assert part["status"].endswith(", of shape (9, 24)")
        [[_, *names], *rows] = part["tables"][0]
        for column, name in enumerate(names, 1):
            lengths = [float(row[column]) for row in rows]
            assert shown.setdefault(name, lengths) == lengths, f"{name} has changed since an earlier step"
        tab.press("ArrowRight")
    assert shown["ds′"] == shown["past′"] == shown["dv"] and shown["ds"] == shown["past"] == shown["du"]
    reached = {name: [length > 0 for length in lengths] for name, lengths in shown.items()}
    assert {name for name, words in reached.items() if words != he} == {"key", "value", "dx"}
    assert all(reached["dx"])
    assert reads_well(tab)
    assert not tab.exceptions()


WALK = """
.. explorer:: steps
   :walk: squares

   Press Next.

   dx
      Twice x.
"""


def published(walk, monkeypatch):
    """Return the document that docutils makes of WALK, below a cell that displays the walk."""
    record = {name.removeprefix(walks.RECORD): text for name, text in walk._repr_mimebundle_()[0].items()}
    monkeypatch.setattr(explorers, "retrieve_glue_data", lambda document, name: SimpleNamespace(data=record))
    directives.register_directive("explorer", explorers.Explorer)
    return publish_doctree(WALK, settings_overrides={"report_level": 5})


def test_a_walk_contains_its_steps_and_rejects_what_does_not_fit_together(monkeypatch):
    places, x = {"x": (0, 0), "L": (1, 0)}, np.array([[1.0, -0.001]])
    step = walks.step("L", "x", x, walks.table("x", x, ["row"], ["a", "b"]))
    page = published(walks.Walk("squares", places, {"dx": step}), monkeypatch)
    [node] = page.findall(explorers.explorer)
    numbers = {"name": "x", "columns": ["a", "b"], "rows": [["row", [1.0, 0.0]]]}
    assert node["walk"]["steps"] == [{"name": "dx", "from": "L", "to": "x", "shape": [1, 2], "tables": [numbers]}]
    page = published(walks.Walk("squares", places, {"dx": step, "dy": step}), monkeypatch)
    assert "the steps of the walk 'squares' are dx, dy; the text describes dx" in page.astext()
    with pytest.raises(ValueError, match="no place is given for L"):
        walks.Walk("squares", {"x": (0, 0)}, {"dx": step})
    with pytest.raises(ValueError, match=r"x has shape \(1, 2\), and labels for \(2, 1\)"):
        walks.table("x", x, ["a", "b"], ["row"])


def test_a_walk_that_no_cell_displays_is_an_error():
    directives.register_directive("explorer", explorers.Explorer)
    page = publish_doctree(WALK, settings_overrides={"report_level": 5})
    assert "no cell above shows a walks.Walk called 'squares'" in page.astext()
