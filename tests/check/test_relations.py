"""Messages name a relation between a wrong array and the right one only if it holds exactly."""

import numpy as np
import pytest

from autograder.authoring.exercise import Exercise
from autograder.authoring.make_key import make_key
from check.calling import run
from check.relations import arrays
from check.scoring import grade

pytestmark = pytest.mark.autograder


def weights(scores, mask):
    """Return a softmax over the last axis, and the scores."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True), scores * 2


@pytest.fixture(scope="module")
def key():
    outputs = {"shares": "... T_query T_key", "doubled": "... T_query T_key"}
    exercise = Exercise(weights, outputs=outputs, section="Softmax")

    @exercise.cases("the idea", points=1)
    def _(draw):
        for name, sizes in {"square": (4, 4), "another square": (5, 5), "a batch": (2, 3, 3)}.items():
            yield name, {"scores": draw.normal(*sizes), "mask": draw.normal(*sizes)}

    return make_key(exercise, seed=3)


def total(x, axis):
    return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)


def only(index):
    def change(s, x):
        wrong = s + 1.0 + np.arange(s.size).reshape(s.shape)
        wrong[..., index, :] = s[..., index, :]
        return wrong

    return change


TRUE = {
    "`shares` is zero everywhere.": lambda s, x: 0 * s,
    "`shares` is minus what it should be.": lambda s, x: -s,
    "`shares` is twice what it should be.": lambda s, x: 2 * s,
    "`shares` is what it should be times the length of `T_query`.": lambda s, x: s.shape[-2] * s,
    "`shares` is what it should be divided by the root of the length of `T_query`.": lambda s, x: (
        s / s.shape[-2] ** 0.5
    ),
    "`shares` is right except for one factor, the same for all entries.": lambda s, x: 0.3 * s,
    "`shares` is what `doubled` should be.": lambda s, x: 2 * x,
    "`shares` is `scores`, unchanged.": lambda s, x: x.copy(),
    "`shares` contains `scores` once too often: subtract it to get the right value.": lambda s, x: s + x,
    "`shares` lacks `scores`: add it to get the right value.": lambda s, x: s - x,
    "`shares` is right except that its last two axes are exchanged.": lambda s, x: np.swapaxes(s, -1, -2).copy(),
    "`shares` is right except that the order along `T_key` is reversed.": lambda s, x: s[..., ::-1].copy(),
    "`shares` is right at the first place along `T_query` and wrong at all others.": only(0),
    "`shares` is right at the last place along `T_query` and wrong at all others.": only(-1),
    "`shares` sums to one along `T_query`, but should along `T_key`.": lambda s, x: total(x, -2),
    "`shares` has the right proportions along `T_key`, but not the right size.": lambda s, x: np.exp(x),
    "`shares` has the right differences along `T_key`: entries in one line along it are off by the same number.": (
        lambda s, x: s + x[..., :1]
    ),
}


def message_about(key, change):
    def function(scores, mask):
        shares, doubled = weights(scores, mask)
        return change(shares, scores), doubled

    return grade(key, [run(function, case.inputs) for case in key.cases]).verdict.message


@pytest.mark.parametrize("sentence", TRUE)
def test_a_relation_that_holds_is_named(key, sentence):
    assert message_about(key, TRUE[sentence]).endswith(sentence)


@pytest.mark.parametrize("sentence", TRUE)
def test_a_relation_that_nearly_holds_is_not_named(key, sentence):
    """One entry, of one case, is off by a thousandth."""

    def nearly(s, x):
        wrong = TRUE[sentence](s, x).astype(np.float64)
        if s.ndim == 3:
            wrong[0, 0, 0] += 1e-3
            wrong[1, 2, 1] -= 1e-3
            wrong[1, 1, 2] += 2e-3
        return wrong

    assert sentence not in message_about(key, nearly)


@pytest.mark.parametrize("change", [lambda s, x: s**2, lambda s, x: s + np.cos(x), lambda s, x: np.tanh(x) + s])
def test_wrong_values_without_a_relation_get_no_explanation(key, change):
    assert message_about(key, change).endswith("of the largest entry).")


def alone(s, x):
    """Return the array with wrong rows at all but the first place of the first axis."""
    wrong = np.tanh(x) + s
    wrong[0] = s[0]
    return wrong


# Each relation is true of some numbers, but says nothing about how they went wrong.
EMPTY = {
    "proportions along an axis of one entry": ((3, 1), lambda s, x: np.tanh(x) + s),
    "differences along an axis of one entry": ((1, 4), lambda s, x: np.tanh(x) + s),
    "a factor of zero": ((4, 4), lambda s, x: s * (np.arange(s.shape[-1]) < 2)),
    "the same error in each item of the batch": ((2, 3, 3), lambda s, x: s + np.tanh(x[0])),
    "one of two places right": ((2, 3, 3), alone),
    "one of three items of the batch right": ((3, 3, 3), alone),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_relation_that_says_nothing_is_not_named(name):
    sizes, change = EMPTY[name]
    exercise = Exercise(doubled_and_moved, outputs={"shares": "... T_query T_key"}, section="Softmax")

    @exercise.cases("the idea", points=1)
    def _(draw):
        yield "one", {"scores": draw.normal(*sizes)}
        yield "another", {"scores": draw.normal(*sizes)}

    key = make_key(exercise, seed=3)
    outcomes = [run(lambda scores: change(doubled_and_moved(scores), scores), case.inputs) for case in key.cases]
    assert grade(key, outcomes).verdict.message.endswith("of the largest entry).")


def doubled_and_moved(scores):
    """Return 2 scores + 1."""
    return 2 * scores + 1


def without_the_first_row(scores):
    """Return the scores with zeros in the first row, like those of a query that sees nothing."""
    return np.where(np.arange(len(scores))[:, None] > 0, scores, 0)


def test_a_row_that_should_be_zero_has_no_proportions():
    exercise = Exercise(without_the_first_row, outputs={"output": "T d"}, section="Rows that see nothing")

    @exercise.cases("the idea", points=1)
    def _(draw):
        yield "one", {"scores": draw.normal(3, 4)}
        yield "another", {"scores": draw.normal(2, 5)}

    key = make_key(exercise, seed=3)
    outcomes = [
        run(lambda scores: np.where(scores == scores[0], np.tanh(scores), scores), case.inputs) for case in key.cases
    ]
    assert grade(key, outcomes).verdict.message.endswith("of the largest entry).")


def test_constant_arrays_get_no_explanation(key):
    assert message_about(key, lambda s, x: np.ones_like(s)).endswith("of the largest entry).")


def test_a_known_mistake_is_named_without_a_relation(exercise):
    key = make_key(exercise, seed=1)
    result = grade(key, [run(exercise.mistakes["column_sum"][1], case.inputs) for case in key.cases])
    assert result.verdict.message.endswith("of the largest entry).")


def test_a_long_array_that_is_wrong_at_both_ends_is_not_compared_at_every_place(monkeypatch):
    compared = []
    equal_at = arrays._equal_at
    monkeypatch.setattr(arrays, "_equal_at", lambda *places: compared.append(places) or equal_at(*places))
    right = np.random.default_rng(0).normal(size=100)
    assert not [*arrays.relations_of_array("`shares`", ["T"], right, right**3, {}, {}, [])]
    assert len(compared) == 2


def gain_added(params):
    """Return the parameters with the gain added to the bias."""
    return params | {"bias": params["bias"] + params["gain"]}


def test_an_array_of_an_argument_is_named_with_its_place():
    exercise = Exercise(gain_added, outputs={"moved": "dict"}, section="Softmax")

    @exercise.cases("the idea", points=1)
    def _(draw):
        yield "one", {"params": {"bias": draw.normal(4), "gain": draw.normal(4)}}
        yield "another", {"params": {"bias": draw.normal(5), "gain": draw.normal(5)}}

    key = make_key(exercise, seed=3)
    outcomes = [
        run(lambda params: params | {"bias": 2 * params["bias"] + params["gain"]}, case.inputs) for case in key.cases
    ]
    assert "`moved['bias']` contains `params['bias']` once too often" in grade(key, outcomes).verdict.message


def sizes_of(n_rows, n_columns):
    """Return the shapes of a matrix and of its transpose."""
    return {"matrix": (n_rows, n_columns), "transpose": (n_columns, n_rows)}


@pytest.mark.parametrize(
    ("wrong", "ending"),
    [
        (lambda r, c: (r, r), "has the wrong value. It is `n_rows`: another size belongs there."),
        (lambda r, c: (7, r), "has the wrong value."),
        (lambda r, c: (r if r > 4 else 7, r), "has the wrong value."),
    ],
)
def test_a_size_in_place_of_another_is_named(wrong, ending):
    exercise = Exercise(sizes_of, outputs={"shapes": "dict"}, section="Shapes")

    @exercise.cases("the idea", points=1)
    def _(draw):
        yield "one", {"n_rows": 3, "n_columns": 4}
        yield "two", {"n_rows": 5, "n_columns": 2}

    def function(n_rows, n_columns):
        return sizes_of(n_rows, n_columns) | {"transpose": wrong(n_rows, n_columns)}

    key = make_key(exercise, seed=3)
    assert grade(key, [run(function, case.inputs) for case in key.cases]).verdict.message.endswith(ending)


def test_an_axis_whose_name_is_its_length_is_counted():
    exercise = Exercise(squared, outputs={"squares": "n 2"}, section="Squares")

    @exercise.cases("the idea", points=1)
    def _(draw):
        yield "three rows", {"x": draw.normal(3, 2)}

    key = make_key(exercise, seed=3)
    message = grade(key, [run(lambda x: squared(x)[:, ::-1].copy(), case.inputs) for case in key.cases]).verdict.message
    assert message.endswith("`squares` is right except that the order along axis 1 is reversed.")


def squared(x):
    """Return the squares."""
    return x**2
