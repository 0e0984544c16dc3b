"""A chapter's rubric in formgrader, in a browser: buttons that write points and a comment."""

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell

from autograder.course.configuration import set_up_course
from autograder.release.publish import publish
from tests.autograder.gradebook.graded_course import graded, open_gradebook, page
from tests.autograder.gradebook.test_by_hand import hand_in
from tests.autograder.hub.course_server import running
from tests.autograder.release.small_repo import CHAPTER, build

pytestmark = pytest.mark.grading

TABLE = """
| | 3 points | 1 point | 0 points |
| --- | --- | --- | --- |
| question | one *change* | a topic | missing |
| evidence | `<b>` and several seeds | one seed | missing |
"""
REPORT = f"""
## Report

Write it below.
{TABLE}
+++ {{"tags": ["by-hand"], "name": "report", "points": 6}}

**Question:**

+++

## Sources
"""
TEXTS = "[...document.querySelectorAll('.rubric button')].map(button => button.textContent)"
PRESSED = "[...document.querySelectorAll('.rubric [aria-pressed=true]')].map(button => button.textContent)"
ENABLED = "document.querySelectorAll('.rubric button:enabled').length"
CLICK = "[...document.querySelectorAll('.rubric button')].find(button => button.textContent == {!r}).click()"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return a course in which ada's report is to be graded. She added a table that looks like a rubric."""
    repo, course = build(tmp_path_factory.mktemp("repo")), tmp_path_factory.mktemp("course")
    chapter = repo / "chapters" / f"{CHAPTER}.md"
    chapter.write_text(chapter.read_text(encoding="utf-8") + REPORT, encoding="utf-8")
    set_up_course(course)  # with the configuration of this repository
    publish(course, repo=repo)
    hand_in(course, "ada", "My answer.")
    path = course / "submitted" / "ada" / CHAPTER / f"{CHAPTER}.ipynb"
    notebook = nbformat.read(path, 4)
    at = [cell.id for cell in notebook.cells].index("report")
    notebook.cells.insert(at, new_markdown_cell(TABLE.replace("3 points", "99 points")))
    nbformat.write(notebook, path)
    graded(course)
    return course


@pytest.fixture(scope="module")
def server(course, tmp_path_factory):
    with running(course, tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
def open_page(course, browser, server):
    """Return open_page(score), which opens formgrader on ada's report with this score and an empty comment."""
    with open_gradebook(course) as gradebook:
        names = ("report", CHAPTER, CHAPTER, "ada")
        grade, comment = gradebook.find_grade(*names).id, gradebook.find_comment(*names).id
        (notebook,) = gradebook.notebook_submissions(CHAPTER, CHAPTER)
        address = f"{server.address}formgrader/submissions/{notebook.id}/?token=key"

    def opened(score=None):
        server(f"formgrader/api/grade/{grade}", {"manual_score": score})
        server(f"formgrader/api/comment/{comment}", {"manual_comment": ""})
        browser.open(address)
        browser.wait(f"{ENABLED} == 6")

    yield opened
    assert browser.exceptions() == []


def saved(course):
    """Return the points and the comment in the gradebook, and whether the report still waits for an instructor."""
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("report", CHAPTER, CHAPTER, "ada")
        comment = gradebook.find_comment("report", CHAPTER, CHAPTER, "ada").manual_comment
        return grade.manual_score, comment, grade.needs_manual_grade


def press(browser, text):
    """Click a button, and wait until everything is saved."""
    browser.evaluate("window.saving = new Promise(done => $(document).one('ajaxStop', done)), 0")
    browser.evaluate(CLICK.format(text))
    browser.evaluate("window.saving.then(() => 0)")


def test_a_level_is_chosen_changed_and_taken_back(course, browser, open_page):
    open_page()
    levels = ["one change", "a topic", "missing", "<b> and several seeds", "one seed", "missing"]
    assert browser.evaluate(TEXTS) == levels
    press(browser, "one change")
    question = "- question, 3 of 3 points: one *change*"
    assert saved(course) == (None, question, True)  # nothing has been said about the evidence yet
    press(browser, "one seed")
    assert saved(course) == (4, f"{question}\n- evidence, 1 of 3 points: one seed", False)
    assert browser.evaluate(PRESSED) == ["one change", "one seed"]
    press(browser, "<b> and several seeds")
    assert saved(course) == (6, f"{question}\n- evidence, 3 of 3 points: `<b>` and several seeds", False)
    graded(course)
    assert "<li>evidence, 3 of 3 points: <code>&lt;b&gt;</code> and several seeds</li>" in page(course)
    press(browser, "<b> and several seeds")
    assert saved(course) == (None, question, True) and browser.evaluate(PRESSED) == ["one change"]


def test_words_and_points_of_an_instructor_stay(course, browser, open_page):
    open_page(score=5)
    browser.evaluate("document.querySelector('#report-comment').focus()")
    browser.type("Well done.")
    press(browser, "a topic")
    question = "- question, 1 of 3 points: a topic"
    assert saved(course) == (5, f"Well done.\n{question}", False)
    browser.open(browser.evaluate("location.href"))
    browser.wait(f"{ENABLED} == 6")
    assert browser.evaluate(PRESSED) == ["a topic"]


def test_keys_reach_and_press_the_buttons(course, browser, open_page):
    open_page()
    browser.evaluate("document.querySelector('#report_extra_credit').focus()")
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.textContent") == "one change"
    browser.press("Enter")
    browser.wait(f"{PRESSED}.length == 1")  # pressed means saved
    assert saved(course)[1] == "- question, 3 of 3 points: one *change*"
