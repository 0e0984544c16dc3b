"""Known mistakes that once earned points on some seeds only: now they earn the same on every seed, and at home."""

import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import PUBLIC_SEED, make_questions
from autograder.authoring.problems import grade_function
from tests.autograder.exercises.wrong_functions import wrong_functions
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

SEEDS = range(30)
# Exercise -> mistake -> the points of each aspect.
EARNED = {
    "multi_head_attention_backward": {
        "first_weights_for_all": [0, 0, 0, 0],
        "softmax_backward.diagonal_jacobian": [0, 0, 0, 0],
        "attention_backward.scale_forgotten": [0, 0, 0, 0],
        "back_scaled_by_n_heads": [0, 0, 0, 0],
        "query_bias_twice": [0, 0, 0, 0],
    },
    "looks_back": {"sharp_with_many_clocks": [1, 1, 0], "one_speed": [0, 0, 0]},
    "embed": {"token_0_is_zero": [0, 0, 1]},
    "embed_backward": {"token_0_frozen": [0, 0, 0]},
    "cross_attention": {"length_from_outside": [0, 0, 0]},
    "diagnose_decoder": {"sentence_zero": [0, 0, 1]},
}


@pytest.mark.parametrize("name", thinned(EARNED, ["embed", "looks_back"], "other exercises, with the same check"))
def test_a_mistake_earns_the_same_on_every_seed(name):
    exercise = find_exercise(name)
    keys = [make_questions(exercise, PUBLIC_SEED, at_home=True), *(make_questions(exercise, seed) for seed in SEEDS)]
    for slug, points in EARNED[name].items():
        wrong = wrong_functions(exercise)[slug]
        for key in keys:
            assert [aspect.earned for aspect in grade_function(exercise, key, wrong).aspects] == points, slug


def test_every_key_asks_for_the_longest_sentence_that_the_docstring_names():
    lengths = [len(case.unseen["encoding"]) for case in make_questions(find_exercise("looks_back"), 1).cases]
    assert max(lengths) == 200
