"""The page with the reader's progress: what it lists, and its file, which can be exported and imported."""

import base64
import io
import json

import pytest
from pypdf import PdfReader

from book.serve import serving
from tests.book.live.conftest import N_EXERCISES, opened_by_new_reader
from tests.book.live.reader import Page, only_in_chromium
from tests.browsers.axe import violations
from tests.choosing import thinned

pytestmark = pytest.mark.book

TEXT = "document.querySelector('.live-book').innerText"
STATUS = "document.querySelector('.live-book > .live-status').innerText"
ALL = "bookStorage.all()"
CHAPTER = "JSON.parse(document.getElementById('live-exercises').textContent).chapters[0]"
MINE, THEIRS = "# mine", "# of the file"


@pytest.fixture
def progress(browser, site, lasting_python):
    """The page of a reader who has solved softmax, tried attention, answered a question and read for an hour."""
    page = opened_by_new_reader(browser, site, "progress")
    softmax, attention = (
        browser.evaluate(f"{CHAPTER}.exercises.find(({{ name }}) => name === '{name}').version")
        for name in ("softmax", "attention")
    )
    passing = {"version": softmax, "failed": 0, "source": MINE, "passing": MINE}
    write(browser, "exercise softmax", passing)
    write(browser, "exercise attention", {"version": attention, "failed": 1, "source": "# not yet"})
    write(browser, "cells 01_attention", {"x = 1": {"source": "x = 2"}})
    write(browser, "question chapters/01_attention 0123456789ab", {"open": [1], "answered": True, "words": "My words."})
    write(browser, "time 01_attention", {"seconds": 3725})
    page.open()
    return page


def write(browser, key, value):
    browser.evaluate(f"bookStorage.write({json.dumps(key)}, {json.dumps(value)})")


def press(browser, button):
    browser.evaluate(
        f"[...document.querySelectorAll('.live-book button')].find(b => b.textContent === '{button}').click()"
    )


def exported(browser):
    """Return the text of the exported file. We catch the file instead of downloading it."""
    browser.evaluate("URL.createObjectURL = blob => { window.taken = blob; return '#' }")
    press(browser, "Export")
    return browser.evaluate("window.taken.text()")


def import_file(browser, text):
    file = f"new File([{json.dumps(text)}], 'mine.json')"
    chosen = f"const sent = new DataTransfer(); sent.items.add({file}); field.files = sent.files"
    empty = "document.querySelector('.live-book > .live-status').textContent = ''"
    change = f"const field = document.querySelector('.live-file'); {chosen}; field.dispatchEvent(new Event('change'))"
    browser.evaluate(f"{{{empty}; {change}}}")
    browser.wait(f"{STATUS} !== ''")


def test_the_page_lists_every_chapter_with_its_exercises(progress, browser):
    assert [url for url in browser.requested_urls() if "pyodide" in url or url.endswith(".zip")] == []
    text = browser.evaluate(TEXT)
    assert f"1 of {N_EXERCISES} exercises passed, 1 tried." in text
    assert "to read; the page was visible for 1 hour and 2 minutes. 1 of 5 exercises passed, 1 tried." in text
    states = browser.evaluate("[...document.querySelectorAll('.live-links li')].map(li => li.firstChild.title)")
    assert states == ["passed", "open", "tried", *["open"] * (N_EXERCISES - 3)]
    links = browser.evaluate(
        "[...document.querySelectorAll('.live-book a')].map(a => new URL(a.href).pathname + a.hash)"
    )
    assert links[:2] == ["/chapters/01_attention.html", "/chapters/01_attention.html#live-softmax"]
    assert browser.complaints() == [] and browser.exceptions() == []


@only_in_chromium
def test_the_progress_prints_on_one_page_without_buttons(progress, browser):
    browser.evaluate("window.print = () => { window.asked = true }")
    press(browser, "Print")
    assert browser.evaluate("window.asked")
    (page,) = printed(browser)
    text = "".join(page.extract_text().split())
    assert f"1of{N_EXERCISES}exercisespassed,1tried." in text and "softmax" in text
    assert text.count("Export") == text.count("Clear") == 1, "the paragraph names the buttons, which are not printed"


def printed(browser):
    return PdfReader(io.BytesIO(base64.b64decode(browser.send("Page.printToPDF")["data"]))).pages


def test_the_progress_in_the_whole_book_prints_on_one_page(html, chromium_browser):
    with serving(html) as address:
        chromium_browser.open(f"{address}/chapters/progress.html")
        chromium_browser.wait("document.querySelectorAll('.live-chapters section').length === 12")
        (page,) = printed(chromium_browser)
    assert "diagnose_definer" in "".join(page.extract_text().split())


def test_what_passed_before_the_exercise_changed_counts(progress, browser):
    write(browser, "exercise softmax", {"version": "another", "failed": 0, "source": MINE, "passing": MINE})
    progress.open()
    assert "1 of 5 exercises passed, 1 tried." in browser.evaluate(TEXT)
    assert "softmax passed, changed since" in browser.evaluate(TEXT)


def test_the_exported_file_brings_everything_back_after_clear(progress, browser):
    before, text = browser.evaluate(ALL), exported(browser)
    press(browser, "Clear")
    assert "your work on 2 exercises and 1 question," in browser.evaluate(STATUS)
    press(browser, "Keep it")
    assert browser.evaluate(ALL) == before
    press(browser, "Clear")
    press(browser, "Delete everything")
    assert browser.evaluate(ALL) == {}
    assert f"0 of {N_EXERCISES} exercises passed." in browser.evaluate(TEXT)
    import_file(browser, text)
    assert browser.evaluate(STATUS) == "The file is imported."
    assert browser.evaluate(ALL) == before
    import_file(browser, text)
    assert browser.evaluate(STATUS) == "This browser already has everything in the file."
    chapter = Page(browser, progress.site)
    chapter.open()
    assert chapter.source("softmax") == MINE
    assert chapter.progress == "1 of 5 exercises pass."


@pytest.mark.thorough("clear is tested with the export")
def test_clear_also_forgets_what_was_taken_over_from_an_earlier_version(progress, browser):
    browser.evaluate("localStorage.setItem('exercise softmax', JSON.stringify(bookStorage.read('exercise softmax')))")
    press(browser, "Clear")
    press(browser, "Delete everything")
    progress.open()
    assert browser.evaluate(ALL) == {}


@pytest.mark.parametrize("taken", thinned([True, False], [True], "the other answer to the question"))
def test_an_import_asks_where_both_have_work_and_keeps_both(progress, browser, taken):
    key = "exercise softmax"
    text = exported(browser).replace(MINE, THEIRS)
    before = browser.evaluate(ALL)
    import_file(browser, text)
    assert "exercise softmax" in browser.evaluate(STATUS) and browser.evaluate(ALL) == before
    press(browser, "Cancel")
    assert browser.evaluate(ALL) == before
    import_file(browser, text)
    if taken:
        browser.evaluate(f"document.querySelector('.live-book [name=\"{key}\"]').click()")
    press(browser, "Finish the import")
    browser.wait(f"{STATUS} === 'The file is imported.'")
    state = browser.evaluate(ALL)[key]
    assert (state["source"], state["aside"]) == ((THEIRS, MINE) if taken else (MINE, THEIRS))
    assert state["passing"] == state["source"]


def test_an_import_of_an_older_version_keeps_what_has_passed(progress, browser):
    key = "exercise softmax"
    text = exported(browser)
    older = json.loads(text)
    older["entries"] = {key: {"version": "older", "source": THEIRS, "failed": 2}}
    browser.evaluate(f"(({{source, ...reset}}) => bookStorage.write('{key}', reset))(bookStorage.read('{key}'))")
    import_file(browser, json.dumps(older))
    press(browser, "Finish the import")
    browser.wait(f"{STATUS} === 'The file is imported.'")
    assert browser.evaluate(ALL)[key]["passing"] == MINE


@pytest.mark.thorough("two tabs and the question are each tested")
def test_an_import_keeps_what_another_tab_writes_while_the_page_asks(progress, browser):
    text = exported(browser).replace(MINE, THEIRS)
    import_file(browser, text)
    later = {**browser.evaluate(ALL)["exercise softmax"], "source": "# later"}
    write(browser, "exercise softmax", later)
    press(browser, "Finish the import")
    browser.wait(f"{STATUS} === 'The file is imported.'")
    state = browser.evaluate(ALL)["exercise softmax"]
    assert (state["source"], state["aside"]) == ("# later", THEIRS)


@pytest.mark.thorough("an import that asks adds, too")
def test_an_import_adds_to_what_the_browser_has_without_asking_if_both_fit(progress, browser):
    text = exported(browser)
    question = "question chapters/01_attention 0123456789ab"
    write(browser, question, {"open": [0], "answered": False, "words": ""})
    browser.evaluate("bookStorage.remove('exercise softmax')")
    write(browser, "exercise attention_weights", {"version": "any", "failed": 0, "source": "# here"})
    import_file(browser, text)
    assert browser.evaluate(STATUS) == "The file is imported."
    state = browser.evaluate(ALL)
    assert state[question] == {"open": [0, 1], "answered": True, "words": "My words."}
    assert state["exercise softmax"]["passing"] == MINE
    assert state["exercise attention_weights"]["source"] == "# here"


def test_a_bad_file_changes_nothing(progress, browser):
    before, good = browser.evaluate(ALL), json.loads(exported(browser))
    entries = good["entries"]
    bad = [
        "",
        "no JSON",
        "null",
        "[1]",
        json.dumps({"cells": []}),
        json.dumps(good | {"format": 2}),
        json.dumps(good | {"entries": entries | {"exercise softmax": {"version": 1, "source": "# x"}}}),
        json.dumps(good | {"entries": entries | {"exercise softmax": ["# x"]}}),
        json.dumps(good | {"entries": entries | {"theme": {}}}),
    ]
    for text in bad:
        import_file(browser, text)
        assert browser.evaluate(STATUS).startswith("This file does not contain progress in this book"), text
        assert browser.evaluate(ALL) == before


@pytest.mark.thorough("a bad file changes nothing either")
def test_an_import_without_room_changes_nothing(progress, browser):
    text = exported(browser).replace(MINE, THEIRS)
    browser.evaluate("bookStorage.remove('exercise softmax')")
    before = browser.evaluate(ALL)
    full = "(key, value) => { if (value.includes('of the file')) throw new DOMException('', 'QuotaExceededError') }"
    browser.evaluate(f"void (Storage.prototype.setItem = {full})")
    import_file(browser, text)
    assert "Nothing has changed." in browser.evaluate(STATUS)
    assert browser.evaluate(ALL) == before
    assert "does not store what you do" not in browser.evaluate(TEXT), "it stores everything but this file"


def test_a_reader_without_javascript_reads_a_sentence(book):
    html = (book / "_build" / "html" / "chapters" / "progress.html").read_text(encoding="utf-8")
    assert "<noscript><p>The list needs JavaScript" in html


def test_a_chapter_counts_the_time_during_which_it_is_visible(browser, site, lasting_python):
    page = Page(browser, site)
    with browser.before_each_page("performance.now = () => window.passed ?? 0; try { localStorage.clear() } catch {}"):
        page.open()
    turn = "Object.defineProperty(document, 'visibilityState', {{value: '{}', configurable: true}});"
    turn += "window.passed = {}; document.dispatchEvent(new Event('visibilitychange'))"
    for state, passed in (
        ("hidden", 60_000),
        ("visible", 500_000),
        ("hidden", 510_000),
        ("visible", 1e6),
        ("hidden", 9e6),
    ):
        browser.evaluate(turn.format(state, passed))
    assert browser.evaluate("bookStorage.read('time 01_attention').seconds") == 60 + 10 + 3600, (
        "at most an hour at a time"
    )


@pytest.mark.thorough("every link of the book is tested")
def test_the_list_of_exercises_and_the_front_page_link_to_the_progress(page, browser):
    link = "document.querySelector('nav.live-links > a')"
    assert browser.evaluate(f"{link}.pathname") == "/chapters/progress.html"
    page.chapter = "index"
    page.open()
    assert browser.evaluate("document.querySelectorAll('.start-here a')[1].pathname") == "/chapters/progress.html"


@pytest.mark.thorough("axe tests chapters and the front page")
@only_in_chromium
def test_the_page_is_accessible_while_it_asks(progress, browser):
    press(browser, "Clear")
    browser.evaluate("[...document.querySelectorAll('.live-asking button')].at(-1).focus()")
    assert violations(browser) == []
    press(browser, "Keep it")
    assert browser.evaluate("document.activeElement.textContent") == "Export"
