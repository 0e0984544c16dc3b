"""The second run, in which the grader answers a wrong function, earns only the points of the exercises that call it."""

import copy
import json

import pytest

from tests.attacks import following
from tests.attacks.conftest import SMALL, STOPPED
from tests.choosing import thinned

pytestmark = pytest.mark.attacks


@pytest.fixture
def followed(graded, perfect, token):
    """followed(sources, limits) -> the report on a notebook with these exercises."""

    def followed(sources, limits=SMALL):
        notebook = copy.deepcopy(perfect)
        for cell in notebook["cells"]:
            if cell["id"] in sources:
                cell["source"] = sources[cell["id"]].replace("{token}", token)
        return graded(notebook, limits)

    return followed


def earned(report):
    return {result.function: result.earned for result in report.results if result.earned}


def test_right_functions_around_a_wrong_one_earn_their_points(followed):
    sources = following.OTHERS | {"softmax": following.WRONG, "attention_weights": following.RIGHT_WEIGHTS}
    assert earned(followed(sources)) == {"attention_weights": 5, "attention": 4}


def test_a_later_exercise_is_never_answered_for_an_earlier_one(followed):
    assert earned(followed(following.ASKS_FORWARD)) == {}


def test_no_answer_outlives_its_run(followed):
    assert earned(followed(following.CARRIES_OVER)) == {"attention": 4}


@pytest.mark.parametrize(
    "how", thinned(["exception", "type of an exception", "type", "dict"], ["dict"], "another way out of the sandbox")
)
def test_no_answer_gets_into_the_report(followed, how):
    report = followed(following.telling(how))
    result = report.result("attention_weights")
    assert result.answered == ("softmax",) and 0 < result.earned < 5
    assert "ORACLE" not in json.dumps(report.to_json())


def test_the_code_of_the_reference_cannot_be_found(followed):
    assert earned(followed(following.SEARCHES)) == {}


@pytest.mark.thorough("the limits on questions and time, which tests of the sandbox show for one call")
def test_floods_of_questions_earn_nothing(followed):
    assert earned(followed(following.FLOODS, limits=STOPPED)) == {}
