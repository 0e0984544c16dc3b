"""Questions: their HTML, errors in their source, and how they work in a browser with and without JavaScript."""

import json
import re
from collections import Counter

import pytest
from bs4 import BeautifulSoup

from autograder.chapter.chapter import text_of
from autograder.layout import chapter_names
from tests.book.conftest import ROOT, build_book, built_page, jupyter_book, make_little_book, page
from tests.browsers.contrast import CONTRAST
from tests.choosing import thinned

pytestmark = pytest.mark.book

AUTHORS = (ROOT / "chapters" / "authors.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"^:caption: a question\n\n(.*?)^`{5}$", AUTHORS, re.DOTALL | re.MULTILINE)[1]
TEXT = """
(here)=
## All queries at once

Words.

## Questions

{example}

::::{{question}} Which mistake made ${number}$?
:kind: mistake

- [x] the first

  It did.
- [ ] the second, with $d_k$ in it

  It did not. See {{ref}}`there <here>`.
::::

::::{{question}} Derive it.
:kind: derivation

:::{{answer}}
$$
a = b
$$
:::
::::

::::{{question}} Why?
:kind: words

:::{{answer}}
Because.
:::
::::
"""


def source(number=7):
    return TEXT.format(example=EXAMPLE, number=number)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of a built book of two pages, the first with questions."""
    folder = make_little_book(tmp_path_factory.mktemp("questions"), other="# Another page\n")
    page(folder, text=source())
    build_book(folder)
    return folder


@pytest.fixture(scope="module")
def questions(folder):
    return BeautifulSoup(built_page(folder), "lxml").select(".question")


def test_a_question_is_a_group_whose_name_is_the_question(questions):
    assert [question["class"][1] for question in questions] == ["prediction", "mistake", "derivation", "words"]
    names = [question.select_one("fieldset > legend").get_text() for question in questions]
    assert names[0].startswith("Predict Four queries share out")
    assert names[3] == "In your own words Why?"


def test_each_choice_contains_its_answer_and_a_verdict(questions):
    choices = questions[1].select("li > details")
    assert [choice.summary.get_text() for choice in choices] == ["the first", "the second, with dk in it"]
    assert [choice.div.get_text().strip() for choice in choices] == ["Yes. It did.", "No. It did not. See there."]
    assert choices[1].select_one(".answer-text a")["href"] == "#here"
    assert not questions[0].select("details[open], input")


def test_an_answer_on_paper_or_in_words_is_folded(questions):
    assert questions[2].summary.get_text() == "The worked answer"
    assert questions[3].summary.get_text() == "Compare with a model answer"
    (label,) = questions[3].select("label")
    assert questions[3].select_one(f"textarea#{label['for']}")


def test_the_key_of_a_question_depends_on_its_text(folder, questions):
    keys = [question["data-key"] for question in questions]
    assert len(set(keys)) == 4
    assert all(key.startswith("question chapters/01_attention ") for key in keys)


def test_only_a_page_with_questions_loads_their_script(folder):
    other = (folder / "_build" / "html" / "chapters" / "other.html").read_text(encoding="utf-8")
    assert "questions.js" in built_page(folder) and "questions.css" in built_page(folder)
    assert "questions." not in other


BAD = {
    "needs a kind": "- [x] a\n\n  A.\n- [ ] b\n\n  See {ref}`there <here>`.",
    "one of them right, `- [x] ...`": ":kind: prediction\n\n- [x] a\n\n  A.\n- [x] b\n\n  B.",
    "two or more choices": ":kind: mistake\n\n- [x] a\n\n  A.",
    "'b' needs an answer": ":kind: prediction\n\n- [x] a\n\n  A.\n- [ ] b",
    "the wrong choice 'b' needs a reference": ":kind: prediction\n\n- [x] a\n\n  A.\n- [ ] b\n\n  B.",
    "needs one {answer}": ":kind: words\n\nWords.",
}


def test_a_wrongly_written_question_fails_the_build(little_book):
    questions = "\n\n".join(f"::::{{question}} {i}?\n{text}\n::::" for i, text in enumerate(BAD.values()))
    page(little_book, text=f"(here)=\n## There\n\n{questions}")
    built = jupyter_book(little_book)
    assert built.returncode != 0
    for i, problem in enumerate(BAD):
        assert re.search(rf"01_attention\.md:\d+: WARNING: question '{i}\?': .*{re.escape(problem)}", built.stderr)


# In a browser.


def test_the_name_of_a_choice_includes_its_formula(folder, browser):
    browser.open((folder / "_build" / "html" / "chapters" / "01_attention.html").as_uri())
    tree = browser.send("Accessibility.getFullAXTree")["nodes"]
    names = [node["name"]["value"] for node in tree if not node["ignored"] and "name" in node]
    assert "the second, with d sub k in it" in names


OPEN = "[...document.querySelectorAll('.question details')].flatMap((d, i) => d.open ? [i] : [])"
COUNT = "document.querySelector('.questions-answered span').textContent"
TEXTS = (
    ".question :is(legend, summary, strong, a, label, textarea), .question-kind, .questions-answered :is(span, button)"
)
CONTRAST_OF_TEXTS = f"""(() => {{{CONTRAST}
  return Math.min(...[...document.querySelectorAll("{TEXTS}")].map(element =>
    contrast(light(channels(getComputedStyle(element).color)), light(background(element)))));
}})()"""


@pytest.fixture
def tab(folder, browser):
    """Open the page with questions in a browser that has the focus and has stored nothing."""
    browser.send("Emulation.setFocusEmulationEnabled", enabled=True)
    url = (folder / "_build" / "html" / "chapters" / "01_attention.html").as_uri()
    browser.open(url)
    browser.evaluate("localStorage.clear()")
    browser.open(url)
    browser.url = url
    yield browser
    browser.evaluate("localStorage.clear()")


def choose(browser, number):
    """Open an answer, or close it, with the keyboard."""
    browser.evaluate(f"document.querySelectorAll('.question summary')[{number}].focus()")
    browser.press("Enter")


def wait_until_shown(browser, answers, answered):
    """Wait until these answers are open and the page shows this number of answered questions."""
    browser.wait(f"JSON.stringify({OPEN}) === '{json.dumps(answers, separators=(',', ':'))}'")
    browser.wait(f"{COUNT} === '{answered} of 4 answered'")


def test_the_keyboard_opens_answers(tab):
    choose(tab, 0)
    wait_until_shown(tab, [0], answered=1)
    answer = "document.querySelector('.question details[open] .answer-text').innerText"
    assert tab.evaluate(answer).startswith("No. The columns belong to the keys")
    tab.press("Tab")  # the focus moves to the reference in the answer
    assert tab.evaluate("document.activeElement.getAttribute('href')") == "#all-queries-at-once"
    tab.press("Tab")  # the focus moves to the next choice
    tab.press(" ")
    wait_until_shown(tab, [0, 1], answered=1)


def test_the_answer_appears_below_its_choice_and_is_read_aloud(tab):
    choose(tab, 1)
    wait_until_shown(tab, [1], answered=1)
    below = """(choice => choice.querySelector('.answer-text').getBoundingClientRect().top >=
      choice.querySelector('summary').getBoundingClientRect().bottom - 1)(document.querySelector('details[open]'))"""
    assert tab.evaluate(below)
    assert tab.evaluate("document.querySelector('details[open]').parentElement.ariaLive") == "polite"


def test_choices_and_words_are_restored_after_a_reload(tab):
    choose(tab, 2)
    choose(tab, 4)
    wait_until_shown(tab, [2, 4], answered=2)
    tab.evaluate("document.querySelector('textarea').focus()")
    tab.type("Since it does.")
    tab.open(tab.url)
    wait_until_shown(tab, [2, 4], answered=2)
    assert tab.evaluate("document.querySelector('textarea').value") == "Since it does."
    root = "new URL('..', location).pathname"
    stored = "Object.keys(localStorage).filter(key => key.includes('question '))"
    assert tab.evaluate(f"{stored}.length") == 3
    assert tab.evaluate(f"{stored}.every(key => key.startsWith({root} + ' question '))")


@pytest.mark.thorough("answers and words are restored in another test")
def test_start_again_closes_all_answers_and_keeps_the_reader_s_words(tab):
    choose(tab, 5)
    wait_until_shown(tab, [5], answered=1)
    tab.evaluate("document.querySelector('textarea').focus()")
    tab.type("Mine.")
    tab.evaluate("document.querySelector('.questions-answered button').focus()")
    tab.press("Enter")
    for _ in range(2):
        wait_until_shown(tab, [], answered=0)
        assert tab.evaluate("document.querySelector('textarea').value") == "Mine."
        tab.open(tab.url)


@pytest.mark.parametrize(
    "notified", thinned([True, False], [False], "another way to learn of them"), ids=["notified", "not notified"]
)
def test_answers_do_not_replace_words_of_another_tab(tab, notified):
    key = "document.querySelector('textarea').closest('.question').dataset.key"
    event = "dispatchEvent(new StorageEvent('storage', {key: new URL('..', location).pathname + ' ' + key}))"
    write = "bookStorage.write(key, {open: [], answered: false, words: 'Theirs.'})"
    tab.evaluate(f"(key => {{ {write}; {event if notified else ''} }})({key})")
    choose(tab, 5)
    wait_until_shown(tab, [5], answered=1)
    stored = tab.evaluate(f"bookStorage.read({key})")
    assert stored["words"] == "Theirs." and stored["answered"] is True
    tab.evaluate("document.querySelector('textarea').focus()")
    tab.press("End", control=True)
    tab.type(" Mine.")
    assert tab.evaluate(f"bookStorage.read({key}).words") == "Theirs. Mine."


def test_a_tab_shows_the_answers_that_another_tab_has_opened(tab):
    key = "document.querySelector('.question').dataset.key"
    event = "dispatchEvent(new StorageEvent('storage', {key: new URL('..', location).pathname + ' ' + key}))"
    tab.evaluate(f"(key => {{ bookStorage.write(key, {{open: [1], answered: true}}); {event} }})({key})")
    wait_until_shown(tab, [1], answered=1)


def test_a_changed_question_counts_as_not_answered(tab, folder):
    choose(tab, 0)
    choose(tab, 2)
    wait_until_shown(tab, [0, 2], answered=2)
    page(folder, text=source(number=8))
    build_book(folder)
    tab.open(tab.url)
    wait_until_shown(tab, [0], answered=1)  # the text of the other question has changed


def test_questions_work_without_storage(tab):
    forbidden = (
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    )
    with tab.before_each_page(forbidden):
        tab.open(tab.url)
        choose(tab, 1)
        wait_until_shown(tab, [1], answered=1)
        assert tab.complaints() == []
    tab.open(tab.url)


def test_without_javascript_every_answer_can_be_opened(tab):
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.open(tab.url)
        assert tab.evaluate("document.querySelector('.questions-answered')") is None
        for number in range(tab.evaluate("document.querySelectorAll('.question summary').length")):
            choose(tab, number)
        unread = "[...document.querySelectorAll('.question .answer-text')].filter(a => !a.offsetHeight).length"
        assert tab.evaluate(OPEN) == [0, 1, 2, 3, 4, 5] and tab.evaluate(unread) == 0
    finally:
        tab.send("Emulation.setScriptExecutionDisabled", value=False)


def test_all_answers_are_printed(tab):
    hidden = "[...document.querySelectorAll('.question .answer-text')].filter(a => !a.checkVisibility()).length"
    assert tab.evaluate(hidden) == 6
    tab.send("Emulation.setEmulatedMedia", media="print")
    try:
        assert tab.evaluate(hidden) == 0
        assert tab.evaluate("document.querySelector('.question textarea').offsetHeight") == 0
    finally:
        tab.send("Emulation.setEmulatedMedia", media="")


def test_on_paper_the_answers_follow_all_questions(tab):
    choose(tab, 1)
    wait_until_shown(tab, [1], answered=1)
    before = tab.evaluate("document.querySelector('article').innerHTML")
    tab.send("Emulation.setEmulatedMedia", media="print")
    try:
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        text = " ".join(tab.evaluate("document.querySelector('article').innerText").split())
        asked, _, answers = text.partition("Answers to the questions")
        titles = ("Four queries share out", "Which mistake made", "Derive it.", "Why?")
        assert all(title in asked and title in answers for title in titles)
        for answer in ("Yes. It did.", "No. It did not. See there.", "Because."):
            assert answer not in asked and answers.count(answer) == 1
        assert "the first" in asked and "the first" in answers, "an answer is printed beside its choice"
        marks = "[...document.querySelectorAll('.question summary')].map(s => getComputedStyle(s, '::before').content)"
        assert set(tab.evaluate(marks)) == {'"○" / ""'}, "nothing beside a question gives its answer away"
        tab.evaluate("dispatchEvent(new Event('afterprint'))")
    finally:
        tab.send("Emulation.setEmulatedMedia", media="")
    assert tab.evaluate("document.querySelector('article').innerHTML") == before


@pytest.mark.parametrize("dark", thinned([False, True], [True], "the other colours"), ids=["light", "dark"])
def test_questions_are_readable_and_large_enough_to_touch_on_a_phone(tab, dark):
    tab.open(tab.url, width=390, dark=dark)
    tab.evaluate("document.querySelectorAll('.question details').forEach(d => { d.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert tab.evaluate(CONTRAST_OF_TEXTS) > 4.5
    small = "[...document.querySelectorAll('.question summary')].filter(s => s.offsetHeight < 44).length"
    assert tab.evaluate(small) == 0


# In the book.

KINDS = re.compile(r"^:{3,}\{question\} .*\n:kind: (\w+)$", re.MULTILINE)


@pytest.mark.parametrize("name", chapter_names())
def test_a_chapter_has_enough_questions_of_each_kind(name):
    kinds = KINDS.findall(text_of(name))
    assert len(kinds) == text_of(name).count("{question}")
    count = Counter(kinds)
    assert 5 <= len(kinds) <= 8
    assert count["prediction"] >= 3 and count["mistake"] >= 1 and count["derivation"] >= 1
    assert kinds[-1] == "words" and count["words"] == 1
