import math

import numpy as np

from autograder.authoring.diagnoses import overlooked, renamed
from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from solutions import backward as reference
from solutions.attention import softmax

diagnose_gradient = Exercise(
    reference.diagnose_gradient, outputs={"slip": "", "first": ""}, section="Name the slip from the slopes"
)
wrong = short_mistakes(diagnose_gradient)
changed = changing(reference.diagnose_gradient)
ORDER = "grad_values", "grad_weights", "grad_scores", "grad_queries", "grad_keys"


def slipped(slip, array, draw, weights, grad_weights):
    """Return an array with a slip."""
    if slip == "zero":
        return np.zeros_like(array)
    if slip == "sign":
        return -array
    if slip == "factor":
        return array * float(draw.rng.uniform(1.5, 4)) ** draw.rng.choice([-1, 1])
    if slip == "transposed":
        return array.T
    if slip == "last row left out":
        return np.concatenate([array[:-1], np.zeros_like(array[-1:])])
    return weights * grad_weights


def walked(inputs, spoil):
    """Walk attention backwards, and spoil each array before the next one is computed from it."""
    queries, keys, values, weights, grad_output = inputs
    scale = 1 / math.sqrt(keys.shape[-1])
    found = {"grad_values": spoil("grad_values", weights.T @ grad_output)}
    found["grad_weights"] = spoil("grad_weights", grad_output @ values.T)
    grad_scores = spoil("grad_scores", reference.softmax_backward(found["grad_weights"], weights))
    found["grad_scores"] = grad_scores
    found["grad_queries"] = spoil("grad_queries", grad_scores @ keys * scale)
    found["grad_keys"] = spoil("grad_keys", grad_scores.T @ queries * scale)
    return found


def slopes(draw, slip, place):
    """Draw an attention, its measured slopes, and a backward pass with a slip at one place."""
    length, d_key, d_value = draw.sizes(3, low=4, high=9)
    queries, keys, values = draw.normal(length, d_key), draw.normal(length, d_key), draw.normal(length, d_value)
    weights = softmax(queries @ keys.T / math.sqrt(d_key))
    inputs = queries, keys, values, weights, draw.normal(length, d_value)
    right = walked(inputs, lambda name, array: array)
    numeric = {
        name: array + 1e-7 * np.abs(array).max() * np.tanh(draw.normal(*array.shape)) for name, array in right.items()
    }

    def spoil(name, array):
        return slipped(slip, array, draw, weights, right["grad_weights"]) if name == place else array

    return {"analytic": walked(inputs, spoil), "numeric": numeric, "weights": weights}


def drawn(draw, *slips):
    """Yield right gradients and those of each (slip, places), in random order and under neutral names."""
    pairs = [("nothing", ("nowhere",)), *slips]
    for i, which in enumerate(draw.rng.permutation(len(pairs)), start=1):
        slip, places = pairs[which]
        yield f"gradients {i}", slopes(draw, slip, str(draw.rng.choice(places)))


@diagnose_gradient.cases("wrong in all places", points=2)
def _(draw):
    early = "grad_weights", "grad_scores"
    yield from drawn(draw, ("zero", early), ("sign", early), ("factor", early))


@diagnose_gradient.cases("wrong in some places", points=2)
def _(draw):
    squares = "grad_weights", "grad_scores"
    yield from drawn(
        draw, ("transposed", squares), ("last row left out", squares), ("diagonal Jacobian", ("grad_scores",))
    )


@diagnose_gradient.cases("one branch alone", points=1)
def _(draw):
    branches = "grad_values", "grad_queries", "grad_keys"
    yield from drawn(draw, ("sign", branches), ("factor", branches), ("last row left out", branches))


def wrong_arrays(analytic, numeric):
    return [name for name in ORDER if not np.allclose(analytic[name], numeric[name], rtol=1e-4, atol=1e-5)]


@diagnose_gradient.mistake("names the last wrong array")
def last_wrong(analytic, numeric, weights):
    """You name the last wrong array, which is also the first in the alphabet. Arrays that are computed from a wrong
    array are wrong, too, so the slip is in the first wrong array in the order of the backward pass: values, weights,
    scores, queries, keys."""
    slip, first = reference.diagnose_gradient(analytic, numeric, weights)
    return slip, first and wrong_arrays(analytic, numeric)[-1]


wrong("place_for_nothing", changed, change=lambda slip, first: (slip, first or ""))("""
    gives a place to right gradients
    If the slip is "nothing", `first` must be None, because no array is wrong. You return an empty string.""")
wrong(
    "to_the_last_digit", changed, change=lambda slip, first: ("factor", ORDER[0]) if first is None else (slip, first)
)("""
    expects exact slopes
    You call right gradients wrong. Measured slopes have errors, so compare with a tolerance.""")


@diagnose_gradient.mistake("compares lengths alone")
def lengths_alone(analytic, numeric, weights):
    """You compare only the lengths of the arrays. A wrong sign and a transposed array have the right length. Compare
    entry by entry."""
    return overlooked(reference.diagnose_gradient(analytic, numeric, weights), ["sign", "transposed"])


def misnamed(analytic, numeric, weights, *, slips, to):
    return renamed(reference.diagnose_gradient(analytic, numeric, weights), slips, to=to)


wrong("sign_as_factor", misnamed, slips=["sign"], to="factor")("""
    takes a wrong sign for a factor
    A wrong sign is a factor of -1, and has its own name, "sign". Test for it before you test for a factor.""")
wrong("zero_as_factor", misnamed, slips=["zero"], to="factor")("""
    takes zeros for a factor
    An array of zeros is the slopes times zero, and has its own name, "zero". Test for it before you test for a
    factor.""")
wrong("all_factors", misnamed, slips=["transposed", "last row left out", "diagonal Jacobian"], to="factor")("""
    takes every wrong array for a factor
    You name a factor without checking that it is the same in all places. Divide the arrays: with a factor all quotients
    are equal.""")
wrong("row_as_zero", misnamed, slips=["last row left out"], to="zero")("""
    takes a row of zeros for an array of zeros
    You name "zero" when one row is zero. The other rows are right, so a loop ends one row too early.""")
wrong("diagonal_as_transposed", misnamed, slips=["diagonal Jacobian"], to="transposed")("""
    takes a diagonal Jacobian for a transposed array
    You name "transposed" when the code takes the Jacobian of the softmax for diagonal. The array is the weights times
    the gradient of the weights, and its rows do not add up to zero, unlike those of a right `grad_scores`.""")


def close(one, other):
    return np.allclose(one, other, rtol=0, atol=1e-5 * np.abs(other).max())


@diagnose_gradient.equivalent
def by_questions(analytic, numeric, weights):
    for first in ORDER:
        got, slope = analytic[first], numeric[first]
        if close(got, slope):
            continue
        if not got.any():
            return "zero", first
        if close(-got, slope):
            return "sign", first
        if not got[-1].any():
            return "last row left out", first
        if got.shape == got.T.shape and close(got.T, slope):
            return "transposed", first
        rows_add_up_to_zero = np.allclose(got.sum(axis=-1), 0, atol=1e-4 * np.abs(got).max())
        return ("factor" if first != "grad_scores" or rows_add_up_to_zero else "diagonal Jacobian"), first
    return "nothing", None


@diagnose_gradient.equivalent
def by_quotients(analytic, numeric, weights):
    """Compare quotients instead of differences."""
    for first in ORDER:
        got, slope = analytic[first], numeric[first]
        largest = np.abs(slope) > 1e-2 * np.abs(slope).max()
        quotients = got[largest] / slope[largest]
        if np.allclose(quotients, 1, rtol=1e-3):
            continue
        if np.allclose(quotients, quotients.mean(), rtol=1e-3):
            mean = quotients.mean()
            return ("zero" if not mean else "sign" if np.isclose(mean, -1, rtol=1e-3) else "factor"), first
        if np.abs(got[-1]).max() == 0:
            return "last row left out", first
        square = got.shape == got.T.shape
        return ("transposed" if square and close(got.T, slope) else "diagonal Jacobian"), first
    return "nothing", None


@diagnose_gradient.equivalent
def as_a_list(analytic, numeric, weights):
    """Return the answer as a list."""
    return list(by_questions(analytic, numeric, weights))
