"""Copies of the models of chapter 8: each is new, and mistakes show on all of them as on the original."""

import numpy as np
import pytest

from autograder.authoring.exercise import Draw, find_exercise
from autograder.exercises.model import copies as copying
from autograder.exercises.model.beam_search import beams, with_other_marks
from solutions.decoding import beam_search
from solutions.parameters import flatten

pytestmark = pytest.mark.autograder


def test_a_copy_has_the_scores_of_the_original_with_every_mistake():
    exercise = find_exercise("beam_search")
    for original in (beams(Draw(1), 4, 0.6), with_other_marks(Draw(1))):
        copy = copying.copied(Draw(2), original)
        for function in (exercise.reference, *(wrong for _, wrong in exercise.mistakes.values())):
            np.testing.assert_allclose(function(**copy)[1], function(**original)[1], rtol=1e-9)


def test_no_two_copies_are_the_same():
    original = beams(Draw(1), 1, 0.6)
    parameters = {flatten(copying.copied(Draw(seed), original)["params"]).tobytes() for seed in range(50)}
    assert len(parameters) == 50


def test_copies_of_one_search_are_of_different_models_and_are_found_once():
    searches = []

    def search(draw):
        searches.append(1)
        return beams(draw, 1, 0.6)

    for seed in range(2):
        found = list(copying.copies(Draw(seed), search))
        scores = {round(float(beam_search(**inputs)[1][0]), 6) for inputs in found}
        assert len(scores) == copying.N_MODELS
    assert len(searches) == copying.N_MODELS
