"""Chapters 1 to 3: a known mistake earns the same points with every seed, and a bug hunt pays for each bug."""

import warnings

import numpy as np
import pytest

from autograder.authoring.exercise import Draw, find_exercise
from autograder.authoring.known_mistakes import stored_outcome
from autograder.authoring.make_key import PUBLIC_SEED, make_questions
from autograder.exercises.attention.shared import roles
from autograder.exercises.backward.repaired_bilinear_backward import bilinear
from check.scoring import aspects_of, faults_of_cases
from tests.autograder.exercises.wrong_functions import wrong_functions
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

N_SEEDS = 30
LUCKY = {  # exercise -> mistakes that earned other points with another seed
    "softmax": ("small_number_against_zero_1e-9", "small_number_against_zero"),
    "repaired_attention": ("scale_dropped", "scale_inverted", "scale_of_the_values"),
    "attention_backward": ("scale_forgotten", "keys_unscaled", "softmax_backward.diagonal_jacobian"),
    "masked_softmax": ("a_little_more",),
    "leaks": ("begins_late", "ends_early", "last_input_only", "one_cut_in_the_middle", "first_output_only"),
}
HUNTS = {  # exercise -> the points of each partial repair
    "repaired_attention": {
        "as_published": 0, "scale_and_overflow_left": 1, "scale_and_dtype_left": 1, "overflow_and_dtype_left": 2,
        "scale_left": 2, "overflow_left": 3, "dtype_left": 3,
    },
    "repaired_bilinear_backward": {
        "as_published": 0, "columns_and_item_left": 1, "diagonal_and_columns_left": 1, "item_left": 2,
        "columns_left": 2,
    },
}  # fmt: skip
ATTENTION_BUGS = {  # mistake -> whether it has the wrong scale, the overflow, and float64
    "as_published": (True, True, True), "scale_and_overflow_left": (True, True, False),
    "scale_and_dtype_left": (True, False, True), "overflow_and_dtype_left": (False, True, True),
    "scale_left": (True, False, False), "overflow_left": (False, True, False), "dtype_left": (False, False, True),
}  # fmt: skip


def points(exercise, seed, slug, at_home=False):
    """Return the points of a known mistake, aspect by aspect."""
    key = make_questions(exercise, seed, at_home)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = [stored_outcome(exercise, wrong_functions(exercise)[slug], case) for case in key.cases]
    return tuple(aspect.earned for aspect in aspects_of(key, faults_of_cases(key, outcomes)))


@pytest.mark.parametrize("exercise", LUCKY)
@pytest.mark.parametrize("seed", thinned(range(N_SEEDS), range(3), "more seeds"))
def test_a_mistake_earns_at_home_what_any_seed_gives(exercise, seed):
    found = find_exercise(exercise)
    for slug in LUCKY[exercise]:
        assert points(found, seed, slug) == points(found, PUBLIC_SEED, slug, at_home=True), slug


@pytest.mark.parametrize("exercise", HUNTS)
@pytest.mark.parametrize("seed", thinned(range(N_SEEDS), range(3), "more seeds"))
def test_a_bug_hunt_pays_for_each_bug(exercise, seed):
    found = find_exercise(exercise)
    assert {slug: sum(points(found, seed, slug)) for slug in HUNTS[exercise]} == HUNTS[exercise]


def test_the_symptoms_that_a_bug_hunt_names_are_there():
    draw = Draw(1)
    arrays = roles(draw, 1)
    ones = arrays | {"values": np.ones_like(arrays["values"])}
    large = arrays | {"queries": 1000 * arrays["queries"]}
    single = {role: array.astype(np.float32) for role, array in arrays.items()}
    for slug, (has_scale, has_overflow, has_dtype) in ATTENTION_BUGS.items():
        wrong = find_exercise("repaired_attention").mistakes[slug][1]
        with np.errstate(all="ignore"):
            assert (not np.allclose(wrong(**ones), 1)) == has_scale
            assert np.isnan(wrong(**large)).any() == has_overflow
        assert (wrong(**single).dtype == np.float64) == has_dtype


def test_the_symptoms_of_a_bilinear_backward_are_there():
    exercise = find_exercise("repaired_bilinear_backward")
    inputs = bilinear(Draw(1), 1)
    gradient = inputs["grad_scores"]
    hollow = inputs | {"grad_scores": gradient * (1 - np.eye(gradient.shape[-1]))}
    for slug in ("as_published", "diagonal_and_columns_left"):
        assert not exercise.mistakes[slug][1](**hollow)[0].any()
    symmetric = inputs | {"grad_scores": gradient + gradient.swapaxes(-1, -2)}
    for slug in ("columns_and_item_left", "columns_left"):
        wrong = exercise.mistakes[slug][1]
        assert np.allclose(wrong(**symmetric)[0], exercise.reference(**symmetric)[0])
        assert not np.allclose(wrong(**inputs)[0], exercise.reference(**inputs)[0])
    item_left = exercise.mistakes["item_left"][1]
    copies = {name: np.stack([inputs[name][0]] * 3) for name in ("grad_scores", "x")} | {"a": inputs["a"]}
    assert np.allclose(item_left(**copies)[1], exercise.reference(**copies)[1])
    assert not np.allclose(item_left(**inputs)[1], exercise.reference(**inputs)[1])
