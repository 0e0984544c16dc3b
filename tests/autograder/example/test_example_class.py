"""The example class gets the expected scores when it is graded like a real class."""

import pytest

from autograder.pages import terminal

pytestmark = pytest.mark.grading

SCORES = {
    "perfect": 22, "blank": 0, "half-done": 9, "by-loops": 22, "noisy": 22, "mistake-1": 18, "mistake-2": 17,
    "unknown-mistake": 18, "raises": 18, "endless": 18, "greedy": 18, "cheat": 0, "deleted-check": 22, "doubled": 22,
    "truncated": 0, "no-notebook": 0,
}  # fmt: skip


def result_of(rows, student, function):
    return rows[student].report.result(function)


def test_the_class_has_the_expected_students(graded_class):
    examples, rows, _ = graded_class
    assert set(examples) == set(rows) == set(SCORES)


@pytest.mark.parametrize("student", SCORES)
def test_every_example_gets_the_expected_score(graded_class, student):
    examples, rows, _ = graded_class
    assert rows[student].report.earned == examples[student].score == SCORES[student]


def test_the_summary_has_one_line_for_each_chapter(graded_class):
    heads, _, line = terminal.chapter_table({"01_attention": list(graded_class[1].values())}).split("\n")
    assert " ".join(heads.split()) == "chapter submissions mean computed score of most frequent mistake"
    assert line.split()[:4] == ["01_attention", "16", "14.1", "22"], "226 points in all"
    assert line.endswith("repaired_attention nothing is fixed yet (2)"), "the two that left it as it was"


def test_known_mistakes_are_named_but_not_the_unknown_one(graded_class):
    _, rows, _ = graded_class
    assert result_of(rows, "mistake-1", "softmax").mistake.name == "normalises over the rows' axis"
    assert result_of(rows, "mistake-2", "attention_weights").mistake is not None
    assert result_of(rows, "unknown-mistake", "repaired_attention").mistake is None


def test_an_exercise_that_calls_a_wrong_one_is_graded_with_the_reference(graded_class):
    _, rows, _ = graded_class
    weights = result_of(rows, "mistake-1", "attention_weights")
    assert weights.passed and weights.answered == ("softmax",)
    assert result_of(rows, "mistake-1", "attention").answered == ("softmax",)
    assert result_of(rows, "mistake-2", "attention").answered == ("attention_weights",)
    assert not any(result.answered for result in rows["half-done"].report.results)


@pytest.mark.parametrize(("student", "function", "words"), [
    ("endless", "repaired_attention", "used more than 5 seconds of processor time"),
    ("greedy", "repaired_attention", "memory"),
    ("raises", "repaired_attention", "raised ValueError (line 2: raise ValueError('the shapes do not fit'))"),
    ("blank", "softmax", "is not written yet"),
])  # fmt: skip
def test_the_verdict_describes_the_first_fault(graded_class, student, function, words):
    _, rows, _ = graded_class
    assert words in result_of(rows, student, function).verdict.message


def test_the_cheat_found_no_solution(graded_class):
    _, rows, _ = graded_class
    assert all("StopIteration" in result.verdict.message for result in rows["cheat"].report.results)


def test_feedback_shows_the_message_of_a_known_mistake(graded_class):
    _, _, course = graded_class
    page = (course / "feedback/mistake-1/01_attention/01_attention.html").read_text(encoding="utf-8")
    assert "normalises over the rows" in page
