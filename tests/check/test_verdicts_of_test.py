"""A test that rejects a right function in one aspect does so in all that have it."""

import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import make_questions
from check.calling import Outcome, Raised
from check.verdicts_of_test import with_rejections

NAME = "tests_split_heads"
KEYS = {
    "at home": make_questions(find_exercise(NAME), 2017, at_home=True),
    "grading": make_questions(find_exercise(NAME), 3),
}
EXPECTED = {where: [case.expected for case in key.cases] for where, key in KEYS.items()}


def changed(where, place, outcome):
    """Return what a right test's outcomes become if the one at this place is another."""
    key, outcomes = KEYS[where], list(EXPECTED[where])
    outcomes[place] = outcome
    return with_rejections(key, outcomes)


def shared(where):
    """Return the places of the right function that all aspects share."""
    functions = [case.inputs["function"] for case in KEYS[where].cases]
    places = [[i for i, other in enumerate(functions) if other == function] for function in functions]
    return max(places, key=len)


@pytest.mark.parametrize("where", KEYS)
@pytest.mark.parametrize("outcome", [Outcome(value=False), Outcome(value=1), Outcome(raised=Raised("ValueError", ""))])
def test_a_right_function_is_rejected_everywhere(where, outcome):
    places = shared(where)
    assert len(places) == len(KEYS[where].aspects)
    for place in places:
        assert changed(where, place, outcome) == [
            outcome if i in places else expected for i, expected in enumerate(EXPECTED[where])
        ]


@pytest.mark.parametrize("where", KEYS)
def test_a_call_that_was_stopped_is_no_verdict(where):
    """The functions after it are not tried, but those before it were."""
    first, second, _ = shared(where)
    stopped = Outcome(stopped="used more than 5 seconds of processor time")
    assert changed(where, second, stopped) == [
        stopped if i == second else expected for i, expected in enumerate(EXPECTED[where])
    ]
    outcomes = [Outcome(value=False) if i == first else each for i, each in enumerate(changed(where, second, stopped))]
    assert with_rejections(KEYS[where], outcomes)[second] == stopped


def test_a_wrong_function_that_is_accepted_costs_its_own_aspect_only():
    place = next(i for i, expected in enumerate(EXPECTED["grading"]) if not expected.value)
    accepted = Outcome(value=True)
    assert [i for i, each in enumerate(changed("grading", place, accepted)) if each != EXPECTED["grading"][i]] == [
        place
    ]
