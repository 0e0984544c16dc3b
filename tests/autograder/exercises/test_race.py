"""The race of chapter 12: its entrants are what their names say, and compute their own gradients."""

import numpy as np
import pytest

from autograder.exercises.dictionary import make_race
from autograder.exercises.dictionary.make_race import ENTRANTS, SIZES, VOCABULARIES
from autograder.exercises.dictionary.programs import MODULES, PROGRAMS, model_of
from solutions import definer
from solutions.definitions import padded
from solutions.parameters import count, flatten, map_tree

pytestmark = pytest.mark.autograder

TOKENS = padded(np.random.default_rng(0).integers(2, 200, (3, 9)).tolist())


@pytest.fixture(params=ENTRANTS)
def entrant(request):
    return ENTRANTS[request.param]


@pytest.fixture
def params(entrant):
    rng = np.random.default_rng(2)
    return map_tree(lambda array: array + 0.1 * rng.normal(size=array.shape), entrant.start(rng))


def loss_and_gradients(model, params):
    logits, cache = model.definer_forward(params, TOKENS[:, :-1], SIZES["n_heads"])
    loss, loss_cache = model.smoothed_cross_entropy(logits, TOKENS[:, 1:])
    return loss, model.definer_backward(model.smoothed_cross_entropy_backward(1.0, loss_cache), cache)


def test_an_entrant_goes_back_through_what_it_computes(entrant, params):
    rng = np.random.default_rng(3)
    direction = map_tree(lambda array: rng.normal(size=array.shape), params)

    def moved(size):
        return loss_and_gradients(model, map_tree(lambda array, step: array + size * step, params, direction))[0]

    model = model_of(entrant.program)
    along = flatten(loss_and_gradients(model, params)[1]) @ flatten(direction)
    assert np.isclose(along, (moved(1e-7) - moved(-1e-7)) / 2e-7, rtol=1e-5)


def test_an_entrant_sees_no_later_token(entrant, params):
    later = TOKENS[:, :-1].copy()
    later[:, -1] = 7
    forward = model_of(entrant.program).definer_forward
    logits, after = (forward(params, tokens, SIZES["n_heads"])[0] for tokens in (TOKENS[:, :-1], later))
    np.testing.assert_allclose(after[:, :-1], logits[:, :-1], atol=1e-9)


def test_the_entrants_have_equally_many_parameters(entrant):
    n_today, n_theirs = (count(one.start(np.random.default_rng(0))) for one in (ENTRANTS["today"], entrant))
    assert abs(n_theirs / n_today - 1) < 0.003


def test_the_stored_race_has_each_entrant_with_three_seeds():
    with np.load(make_race.STORED) as file:
        stored = dict(file)
    assert {path.split(".")[0] for path in stored} == {*ENTRANTS, *VOCABULARIES}
    for name, entrant in (ENTRANTS | VOCABULARIES).items():
        assert stored[f"{name}.losses"].shape == (make_race.N_SEEDS,)
        assert stored[f"{name}.parameters"] == count(entrant.start(np.random.default_rng(0)))


def test_a_slow_vocabulary_gets_fewer_steps(monkeypatch):
    taken = {"256 tokens": 2.0, "512 tokens": 1.0, "1024 tokens": 1.0, "2048 tokens": 4.0}
    monkeypatch.setattr(make_race, "texts_of", lambda n_tokens: {"known": [[2]] * 100})
    monkeypatch.setattr(make_race, "training", lambda entrant, *_: iter([f"{entrant.n_tokens} tokens"] * 4))
    monkeypatch.setattr(make_race, "timed", lambda steps: (None, taken[next(steps)]))
    assert make_race.equal_times() == {name: make_race.N_STEPS_LONG / seconds for name, seconds in taken.items()}


def test_the_stored_vocabularies_took_equal_times():
    with np.load(make_race.STORED) as file:
        seconds = np.array([file[f"{name}.seconds"] for name in VOCABULARIES])
    by_seed = seconds / seconds.mean(axis=0)  # each seed was another hour of the machine
    assert np.abs(by_seed.mean(axis=1) - 1).max() < 0.05


def test_other_threads_call_the_right_functions_while_a_wrong_program_runs():
    right = {module: dict(vars(module)) for module in MODULES.values()}
    params, model = ENTRANTS["today"].start(np.random.default_rng(2)), model_of(PROGRAMS["has no mask"])
    assert all(vars(module) == functions for module, functions in right.items())
    forward, wrong = (each.definer_forward(params, TOKENS[:, :-1], SIZES["n_heads"])[0] for each in (definer, model))
    assert not np.allclose(forward, wrong)
