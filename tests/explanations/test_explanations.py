"""Wrong answers after public bug reports are rejected for their true reason, and right rewrites are accepted.

Each answer records how the judge explains it. A new name fails its test until a person has read that it is true, and
recorded it. `python -m tests.explanations.judged` prints all of them to read.
"""

import pytest

from tests.explanations.judged import RIGHT, WRONG, judged

pytestmark = pytest.mark.autograder

NAMED_OR_RELATED = 0.85  # of all wrong answers


def parameters(answers):
    """Return (exercise, answer) of each answer; `make exercise` chooses by the first."""
    first = {answer.exercise: answer for answer in reversed(answers)}
    repeats = pytest.mark.thorough("more answers to the same exercise")
    return [
        pytest.param(answer.exercise, answer, id=answer.id, marks=[] if answer == first[answer.exercise] else [repeats])
        for answer in answers
    ]


@pytest.mark.parametrize(("exercise", "answer"), parameters(WRONG))
def test_a_wrong_answer_is_rejected_for_its_true_reason(exercise, answer):
    seen = judged(answer)
    assert not seen.result.passed
    assert set(seen.slugs) <= set(answer.names), "this mistake is not in the function"
    assert seen.slugs or not answer.names, "the mistake has lost its name"
    assert answer.says in seen.text


@pytest.mark.parametrize(("exercise", "answer"), parameters(RIGHT))
def test_a_right_answer_is_accepted(exercise, answer):
    seen = judged(answer)
    assert seen.result.passed, seen.text


def test_most_wrong_answers_are_named_or_related_to_the_right_one():
    explained = sum(answer.kind != "vague" for answer in WRONG)
    assert explained >= NAMED_OR_RELATED * len(WRONG)


def test_the_answers_are_many_and_different():
    assert len(WRONG) >= 60
    assert len(RIGHT) >= 40
    assert len({answer.id for answer in WRONG}) == len(WRONG)
    assert len({answer.id for answer in RIGHT}) == len(RIGHT)
    assert all(answer.function.__doc__ and answer.address.startswith("https://") for answer in (*WRONG, *RIGHT))
