"""A class that hands in weights: a released chapter, its notebooks, their scores and feedback, and the audit."""

import html
import json
import re

import pytest

from autograder.cli.main import main
from autograder.collecting.candidates import Candidate
from autograder.collecting.choosing import choose, read
from autograder.collecting.zip_or_folder import Entry
from autograder.course.handout import load_handout
from autograder.example import example_class
from autograder.gradebook import class_run
from autograder.platforms.file_names import ParsedName
from autograder.release.publish import publish
from check.weights_file import WEIGHTS

pytestmark = pytest.mark.grading

CHAPTER = "10_project"
STUDENTS = (
    *("perfect", "blank", "cheat", "truncated", "lazy", "books-own", "classmate"),
    *("oversized", "pickle", "giant", "cleared"),
)


@pytest.fixture(scope="module")
def graded(made_once):
    """The examples and the rows by student, and the course folder."""

    def make(course):
        publish(course, [CHAPTER])
        examples = {example.student: example for example in example_class.hand_in(course, CHAPTER)}
        rows = class_run.grade_class(course, CHAPTER, students=STUDENTS)
        scores = {row.student: (row.report.earned, examples[row.student].score) for row in rows}
        (course / "scores.json").write_text(json.dumps(scores))

    return made_once("weights", make)


def result(course, student):
    """Return what a student's feedback page says about the weights, as text."""
    page = (course / "feedback" / student / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")
    section = re.search(r'<section class="verdict \w+" id="weights">.*?</section>', page, re.DOTALL)[0]
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", section)).split())


@pytest.mark.parametrize("student", STUDENTS)
def test_every_submission_gets_the_expected_score(graded, student):
    earned, expected = json.loads((graded / "scores.json").read_text())[student]
    assert earned == expected


def test_the_feedback_tells_the_rate_the_words_and_the_tiers(graded):
    text = result(graded, "perfect")
    assert re.search(r"weights : 4 of 4 points \d+\.\d% of the sounds of 1,000 withheld words are wrong\.", text)
    assert "The model says choir: CH AO R, colonel: " in text and "The recipe: seed 1, steps 1500" in text


def test_the_feedback_on_missed_points_says_what_to_do(graded):
    assert "The next points need at most 50% errors." in result(graded, "lazy")
    assert "Train longer or change the recipe" in result(graded, "lazy")
    assert "All of its outputs were cleared" in result(graded, "cleared")
    assert "the book's own weights, or nearly" in result(graded, "books-own")
    assert "only pickle could read" in result(graded, "pickle")


def test_submit_check_says_that_a_notebook_holds_no_weights(graded, capsys):
    path = graded / "submitted" / "cleared" / CHAPTER / f"{CHAPTER}.ipynb"
    assert main(["submit-check", str(path), "--course", str(graded)]) == 1
    assert "Run the cell `hand_in(params, recipe)`, save the notebook with its outputs" in capsys.readouterr().out


def test_weights_count_as_an_answer_in_the_choice_of_a_notebook(graded):
    """Of two notebooks with the same cells, the one whose outputs were cleared must not count because of its name."""
    released = load_handout(graded, CHAPTER)
    read_all = []
    for student in ("cleared", "perfect"):
        content = (graded / "submitted" / student / CHAPTER / f"{CHAPTER}.ipynb").read_bytes()
        entry = Entry(f"{student}.ipynb", 0.0, len(content), "", lambda: b"")
        read_all.append(read(Candidate(entry, "ada", ParsedName("ada"), ()), content, released))
    assert WEIGHTS in read_all[1].answers and WEIGHTS not in read_all[0].answers
    assert choose(read_all, CHAPTER)[0] is None


def test_the_audit_names_what_the_class_has_in_common(graded, capsys):
    assert main(["audit", CHAPTER, "--share", "0", "--course", str(graded)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("27 submissions, ") and "books-own's weights are the book's" in lines[1]
    same = next(line for line in lines if "nearly the same weights" in line)
    assert "classmate" in same and "perfect" in same and "lazy" not in same


def test_an_unknown_student_of_the_audit_is_named(graded, capsys):
    assert main(["audit", CHAPTER, "--student", "stranger", "--course", str(graded)]) == 2
    assert "no usable weights by stranger" in capsys.readouterr().err
