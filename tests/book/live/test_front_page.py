"""The exercise of the front page: what its check says, and how a reader of the page meets it."""

import re

import numpy as np
import pytest

from autograder.authoring.make_key import PUBLIC_SEED, full_key
from book.live.first_exercise import EXERCISE
from check.checking import tried
from tests.book.live.conftest import opened_by_new_reader
from tests.book.live.reader import Page, only_in_chromium
from tests.browsers.axe import violations
from tests.choosing import thinned

pytestmark = pytest.mark.book

NAME = EXERCISE.name
RIGHT = f"def {NAME}(scores):\n    return np.exp(scores) / np.exp(scores).sum()\n"
WRONG = f"def {NAME}(scores):\n    return np.exp(scores) / np.exp(scores).max()\n"
LOADED = "performance.getEntriesByType('resource').some(({ name }) => name.endsWith('worker.js'))"
BOX = f"document.getElementById('live-{NAME}')"
TOP = "getBoundingClientRect().top"


@pytest.fixture
def front(browser, site, lasting_python):
    """The front page of a reader who opens the book for the first time."""
    return opened_by_new_reader(browser, site, "index")


@pytest.fixture
def front_with_own_python(browser, site):
    """The same page for a test of how Python starts."""
    return opened_by_new_reader(browser, site, "index")


@pytest.fixture(scope="module")
def key():
    return full_key(EXERCISE, PUBLIC_SEED)


@pytest.mark.parametrize("slug", EXERCISE.mistakes)
def test_the_check_names_each_known_mistake(key, slug):
    mistake, function = EXERCISE.mistakes[slug]
    result = tried(function, key).result
    assert not result.passed and result.mistake == mistake


def test_the_check_passes_right_answers(key):
    def with_the_maximum(scores):
        shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return shifted / shifted.sum(axis=-1, keepdims=True)

    assert tried(EXERCISE.reference, key).result.passed
    assert tried(with_the_maximum, key).result.passed


def test_the_first_exercise_fails_with_a_name_and_passes(front_with_own_python, browser):
    front = front_with_own_python
    assert not browser.evaluate(LOADED), "Python is loaded before the reader reaches for the editor"
    wrong = front.run(NAME, WRONG)
    assert not wrong.passes and "Known mistake: divides by the largest, not by the sum" in wrong.shown
    section = browser.evaluate(f"{BOX}.querySelector('.live-output a').href")
    assert re.search(r"/chapters/01_attention\.html#from-scores-to-weights-the-softmax$", section)
    assert front.run(NAME, RIGHT).passes
    front.open()
    assert front.ask(NAME, "box.querySelector('.live-mark').innerText") == "✓ passes"
    assert browser.complaints() == [] and browser.exceptions() == []


def test_the_first_exercise_and_the_link_to_chapter_1_are_above_the_fold(front, browser):
    link = "[...document.querySelectorAll('article a')].find(a => a.innerText === 'Start with chapter 1')"
    assert browser.evaluate(f"{BOX}.querySelector('.live-run').{TOP}") < browser.evaluate("innerHeight")
    assert browser.evaluate(f"{link}.{TOP}") < browser.evaluate("innerHeight")
    assert browser.evaluate(f"{link}.pathname").endswith("/chapters/01_attention.html")


def test_python_is_loaded_when_the_reader_reaches_for_the_editor(front_with_own_python, browser):
    browser.evaluate(f"{BOX}.scrollIntoView(), new Promise(requestAnimationFrame).then(() => 1)")
    assert not browser.evaluate(LOADED)
    browser.evaluate(f"{BOX}.dispatchEvent(new PointerEvent('pointerenter'))")
    browser.wait(LOADED)


def test_python_is_not_loaded_on_touch_for_a_reader_who_saves_data(browser, site):
    page = Page(browser, site, "index")
    with browser.before_each_page("Object.defineProperty(navigator, 'connection', {value: {saveData: true}})"):
        page.open()
        browser.evaluate(f"{BOX}.dispatchEvent(new PointerEvent('pointerenter'))")
        browser.evaluate("new Promise(requestAnimationFrame).then(() => 1)")
        assert not browser.evaluate(LOADED)


def test_the_first_exercise_counts_in_no_chapter(front, browser):
    chapter = Page(browser, front.site)
    chapter.open()
    assert chapter.progress == "0 of 5 exercises pass."
    config = "JSON.parse(document.getElementById('live-exercises').textContent)"
    assert NAME not in browser.evaluate(f"JSON.stringify({config})")


@only_in_chromium
def test_the_front_page_is_accessible_and_fits_a_phone(front, browser):
    assert violations(browser) == []
    front.open(width=390)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    assert browser.evaluate(f"{BOX}.{TOP}") < browser.evaluate("innerHeight")


@only_in_chromium
@pytest.mark.parametrize("page", thinned(["index", "01_attention"], ["index"], "another page"))
def test_a_reader_without_scripts_reads_what_the_page_cannot_do(browser, site, page):
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(f"{site}/chapters/{page}.html")
        shown = "[...document.querySelectorAll('noscript p')].filter(p => p.offsetHeight).map(p => p.innerText)"
        (sentence,) = browser.evaluate(shown)
        assert "this page cannot check your code" in sentence
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
