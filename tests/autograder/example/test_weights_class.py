"""A class that hands in weights: each chapter that asks for them, its notebooks, scores, feedback and audit."""

import html
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from autograder.authoring.hand_in import hand_in_of
from autograder.cli.main import main
from autograder.collecting.candidates import Candidate
from autograder.collecting.choosing import choose, read
from autograder.collecting.zip_or_folder import Entry
from autograder.course.handout import load_handout
from autograder.example import example_class
from autograder.gradebook import class_run
from autograder.layout import chapter_names
from autograder.platforms.file_names import ParsedName
from autograder.release.publish import publish
from check.weights_file import WEIGHTS
from tests.choosing import thinned

pytestmark = pytest.mark.grading

STUDENTS = (
    *("perfect", "blank", "cheat", "truncated", "lazy", "books-own", "classmate"),
    *("oversized", "pickle", "giant", "cleared"),
)


class Asked(NamedTuple):
    """What the feedback on a chapter's weights says.

    figure: about the honest weights; may hold a regular expression.
    examples, recipe: about the same.
    next_tier: about untrained weights.
    """

    figure: str
    examples: str
    recipe: str
    next_tier: str


CHAPTERS = {
    "10_project": Asked(
        r"\d+\.\d% of the sounds of 1,000 withheld words are wrong\.",
        "The model says choir: CH AO R, colonel: ",
        "The recipe: seed 1, steps 1500",
        "The next points need at most 50% errors.",
    ),
    "12_dictionary": Asked(
        r"The loss of 1,000 withheld entries is 3\.\d{3} nats for each token\.",
        "The model says gloamer n: “",
        "The recipe: seed 1, steps 12500",
        "The next points need a loss of at most 4.40 nats.",
    ),
}


class Graded(NamedTuple):
    """A course folder with the graded class of a chapter."""

    course: Path
    chapter: str

    def result(self, student: str) -> str:
        """Return what a student's feedback page says about the weights, as text."""
        page = self.course / "feedback" / student / self.chapter / f"{self.chapter}.html"
        section = r'<section class="verdict \w+" id="weights">.*?</section>'
        found = re.search(section, page.read_text(encoding="utf-8"), re.DOTALL)[0]
        return " ".join(html.unescape(re.sub("<[^>]+>", " ", found)).split())

    def notebook(self, student: str) -> Path:
        return self.course / "submitted" / student / self.chapter / f"{self.chapter}.ipynb"


@pytest.fixture(scope="module", params=thinned(CHAPTERS, ["10_project"], "another chapter"))
def graded(made_once, request):
    """Return the course, with the examples and the rows by student in it."""
    chapter = request.param

    def make(course):
        publish(course, [chapter])
        examples = {example.student: example for example in example_class.hand_in(course, chapter)}
        rows = class_run.grade_class(course, chapter, students=STUDENTS)
        scores = {row.student: (row.report.earned, examples[row.student].score) for row in rows}
        (course / "scores.json").write_text(json.dumps(scores))

    return Graded(made_once(f"weights of {chapter}", make), chapter)


def test_all_chapters_that_ask_for_weights_are_graded():
    assert set(CHAPTERS) == {chapter for chapter in chapter_names() if hand_in_of(chapter)}


@pytest.mark.parametrize("student", STUDENTS)
def test_every_submission_gets_the_expected_score(graded, student):
    earned, expected = json.loads((graded.course / "scores.json").read_text())[student]
    assert earned == expected


def test_the_feedback_tells_the_figure_the_examples_and_the_recipe(graded):
    text, asked = graded.result("perfect"), CHAPTERS[graded.chapter]
    assert re.search(rf"weights : 4 of 4 points {asked.figure}", text)
    assert asked.examples in text and asked.recipe in text


def test_the_feedback_on_missed_points_says_what_to_do(graded):
    assert CHAPTERS[graded.chapter].next_tier in graded.result("lazy")
    assert "Train longer or change the recipe" in graded.result("lazy")
    assert "All of its outputs were cleared" in graded.result("cleared")
    assert "the book's own weights, or nearly" in graded.result("books-own")
    assert "only pickle could read" in graded.result("pickle")


def test_submit_check_says_that_a_notebook_holds_no_weights(graded, capsys):
    assert main(["submit-check", str(graded.notebook("cleared")), "--course", str(graded.course)]) == 1
    assert "Run the cell `hand_in(params, recipe)`, save the notebook with its outputs" in capsys.readouterr().out


def test_weights_count_as_an_answer_in_the_choice_of_a_notebook(graded):
    """Of two notebooks with the same cells, the one whose outputs were cleared must not count because of its name."""
    released = load_handout(graded.course, graded.chapter)
    read_all = []
    for student in ("cleared", "perfect"):
        content = graded.notebook(student).read_bytes()
        entry = Entry(f"{student}.ipynb", 0.0, len(content), "", lambda: b"")
        read_all.append(read(Candidate(entry, "ada", ParsedName("ada"), entry.name, ()), content, released))
    assert WEIGHTS in read_all[1].answers and WEIGHTS not in read_all[0].answers
    assert choose(read_all, graded.chapter)[0] is None


def test_the_audit_names_what_the_class_has_in_common(graded, capsys):
    assert main(["audit", graded.chapter, "--share", "0", "--course", str(graded.course)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("27 submissions, ") and "books-own's weights are the book's" in lines[1]
    same = next(line for line in lines if "compute nearly the same" in line)
    assert "classmate" in same and "perfect" in same and "lazy" not in same


def test_an_unknown_student_of_the_audit_is_named(graded, capsys):
    assert main(["audit", graded.chapter, "--student", "stranger", "--course", str(graded.course)]) == 2
    assert "no usable weights by stranger" in capsys.readouterr().err
