"""Wrong answers are rejected for their true reason, and right rewrites are accepted.

Each answer records how the judge explains it. A new name fails its test until a person has read that it is true, and
recorded it. `python -m tests.explanations.judged` prints all of them to read.
"""

import pytest

from autograder.authoring.make_key import PUBLIC_SEED
from tests.explanations.judged import RIGHT, WRONG, accepted, judged
from tests.explanations.registry import SECRET

pytestmark = pytest.mark.autograder

REPORTED = [answer for answer in WRONG if answer.address]
EXPLAINED = [answer for answer in WRONG if not answer.seeds]
ONCE_ACCEPTED = [answer for answer in WRONG if answer.seeds]
NAMED_OR_RELATED = 0.85  # the share of the answers after public reports


def parameters(answers):
    """Return (exercise, answer) of each answer; `make exercise` chooses by the first."""
    first = {answer.exercise: answer for answer in reversed(answers) if answer.address}
    repeats = pytest.mark.thorough("more answers to the same exercise")
    return [
        pytest.param(
            answer.exercise,
            answer,
            id=answer.id,
            marks=[repeats] if answer.address and answer != first[answer.exercise] else [],
        )
        for answer in answers
    ]


@pytest.mark.parametrize(("exercise", "answer"), parameters(EXPLAINED))
def test_a_wrong_answer_is_rejected_for_its_true_reason(exercise, answer):
    seen = judged(answer)
    assert not seen.result.passed
    assert set(seen.slugs) <= set(answer.names), "this mistake is not in the function"
    assert seen.slugs or not answer.names, "the mistake has lost its name"
    assert answer.says in seen.text


@pytest.mark.parametrize(("exercise", "answer"), parameters(ONCE_ACCEPTED))
def test_an_answer_that_a_key_once_accepted_is_rejected(exercise, answer):
    assert [seed for seed in (PUBLIC_SEED, *answer.seeds[:2]) if accepted(answer, seed)] == []


@pytest.mark.thorough("more keys, for wrong answers that only some keys accepted")
@pytest.mark.parametrize(
    ("exercise", "answer"), parameters([answer for answer in ONCE_ACCEPTED if len(answer.seeds) > len(SECRET)])
)
def test_no_other_key_accepts_it(exercise, answer):
    assert [seed for seed in answer.seeds[2:] if accepted(answer, seed)] == []


@pytest.mark.parametrize(("exercise", "answer"), parameters(RIGHT))
def test_a_right_answer_is_accepted(exercise, answer):
    seen = judged(answer)
    assert seen.result.passed, seen.text


def test_most_wrong_answers_are_named_or_related_to_the_right_one():
    explained = sum(answer.kind != "vague" for answer in REPORTED)
    assert explained >= NAMED_OR_RELATED * len(REPORTED)


def test_the_answers_are_many_and_different():
    assert len(REPORTED) >= 300
    assert len(WRONG) >= 600
    assert len(RIGHT) >= 40
    assert len({answer.id for answer in WRONG}) == len(WRONG)
    assert len({answer.id for answer in RIGHT}) == len(RIGHT)
    assert all(answer.function.__doc__ and answer.address.startswith("https://") for answer in (*REPORTED, *RIGHT))
