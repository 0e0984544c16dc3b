"""Derivations and cells that stay folded until an answer passes."""

import pytest

from autograder.chapter import myst
from autograder.chapter.chapter import read_chapter
from autograder.layout import chapter_names
from tests.book.live.reader import RIGHT, only_in_chromium
from tests.book.live.test_live_pages import WEIGHTS

pytestmark = pytest.mark.book

OPEN = "[...document.querySelectorAll('#folds details')].map(details => details.open)"


def test_a_fold_opens_once_when_its_exercise_passes(page, browser):
    lines = "[...document.querySelectorAll('#folds details.derivation > summary, #folds .collapsed')]"
    derivation, cell, other_cell = browser.evaluate(f"{lines}.map(line => line.textContent.trim())")
    assert derivation == "The derivation. It opens when your softmax passes. You can also open it now."
    assert cell == "This cell has the answer. It opens when your softmax passes. You can also open it now."
    assert "attention_weights" in other_cell
    assert not page.run("softmax", "def softmax(scores):\n    return scores").passes
    assert browser.evaluate(OPEN) == [False, False, False]
    assert page.run("softmax", RIGHT).passes
    assert browser.evaluate(OPEN) == [True, True, False]

    browser.evaluate("document.querySelector('#folds details.derivation').open = false")
    assert page.run("attention_weights", WEIGHTS).passes
    assert page.run("softmax", RIGHT + "\n").passes
    assert browser.evaluate(OPEN) == [False, True, True], "a fold that the reader has closed stays closed"


@pytest.mark.thorough("test_front_page opens a solved page again")
def test_a_fold_is_open_after_a_reload_and_in_the_next_version_of_the_answer(page, browser):
    assert page.run("softmax", RIGHT).passes
    page.write("softmax", RIGHT + "# better?")
    page.open()
    assert browser.evaluate(OPEN) == [True, True, False]


@only_in_chromium
def test_without_javascript_a_fold_opens_by_hand(browser, site):
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(f"{site}/chapters/01_attention.html")
        assert browser.evaluate(OPEN) == [False, False, False]
        browser.evaluate("document.querySelector('details.derivation > summary').focus()")
        browser.press("Enter")
        browser.wait("document.querySelector('details.derivation').open")
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)


# In the book.


@pytest.mark.parametrize("name", chapter_names())
def test_each_fold_waits_for_an_exercise_of_its_chapter(name):
    chapter = read_chapter(name)
    derivations = [part.argument for part in myst.directives(chapter.text) if part.name == "derivation"]
    cells = [cell for cell in chapter.cells if "opens_with" in cell.metadata]
    assert {*derivations, *(cell.metadata["opens_with"] for cell in cells)} <= set(chapter.stubs)
    assert all({"hide-input", "hide-cell"} & set(cell.metadata["tags"]) for cell in cells), "these cells are not folded"
