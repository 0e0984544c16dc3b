"""Wrong answers, each written apart from the known mistake that is in it, get the name of that mistake and no other."""

import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import public_key
from check.measuring import outcomes_of
from check.scoring import grade
from tests.autograder.exercises.named import NAMED

pytestmark = pytest.mark.autograder


@pytest.mark.parametrize(("exercise", "wrong", "slug"), NAMED)
def test_it_gets_the_name_of_its_mistake(exercise, wrong, slug):
    key = public_key(find_exercise(exercise))
    result = grade(key, outcomes_of(wrong, key))
    assert result.mistakes == (key.mistakes[slug],)
    assert not result.passed
