"""What a chapter says at its top to a reader who has not solved the chapters before it."""

import json

import pytest

from autograder.authoring.exercise import find_exercise
from autograder.release.at_hand import all_needed
from tests.book.live.conftest import opened_by_new_reader
from tests.book.live.reader import RIGHT

pytestmark = pytest.mark.book

FOLD = "document.querySelector('nav .live-waiting')"
LINKS = f"[...{FOLD}.querySelectorAll('a')].map(link => link.pathname.split('/').at(-1) + link.hash)"


def test_the_top_of_a_chapter_lists_which_exercises_wait_and_all_that_is_missing(browser, site, without_python):
    page = opened_by_new_reader(browser, site, "02_backward")
    said, links = browser.evaluate(f"[{FOLD}.textContent, {LINKS}]")
    waiting = [link for link in links if link.startswith("02_backward")]
    missing = [link for link in links if not link.startswith("02_backward")]
    assert f"{len(waiting)} of " in said and "wait for functions of earlier chapters" in said
    assert waiting == ["02_backward.html#live-tests_softmax_backward"]
    assert missing == ["01_attention.html#live-softmax"]
    assert "If you take a course, its notebook of this chapter brings the solutions of the earlier chapters." in said
    assert "orrow" not in said
    browser.evaluate(f"bookStorage.write('exercise softmax', {json.dumps({'version': 'old', 'passing': RIGHT})})")
    page.open()
    assert browser.evaluate(f"{FOLD}.hidden")


def test_a_long_list_of_missing_functions_wraps_on_a_phone(browser, site, without_python):
    opened_by_new_reader(browser, site, "02_backward", width=390)
    browser.evaluate(f"{FOLD}.open = true")
    another = "[', ', item.querySelector('a').cloneNode(true)]"
    longer = f"item => item.append(...Array.from({{length: 9}}, () => {another}).flat())"
    browser.evaluate(f"{FOLD}.querySelectorAll('li').forEach({longer})")
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_exercise_needs_what_its_functions_call():
    assert all_needed(find_exercise("softmax")) == []
    assert {"softmax", "masked_softmax"} <= set(all_needed(find_exercise("cross_attention")))


def test_what_a_missing_function_calls_is_missing_too(browser, site, without_python):
    opened_by_new_reader(browser, site, "02_backward")
    missing = "import(new URL('unsolved.js', document.querySelector('script[src$=\"start.js\"]').src)).then(m => %s)"
    names = browser.evaluate(missing % "m.missingEarlier(['attention']).map(({ name }) => name)")
    assert names[0] == "softmax" and names[-1] == "attention" and "attention_weights" in names
