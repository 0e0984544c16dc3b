"""Exercises that ask for a diagnosis: the model diagnosis names every generated run, and memory is worth nothing."""

import numpy as np
import pytest

from autograder.authoring.make_key import PUBLIC_SEED, make_questions
from autograder.exercises.training.diagnose_training import diagnose_training
from check.calling import run
from check.judge import grade
from check.values import pack
from solutions.runs import BUGS, training_run
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

SECRET_SEEDS = (20_260_101, 7, 8)


@pytest.mark.parametrize("seed", thinned(range(200), range(len(BUGS)), "more runs"))
def test_every_right_diagnosis_names_every_run(seed):
    diagnoses = diagnose_training.reference, *diagnose_training.equivalents.values()
    bug = BUGS[seed % len(BUGS)]
    log, first = training_run(bug, np.random.default_rng(seed))
    assert [tuple(diagnose(log)) for diagnose in diagnoses] == [(bug, first)] * len(diagnoses)


def test_a_key_asks_for_every_bug():
    asked = [case.expected.value[0] for case in make_questions(diagnose_training, PUBLIC_SEED).cases]
    assert set(asked) == set(BUGS)


def fingerprint(log):
    return b"".join(array.tobytes() for array in pack(log)[1])


@pytest.mark.parametrize("guess", BUGS)
def test_a_table_of_the_public_runs_earns_nothing(guess):
    public = make_questions(diagnose_training, PUBLIC_SEED)
    table = {fingerprint(case.inputs["run"]): case.expected.value for case in public.cases}

    def remembered(run):
        return table.get(fingerprint(run), (guess, None))

    assert grade(public, [run(remembered, case.inputs) for case in public.cases]).earned == public.points
    for seed in SECRET_SEEDS:
        secret = make_questions(diagnose_training, seed)
        assert grade(secret, [run(remembered, case.inputs) for case in secret.cases]).earned == 0


def test_the_same_generator_gives_the_same_run():
    first, second = (training_run("moments lost", np.random.default_rng(3)) for _ in range(2))
    assert fingerprint(first[0]) == fingerprint(second[0])
