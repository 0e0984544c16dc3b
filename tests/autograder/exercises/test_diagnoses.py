"""Exercises that ask for a diagnosis: the model diagnosis names every run, and memorised answers earn nothing."""

from unittest import mock

import numpy as np
import pytest

from autograder.authoring.exercise import Draw
from autograder.authoring.make_key import PUBLIC_SEED, make_questions
from autograder.exercises.backward.diagnose_gradient import diagnose_gradient, slopes
from autograder.exercises.cross.diagnose_decoder import SUM_BUGS, WEIGHT_BUGS, decoded, diagnose_decoder
from autograder.exercises.dictionary import short_runs
from autograder.exercises.dictionary.diagnose_definer import clear_record as clear_run
from autograder.exercises.dictionary.diagnose_definer import diagnose_definer
from autograder.exercises.masking.diagnose_masks import diagnose_masks, weights_of
from autograder.exercises.project.diagnose_log import diagnose_log
from autograder.exercises.project.failed_runs import BUGS as FAILURES
from autograder.exercises.project.failed_runs import N_RUNS, log_of
from autograder.exercises.residual.diagnose_depth import clear_record, diagnose_depth
from autograder.exercises.training.diagnose_training import clear_logs, diagnose_training
from check.calling import Outcome
from check.scoring import grade
from check.values import pack
from solutions import broken_stacks, cross
from solutions.runs import BUGS, training_run, training_runs
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

SECRET_SEEDS = (20_260_101, 7, 8)
N_SEEDS = 20
MASK_BUGS = (
    "nothing", "no causal mask", "causal mask transposed", "own position hidden", "no padding mask",
    "queries masked, not keys", "padding of another sentence", "or in place of and", "mask inverted",
    "mask after the softmax",
)  # fmt: skip
DECODER_BUGS = "nothing", "values from the target", *WEIGHT_BUGS, *SUM_BUGS


def name_of(diagnosis):
    """Return the name of the bug, which is the diagnosis or its first part."""
    return diagnosis if isinstance(diagnosis, str) else diagnosis[0]


@pytest.mark.parametrize("seed", thinned(range(200), range(len(BUGS)), "more runs"))
def test_every_right_diagnosis_names_every_run(seed):
    diagnoses = diagnose_training.reference, *diagnose_training.equivalents.values()
    bug = BUGS[seed % len(BUGS)]
    log, first = training_run(bug, np.random.default_rng(seed))
    assert [tuple(diagnose(log)) for diagnose in diagnoses] == [(bug, first)] * len(diagnoses)


@pytest.mark.parametrize("seed", thinned(range(60), range(3), "more runs"))
def test_one_half_separates_a_target_that_is_not_shifted(seed):
    """The page says so."""
    bugs = "target not shifted", "labels of other sentences", "padding counted"
    repeated, *others = training_runs(bugs, np.random.default_rng(seed))
    assert max(run["copied"].max() for run, _ in others) < 0.5 < repeated[0]["copied"][-1]


@pytest.mark.parametrize("bug, seed", [("nothing", 255), ("padding counted", 365)])
def test_a_run_to_which_right_answers_differ_is_made_again(bug, seed):
    diagnoses = diagnose_training.equivalents.values()
    first, _ = training_run(bug, np.random.default_rng(seed))
    (log,) = clear_logs([bug], np.random.default_rng(seed))
    assert "gradients not cleared" in {diagnose(first)[0] for diagnose in diagnoses}
    assert {diagnose(log)[0] for diagnose in diagnoses} == {bug}


@pytest.mark.parametrize(
    ("exercise", "bugs", "kept"),
    [
        (diagnose_training, BUGS, lambda run: run["loss"][-1]),
        (diagnose_depth, broken_stacks.BUGS, lambda record: record["stream"].sum().round(9)),
        (diagnose_definer, short_runs.BUGS, lambda record: record["loss"][-1]),
    ],
    ids=["diagnose_training", "diagnose_depth", "diagnose_definer"],
)
def test_every_submission_has_records_of_its_own_on_which_right_answers_agree(exercise, bugs, kept):
    """The bundle has the code that makes them, so records that others have too could be looked up."""
    seen = set()
    for seed in range(N_SEEDS):
        cases = make_questions(exercise, seed).cases
        assert {name_of(case.expected.value) for case in cases} == set(bugs)
        for case in cases:
            seen.add(kept(**case.inputs))
            for diagnose in exercise.equivalents.values():
                answer = diagnose(**case.inputs)
                assert (answer if isinstance(answer, str) else tuple(answer)) == case.expected.value
    assert len(seen) == N_SEEDS * len(cases)


@pytest.mark.parametrize("seed", thinned(range(200), range(6), "more weights"))
def test_every_right_diagnosis_names_every_mask(seed):
    diagnoses = diagnose_masks.reference, *diagnose_masks.equivalents.values()
    for bug in MASK_BUGS:
        inputs = weights_of(Draw(seed), bug)
        answers = [diagnose(**inputs) for diagnose in diagnoses]
        assert [name for name, _ in answers] == [bug] * len(answers)
        assert len({first and tuple(first) for _, first in answers}) == 1


@pytest.mark.parametrize("seed", thinned(range(200), range(6), "more decoders"))
def test_every_right_diagnosis_names_every_decoder(seed):
    diagnoses = diagnose_decoder.reference, *diagnose_decoder.equivalents.values()
    for bug in DECODER_BUGS:
        inputs = decoded(Draw(seed), bug)
        answers = [diagnose(**inputs) for diagnose in diagnoses]
        assert [name for name, _ in answers] == [bug] * len(answers)
        assert len({first and tuple(first) for _, first in answers}) == 1


def test_the_first_sentence_hides_a_bug_with_every_key():
    for seed in range(N_SEEDS):
        diagnoses = [case.expected.value for case in make_questions(diagnose_decoder, seed).cases]
        assert any(first and first[1] for _, first in diagnoses)


@pytest.mark.parametrize("bug, n_made", [("nothing", 1), ("keys from the target", 2)])
def test_the_reference_makes_no_more_decoders_than_it_compares(bug, n_made, monkeypatch):
    made = mock.Mock(wraps=cross.masked_attention)
    monkeypatch.setattr(cross, "masked_attention", made)
    assert cross.diagnose_decoder(**decoded(Draw(1), bug))[0] == bug
    assert made.call_count == n_made


SQUARES = "grad_weights", "grad_scores"
BRANCHES = "grad_values", "grad_queries", "grad_keys"
PLACES = {
    "zero": SQUARES, "sign": SQUARES + BRANCHES, "factor": SQUARES + BRANCHES, "transposed": SQUARES,
    "last row left out": SQUARES + BRANCHES, "diagonal Jacobian": ("grad_scores",), "nothing": (None,),
}  # fmt: skip


@pytest.mark.parametrize("seed", thinned(range(200), range(6), "more gradients"))
def test_every_right_diagnosis_names_every_slip(seed):
    diagnoses = diagnose_gradient.reference, *diagnose_gradient.equivalents.values()
    for slip, places in PLACES.items():
        for place in places:
            inputs = slopes(Draw(seed), slip, place)
            assert [tuple(diagnose(**inputs)) for diagnose in diagnoses] == [(slip, place)] * len(diagnoses)


@pytest.mark.parametrize("seed", thinned(range(200), range(len(broken_stacks.BUGS)), "more stacks"))
def test_every_right_diagnosis_names_every_broken_stack(seed):
    diagnoses = diagnose_depth.reference, *diagnose_depth.equivalents.values()
    bug = broken_stacks.BUGS[seed % len(broken_stacks.BUGS)]
    record, first = clear_record(bug, np.random.default_rng(seed))
    assert [tuple(diagnose(record)) for diagnose in diagnoses] == [(bug, first)] * len(diagnoses)


@pytest.mark.parametrize("seed", thinned(range(60), range(2), "more runs"))
def test_every_right_diagnosis_names_every_wrong_definer(seed):
    diagnoses = diagnose_definer.reference, *diagnose_definer.equivalents.values()
    for bug in short_runs.BUGS:
        record = clear_run(bug, np.random.default_rng(seed))
        assert [diagnose(record) for diagnose in diagnoses] == [bug] * len(diagnoses)


@pytest.mark.parametrize("program", [program for programs in short_runs.BUGS.values() for program in programs])
def test_every_program_with_a_bug_is_diagnosed(program, monkeypatch):
    (bug,) = (bug for bug, programs in short_runs.BUGS.items() if program in programs)
    monkeypatch.setitem(short_runs.BUGS, bug, (program,))
    assert diagnose_definer.reference(clear_run(bug, np.random.default_rng(0))) == bug


def test_positions_that_begin_elsewhere_are_no_bug(monkeypatch):
    """The chapter says that they change nothing."""
    monkeypatch.setitem(short_runs.BUGS, "nothing", ("counts positions from 1,000",))
    record = short_runs.run_record("nothing", np.random.default_rng(0))
    assert {diagnose(record) for diagnose in diagnose_definer.equivalents.values()} == {"nothing"}


@pytest.mark.parametrize("bug", ["nothing", *FAILURES])
def test_every_right_diagnosis_names_every_failed_run(bug):
    diagnoses = diagnose_log.reference, *diagnose_log.equivalents.values()
    answers = [tuple(diagnose(log_of(bug, i))) for i in range(N_RUNS) for diagnose in diagnoses]
    assert {name for name, _ in answers} == {bug}
    assert len(set(answers)) == 1


def logs_of(key):
    return {fingerprint(case.inputs) for case in key.cases}


def test_a_public_key_has_no_log_that_the_chapter_shows_or_that_grading_asks_for():
    public, secret = make_questions(diagnose_log, PUBLIC_SEED, at_home=True), make_questions(diagnose_log, PUBLIC_SEED)
    shown = {fingerprint({"log": log_of(bug, 0)}) for bug in FAILURES}
    assert len(logs_of(public)) == 9  # a healthy one, and one of each bug
    assert not logs_of(public) & logs_of(secret)
    assert shown <= logs_of(secret)
    asked = [case.expected.value[0] for case in public.cases]
    assert set(asked) == {"nothing", *FAILURES}


def test_answers_for_public_logs_earn_nothing_in_grading():
    public = make_questions(diagnose_log, PUBLIC_SEED, at_home=True)
    table = {fingerprint(case.inputs): case.expected.value for case in public.cases}
    for seed in SECRET_SEEDS:
        key = make_questions(diagnose_log, seed)
        answers = [table.get(fingerprint(case.inputs), ("leak", "past_moves")) for case in key.cases]
        assert grade(key, list(map(Outcome, answers))).earned == 0


def test_a_key_asks_for_every_broken_stack():
    asked = [case.expected.value[0] for case in make_questions(diagnose_depth, PUBLIC_SEED).cases]
    assert set(asked) == set(broken_stacks.BUGS)


def test_a_key_asks_for_every_slip():
    asked = [case.expected.value[0] for case in make_questions(diagnose_gradient, PUBLIC_SEED).cases]
    assert set(asked) == set(PLACES)


def test_a_key_asks_for_every_decoder():
    asked = [case.expected.value[0] for case in make_questions(diagnose_decoder, PUBLIC_SEED).cases]
    assert set(asked) == set(DECODER_BUGS)


def test_a_key_asks_for_every_mask():
    asked = [case.expected.value[0] for case in make_questions(diagnose_masks, PUBLIC_SEED).cases]
    assert set(asked) == set(MASK_BUGS)


def test_a_key_asks_for_every_bug():
    asked = [case.expected.value[0] for case in make_questions(diagnose_training, PUBLIC_SEED).cases]
    assert set(asked) == set(BUGS)


def fingerprint(inputs):
    return b"".join(array.tobytes() for array in pack(inputs)[1])


@pytest.mark.parametrize(
    "exercise",
    [diagnose_training, diagnose_masks, diagnose_gradient, diagnose_decoder, diagnose_depth, diagnose_definer],
    ids=lambda exercise: exercise.name,
)
def test_a_table_of_the_public_cases_earns_nothing(exercise):
    public = make_questions(exercise, PUBLIC_SEED)
    table = {fingerprint(case.inputs): case.expected.value for case in public.cases}
    secret = [make_questions(exercise, seed) for seed in SECRET_SEEDS]
    for guess in {name_of(case.expected.value) for case in public.cases}:
        wrong = guess if exercise is diagnose_definer else (guess, None)

        def remembered(wrong=wrong, **inputs):
            return table.get(fingerprint(inputs), wrong)

        def earned(key, answer=remembered):
            return grade(key, [Outcome(answer(**case.inputs)) for case in key.cases]).earned

        assert earned(public) == public.points
        assert [earned(key) for key in secret] == [0] * len(secret)


def test_the_same_generator_gives_the_same_run():
    first, second = (training_run("moments lost", np.random.default_rng(3)) for _ in range(2))
    assert fingerprint(first[0]) == fingerprint(second[0])
