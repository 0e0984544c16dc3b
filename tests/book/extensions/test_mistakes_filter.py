"""The index of mistakes: folds, a filter, and an address for each. Without scripts and on paper it shows everything."""

from collections import Counter

import indexes
import pytest

from autograder.authoring.exercise import exercises_of
from tests.book.conftest import parsed

pytestmark = pytest.mark.book

SHOWN = "[...document.querySelectorAll('.mistake')].filter(mistake => mistake.checkVisibility())"
NAMES = f"{SHOWN}.map(mistake => mistake.querySelector('em').textContent)"
OPEN = "[...document.querySelectorAll('details.mistakes[open]')].map(fold => fold.id)"


def typed(browser, words):
    browser.evaluate("document.getElementById('mistakes-words').focus()")
    for letter in words:
        browser.press(letter)


@pytest.fixture
def address(html):
    return (html / "chapters" / "mistakes.html").as_uri()


def test_without_a_script_every_mistake_is_shown_and_has_an_address(html):
    page = parsed((html / "chapters" / "mistakes.html").resolve())
    folds = page.select("details.mistakes")
    exercises = [exercise for chapter in indexes.CHAPTERS for exercise in exercises_of(chapter)]
    assert len(folds) == len(exercises) and all(fold.has_attr("open") for fold in folds)
    mistakes = page.select("details.mistakes .mistake")
    assert len(mistakes) == sum(len(exercise.mistakes) for exercise in exercises)
    links = [mistake.select_one("a.mistake-link")["href"] for mistake in mistakes]
    assert links == [f"#{mistake['id']}" for mistake in mistakes]
    ids = Counter(tag["id"] for tag in page.select("[id]"))
    assert not [name for name, times in ids.items() if times > 1]


def test_the_folds_are_closed_and_the_keyboard_opens_them(browser, address):
    browser.open(address)
    assert browser.evaluate(OPEN) == [] and browser.evaluate(f"{SHOWN}.length") == 0
    browser.evaluate("document.querySelector('#mistakes-of-softmax summary').focus()")
    browser.press("Enter")
    assert browser.evaluate(OPEN) == ["mistakes-of-softmax"]
    assert "normalises over the batch." in browser.evaluate(NAMES)


def test_the_filter_shows_the_mistakes_that_contain_all_words(browser, address):
    browser.open(address, width=390)
    typed(browser, "softmax Batch")
    names = browser.evaluate(NAMES)
    assert "normalises over the batch." in names and "normalises over all axes at once." not in names
    texts = browser.evaluate(f"{SHOWN}.map(mistake => mistake.closest('details').textContent.toLowerCase())")
    assert all("softmax" in text and "batch" in text for text in texts)
    status = browser.evaluate("document.querySelector('.mistakes-filter [role=status]').textContent")
    total = browser.evaluate("document.querySelectorAll('.mistake').length")
    assert status == f"{len(names)} of {total} mistakes"
    # Folds and chapters without a match are hidden.
    empty = "[...document.querySelectorAll('details.mistakes, article section section')]"
    empty += ".filter(part => part.checkVisibility() && !part.querySelector('.mistake:not([hidden])')).length"
    assert browser.evaluate(empty) == 0
    browser.press("Escape")
    assert browser.evaluate(OPEN) == [] and browser.evaluate("document.activeElement.value") == ""


def test_a_visited_address_opens_its_fold(browser, address):
    browser.open(f"{address}#softmax-over-the-batch")
    assert browser.evaluate(OPEN) == ["mistakes-of-softmax"]
    top = "document.getElementById('{}').getBoundingClientRect().top"
    assert 0 < browser.evaluate(top.format("softmax-over-the-batch")) < 400
    typed(browser, "no mistake has these words")
    assert browser.evaluate(f"{SHOWN}.length") == 0
    browser.evaluate("location.hash = '#attention-weights-unscaled'")
    browser.wait("document.getElementById('attention-weights-unscaled').checkVisibility()")
    browser.wait(f"0 < {top} && {top} < 400".format(*2 * ["attention-weights-unscaled"]))


def test_all_mistakes_are_printed(browser, address):
    browser.open(address)
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(f"{SHOWN}.length") > 600
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    assert browser.evaluate(f"{SHOWN}.length") == 0
