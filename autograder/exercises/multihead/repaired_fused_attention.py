"""repaired_fused_attention: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.multihead.fused_projection import three_products
from autograder.exercises.multihead.merge_heads import concatenated
from autograder.exercises.multihead.shared import turned
from autograder.exercises.multihead.split_heads import stacked_slices
from solutions import multihead as reference
from solutions.attention import attention, softmax

repaired_fused_attention = Exercise(
    reference.repaired_fused_attention,
    outputs={"output": "... T d_model", "weights": "... n_heads T T"},
    section="Find the bug",
)


def fused_layer(draw, n_batch_axes=0, dtype=np.float64, n_heads=None, d_head=None, biased=True, q_is_k=False):
    """Inputs of the fused layer. One feature hides any slip of the scale, zeros hide the biases, and query weights
    equal to the key weights hide the packing: so each mistake can be tested by itself."""
    T, heads, width, *batch = draw.sizes(3 + n_batch_axes)
    n_heads, d_head = n_heads or heads, d_head or width
    d_model = n_heads * d_head
    w_query, w_key, w_value, w_output = draw.normal(4, d_model, d_model, dtype=dtype) / math.sqrt(d_model)
    b_query, b_key, b_value, b_output = draw.normal(4, d_model, dtype=dtype) * biased
    w_key, b_key = (w_query, b_query) if q_is_k else (w_key, b_key)
    return {
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "w_fused": np.concatenate([w_query, w_key, w_value], axis=1),
        "b_fused": np.concatenate([b_query, b_key, b_value]),
        "w_output": w_output,
        "b_output": b_output,
        "n_heads": n_heads,
    }


@repaired_fused_attention.cases("the packing", points=1)
def _(draw):
    inputs = fused_layer(draw, 1, n_heads=3, biased=False)
    x, w_output = draw.normal(3, 6, inputs["x"].shape[-1]), np.zeros_like(inputs["w_output"])
    # Scores so large that every head looks at one word alone, whatever the scale; and nothing left of the output.
    yield "very sharp heads, no biases, no output", inputs | {"x": 1e5 * x, "w_output": w_output}


@repaired_fused_attention.cases("the biases", points=1)
def _(draw):
    yield "a layer of one feature, keys equal to queries", fused_layer(draw, 1, n_heads=1, d_head=1, q_is_k=True)


@repaired_fused_attention.cases("the scale", points=1)
def _(draw):
    yield "several heads, no biases, keys equal to queries", fused_layer(draw, 1, biased=False, q_is_k=True)


@repaired_fused_attention.cases("all of it together", points=1)
def _(draw):
    yield "one sentence", fused_layer(draw)
    yield "two batch axes", fused_layer(draw, 2)
    yield "float32", fused_layer(draw, 1, dtype=np.float32)


def partly_mended(
    x, w_fused, b_fused, w_output, b_output, n_heads, *,
    swapped=False, unbiased=False, scale="", merge=reference.merge_heads,
):  # fmt: skip
    """The published layer with any of its mistakes left in. scale: a key of `before`, or, right, ""."""
    projected = x @ w_fused if unbiased else x @ w_fused + b_fused
    queries, keys, values = (reference.split_heads(part, n_heads) for part in np.split(projected, 3, axis=-1))
    queries, keys = (keys, queries) if swapped else (queries, keys)
    d_model = w_output.shape[0]
    right = math.sqrt(d_model // n_heads)
    before = {"late": 1, "none": 1, "wide": math.sqrt(d_model), "heads": math.sqrt(n_heads), "up": 1 / right, "": right}
    weights = softmax(queries @ turned(keys) / before[scale])
    output = merge(weights @ values) @ w_output + b_output
    return output / (math.sqrt(d_model) if scale == "late" else 1), weights


@repaired_fused_attention.mistake("nothing is mended yet", reread="Three projections in one")
def as_published(**inputs):
    """All three mistakes are still there. Start where the product is taken apart: in which order do the three thirds
    stand?"""
    return partly_mended(**inputs, swapped=True, unbiased=True, scale="late")


@repaired_fused_attention.mistake("one found: the packing is right; two to go", reread="Three projections in one")
def bias_and_scale_left(**inputs):
    """Queries and keys are in their places. Next: does every argument of the function have an effect?"""
    return partly_mended(**inputs, unbiased=True, scale="late")


@repaired_fused_attention.mistake("one found: the biases are in; two to go", reread="Three projections in one")
def packing_and_scale_left(**inputs):
    """The biases are in. Next: in which order do the three thirds of the product stand?"""
    return partly_mended(**inputs, swapped=True, scale="late")


@repaired_fused_attention.mistake("one found: the scale is right; two to go", reread="Three projections in one")
def packing_and_bias_left(**inputs):
    """The scale is right, in its place and in its size. Next: in which order do the three thirds of the product
    stand?"""
    return partly_mended(**inputs, swapped=True, unbiased=True)


@repaired_fused_attention.mistake(
    "two found; the output is still divided", reread="What one head costs, and how it is scaled"
)
def late_scale_left(**inputs):
    """One is left: a root still divides the output of the layer. It belongs to the scores, before the softmax, and it
    is the root of *one head's* width."""
    return partly_mended(**inputs, scale="late")


@repaired_fused_attention.mistake("two found; the biases are still missing", reread="Three projections in one")
def bias_left(**inputs):
    """One is left: an argument that has no effect. On a fresh layer it is zero, and nobody would notice."""
    return partly_mended(**inputs, unbiased=True)


@repaired_fused_attention.mistake("two found; queries and keys are still exchanged", reread="Three projections in one")
def packing_left(**inputs):
    """One is left: what is called `k` is made by the weights of the queries."""
    return partly_mended(**inputs, swapped=True)


@repaired_fused_attention.mistake(
    "scales the scores by the root of all features; the rest is right",
    reread="What one head costs, and how it is scaled",
)
def wide_scale_left(**inputs):
    """The scale is in its place now, before the softmax. But it is the root of d_model, the width of all heads
    together, and a score adds up one head's products only."""
    return partly_mended(**inputs, scale="wide")


@repaired_fused_attention.mistake(
    "the late division is gone, and nothing has come in its place", reread="What one head costs, and how it is scaled"
)
def scale_dropped(**inputs):
    """The division of the output is gone, and now nothing is divided by a root at all. It belongs on the scores, before
    the softmax, and it is the root of *one head's* width."""
    return partly_mended(**inputs, scale="none")


@repaired_fused_attention.mistake(
    "scales the scores by the root of the number of heads", reread="What one head costs, and how it is scaled"
)
def scale_of_the_heads(**inputs):
    """The scale is in its place now, before the softmax. But it is the root of n_heads, and a score adds up the
    products of one head's features: d_model // n_heads of them."""
    return partly_mended(**inputs, scale="heads")


@repaired_fused_attention.mistake(
    "multiplies the scores by the root", reread="What one head costs, and how it is scaled"
)
def scale_inverted(**inputs):
    """The scale is in its place now, before the softmax, and it is one head's; but the scores are multiplied by the
    root, or divided by d_key ** -0.5, which is the same. Divide by it."""
    return partly_mended(**inputs, scale="up")


@repaired_fused_attention.mistake(
    "scales by the root of all features; the packing is left too", reread="What one head costs, and how it is scaled"
)
def wide_scale_and_packing_left(**inputs):
    """The scale is before the softmax, but takes the root of all features, and not of one head's. And look again at the
    order of the three thirds."""
    return partly_mended(**inputs, scale="wide", swapped=True)


@repaired_fused_attention.mistake(
    "scales by the root of all features; the biases are left too", reread="What one head costs, and how it is scaled"
)
def wide_scale_and_bias_left(**inputs):
    """The scale is before the softmax, but takes the root of all features, and not of one head's. And one argument
    still has no effect."""
    return partly_mended(**inputs, scale="wide", unbiased=True)


@repaired_fused_attention.mistake(
    "scales by the root of all features; nothing else is mended", reread="What one head costs, and how it is scaled"
)
def wide_scale_all_else_left(**inputs):
    """The scale is before the softmax, but takes the root of all features, and not of one head's. Two more are left:
    the order of the three thirds, and an argument without effect."""
    return partly_mended(**inputs, scale="wide", swapped=True, unbiased=True)


@repaired_fused_attention.mistake("returns the average of the weights", reread="One picture for each head")
def averages_the_weights(**inputs):
    """The output is right, and the weights are averaged over the heads, as nn.MultiheadAttention does by default. Here
    each head's own are wanted: (..., n_heads, T, T)."""
    output, weights = partly_mended(**inputs)
    return output, weights.mean(axis=-3)


@repaired_fused_attention.equivalent
def mended_in_place(**inputs):
    return partly_mended(**inputs)


@repaired_fused_attention.equivalent
def mended_by_three_products(x, w_fused, b_fused, w_output, b_output, n_heads):
    heads = [stacked_slices(part, n_heads) for part in three_products(x, w_fused, b_fused)]
    attended, (*_, weights) = attention(*heads)
    return [concatenated(attended) @ w_output + b_output, weights]


@repaired_fused_attention.equivalent
def mended_with_einsum(x, w_fused, b_fused, w_output, b_output, n_heads):
    d_model = x.shape[-1]
    projected = x @ w_fused + b_fused
    parts = projected.reshape(*x.shape[:-1], 3, n_heads, d_model // n_heads)
    q, k, v = (parts[..., i, :, :] for i in range(3))
    scores = np.einsum("...qhd,...khd->...hqk", q, k) * (d_model // n_heads) ** -0.5
    weights = softmax(scores)
    attended = np.einsum("...hqk,...khd->...qhd", weights, v).reshape(x.shape)
    return attended @ w_output + b_output, weights
