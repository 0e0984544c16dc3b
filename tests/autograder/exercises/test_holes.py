"""Wrong answers that once earned full marks: none does now, whatever the key's seed."""

import pytest

from autograder.authoring.make_key import PUBLIC_SEED
from tests.autograder.exercises.holes import HOLES, accepted

pytestmark = pytest.mark.autograder


@pytest.mark.parametrize(("exercise", "wrong", "seeds"), HOLES)
def test_it_is_rejected(exercise, wrong, seeds):
    assert [seed for seed in (PUBLIC_SEED, *seeds[:2]) if accepted(exercise, wrong, seed)] == []


@pytest.mark.thorough("more keys, for wrong answers that only some keys accepted")
@pytest.mark.parametrize(("exercise", "wrong", "seeds"), [hole for hole in HOLES if len(hole.values[2]) > 2])
def test_no_other_key_accepts_it(exercise, wrong, seeds):
    assert [seed for seed in seeds[2:] if accepted(exercise, wrong, seed)] == []
