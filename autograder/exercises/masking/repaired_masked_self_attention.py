"""repaired_masked_self_attention: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.masking.masked_softmax import masked_row_by_row, maximum_over_the_allowed
from autograder.exercises.masking.shared import random_mask, scaled_scores, with_empty_row, zero_if_empty
from solutions import masking as reference
from solutions.attention import softmax

repaired_masked_self_attention = Exercise(
    reference.repaired_masked_self_attention,
    outputs={"output": "... T d_value", "weights": "... T T"},
    order=("weights", "output"),
    section="Find the bug",
)


def layer(draw, n_batch_axes=0, dtype=np.float64, empty=False):
    """A sequence, its projections and a mask, no two sizes alike."""
    T, d_model, d_key, d_value = draw.sizes(4, low=3, high=9)
    batch = [2, 3][:n_batch_axes]
    mask = random_mask(draw, *batch, T, T)
    return {
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "w_query": draw.normal(d_model, d_key, dtype=dtype),
        "w_key": draw.normal(d_model, d_key, dtype=dtype),
        "w_value": draw.normal(d_model, d_value, dtype=dtype),
        "mask": with_empty_row(mask) if empty else mask,
    }


@repaired_masked_self_attention.cases("the mask before the softmax", points=2)
def _(draw):
    inputs = layer(draw)
    yield "one sentence", inputs
    yield "a causal mask", inputs | {"mask": np.tri(len(inputs["x"]), dtype=bool)}
    yield "two batch axes", layer(draw, 2)
    inputs = layer(draw, 1)
    yield "one mask for the batch", inputs | {"mask": inputs["mask"][0]}
    yield "large scores", inputs | {"x": 30 * inputs["x"]}
    yield "one row for all queries, (T,)", inputs | {"mask": random_mask(draw, inputs["x"].shape[-2])}


@repaired_masked_self_attention.cases("rows that see nothing", points=1)
def _(draw):
    yield "one in each sentence", layer(draw, 1, empty=True)
    yield "all of them", layer(draw, 1) | {"mask": np.zeros((1, 1), bool)}


@repaired_masked_self_attention.cases("float32", points=1)
def _(draw):
    yield "float32", layer(draw, 1, dtype=np.float32)
    yield "float32, a row that sees nothing", layer(draw, 1, dtype=np.float32, empty=True)


def published(x, w_query, w_key, w_value, mask, penalty, late_product=True, keep_dtype=False):
    """The function of the hunt, with its choices left open."""
    # To the last digit as the stub has it: what was float32 and became float64 is compared as float64.
    scores = np.einsum("...qd,...kd->...qk", x @ w_query, x @ w_key) / math.sqrt(w_key.shape[-1])
    added = np.where(mask, 0, penalty)
    weights = softmax(scores + (added.astype(x.dtype) if keep_dtype else added))
    weights = weights * mask if late_product else weights
    return weights @ (x @ w_value), weights


@repaired_masked_self_attention.mistake("nothing is mended yet", reread="Finite substitutes for infinity")
def as_published(x, w_query, w_key, w_value, mask):
    """All mistakes are still there. Start with the sums of the rows: they should be one. Which number was the penalty
    meant to be?"""
    return published(x, w_query, w_key, w_value, mask, penalty=-1e-20)


@repaired_masked_self_attention.mistake(
    "the dtype is mended; the future still leaks", reread="Finite substitutes for infinity"
)
def dtype_mended(x, w_query, w_key, w_value, mask):
    """float32 stays float32 now. Next, the sums of the rows: they should be one, and are less. What does the penalty
    do, and what was it meant to do?"""
    return published(x, w_query, w_key, w_value, mask, penalty=-1e-20, keep_dtype=True)


@repaired_masked_self_attention.mistake(
    "the product after the softmax is gone, and nothing has come in its place", reread="Finite substitutes for infinity"
)
def product_dropped(x, w_query, w_key, w_value, mask):
    """The product after the softmax is gone. But it was the only thing that hid anything: the penalty of -1e-20 hides
    nothing, so now every position sees everything."""
    return published(x, w_query, w_key, w_value, mask, penalty=-1e-20, late_product=False)


@repaired_masked_self_attention.mistake(
    "the weights are renormalised after the product", reread="Why before the softmax"
)
def renormalised_weights(x, w_query, w_key, w_value, mask):
    """Dividing by what is left makes the rows add up to one again, and divides zero by zero where nothing is left.
    Mask the scores before the softmax, so that there is nothing to repair afterwards."""
    _, weights = as_published(x, w_query, w_key, w_value, mask)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ (x @ w_value), weights


@repaired_masked_self_attention.mistake(
    "the penalty is minus infinity now; rows that see nothing and float32 are left", reread="Rows that see nothing"
)
def infinite_and_promoted(x, w_query, w_key, w_value, mask):
    """The future is hidden now, in earnest. Next: what does softmax make of a row in which everything is minus
    infinity, and what is NaN times False? And which dtype has `np.where(mask, 0, -np.inf)`?"""
    return published(x, w_query, w_key, w_value, mask, penalty=-np.inf)


@repaired_masked_self_attention.mistake("almost: rows that see nothing are NaN", reread="Rows that see nothing")
def infinite(x, w_query, w_key, w_value, mask):
    """The future is hidden, and float32 stays float32. What is left: softmax makes NaN of a row in which everything
    is minus infinity, and a product with the mask does not cure it, since NaN times zero is NaN."""
    return published(x, w_query, w_key, w_value, mask, penalty=-np.inf, keep_dtype=True)


@repaired_masked_self_attention.mistake(
    "almost: rows that see nothing share themselves out evenly", reread="Rows that see nothing"
)
def large_without_product(x, w_query, w_key, w_value, mask):
    """With a large finite penalty, a row in which everything is hidden gets even weights, for entries that it must
    not see. Here the product after the softmax would have been of use, after all."""
    return published(x, w_query, w_key, w_value, mask, penalty=-1e20, late_product=False, keep_dtype=True)


@repaired_masked_self_attention.mistake("almost: float32 comes back as float64", reread="From masked scores to weights")
def large_and_promoted(x, w_query, w_key, w_value, mask):
    """What is left is the dtype: `np.where` between two plain numbers makes an array of float64, which promotes the
    scores."""
    return published(x, w_query, w_key, w_value, mask, penalty=-1e20)


@repaired_masked_self_attention.equivalent
def smallest_repair(x, w_query, w_key, w_value, mask):
    return published(x, w_query, w_key, w_value, mask, penalty=-1e20, keep_dtype=True)


@repaired_masked_self_attention.equivalent
def infinity_and_a_rule(x, w_query, w_key, w_value, mask):
    weights = zero_if_empty(infinite(x, w_query, w_key, w_value, mask)[1], mask).astype(x.dtype)
    return weights @ (x @ w_value), weights


@repaired_masked_self_attention.equivalent
def row_by_row_repaired(x, w_query, w_key, w_value, mask):
    weights = masked_row_by_row(scaled_scores(x @ w_query, x @ w_key), mask)
    return np.einsum("...ij,...jv->...iv", weights, x @ w_value), weights


@repaired_masked_self_attention.equivalent
def with_a_new_softmax(x, w_query, w_key, w_value, mask):
    weights = maximum_over_the_allowed(scaled_scores(x @ w_query, x @ w_key), mask)
    return weights @ x @ w_value, weights
