import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from autograder.exercises.multihead.shared import (
    PROJECTIONS,
    as_rows,
    concatenated,
    layer,
    small_batch,
    turned,
    view_merge,
)
from autograder.exercises.multihead.split_heads import stacked_slices
from solutions import multihead as reference
from solutions.backward import attention_backward, linear_backward, softmax_backward

multi_head_attention_backward = Exercise(
    reference.multi_head_attention_backward,
    outputs={
        "grad_query": "... T_query d_query",
        "grad_key": "... T_key d_key_in",
        "grad_value": "... T_key d_value_in",
        "grad_params": "",
    },
    order=("grad_params", "grad_value", "grad_query", "grad_key"),
    section="The way back",
)
wrong = short_mistakes(multi_head_attention_backward)
changed = changing(reference.multi_head_attention_backward)


def way_back(draw, batch=(), **options):
    """Return a random cotangent and the cache of the forward pass."""
    output, cache = reference.multi_head_attention(**layer(draw, batch, **options))
    return {"grad_output": draw.normal(*output.shape, dtype=output.dtype), "cache": cache}


@multi_head_attention_backward.cases("the idea", points=3)
def _(draw):
    yield "one sentence asks another", way_back(draw)
    yield "all widths agree, and all lengths", way_back(draw, square=6, n_heads=3, T_query=4, T_key=4)


@multi_head_attention_backward.cases("batches", points=2)
def _(draw):
    yield "one batch axis", way_back(draw, small_batch(draw, 1, avoid=3), n_heads=3)
    yield "two batch axes", way_back(draw, small_batch(draw, 2, avoid=2), n_heads=2)
    yield "a batch, all widths and lengths agree", way_back(draw, (2,), square=6, n_heads=3, T_query=4, T_key=4)


@multi_head_attention_backward.cases("masks", points=1)
def _(draw):
    yield "a mask for each sentence", way_back(draw, small_batch(draw, 1, avoid=3), n_heads=3, mask="each")


@multi_head_attention_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", way_back(draw, small_batch(draw, 1, avoid=2), n_heads=2, dtype=np.float32)
    yield "a single head", way_back(draw, (2,), n_heads=1)
    yield "one feature for each head", way_back(draw, (2,), n_heads=3, d_key=1, d_value=1)


def back(
    grad_output, cache, *,
    split=reference.split_heads, merge=reference.merge_heads, through=attention_backward, linear_back=linear_backward,
):  # fmt: skip
    """Run the backward pass with one of its parts replaced."""
    *projections, attention_cache, output_cache = cache
    grads = {}
    grad_merged, grads["w_output"], grads["b_output"] = linear_back(grad_output, output_cache)
    grad_heads = through(split(grad_merged, attention_cache[0].shape[-3]), attention_cache)
    grad_inputs = []
    for name, grad, projection in zip(PROJECTIONS, grad_heads, projections, strict=True):
        grad_input, grads[f"w_{name}"], grads[f"b_{name}"] = linear_back(merge(grad), projection)
        grad_inputs.append(grad_input)
    return *grad_inputs, grads


def instead(grad_output, cache, **others):
    """Return the right gradients, with those of some parameters replaced by those of others."""
    *grad_inputs, grads = reference.multi_head_attention_backward(grad_output, cache)
    return *grad_inputs, grads | {name: grads[other] for name, other in others.items()}


def through_scores(jacobian=softmax_backward, d_scale=None, keys_from=None):
    """Run `attention_backward` with one of its parts replaced."""

    def through(grad_output, cache):
        queries, keys, values, weights = cache
        scale = 1 / math.sqrt(d_scale(keys, values) if d_scale else keys.shape[-1])
        grad_scores = jacobian(grad_output @ turned(values), weights) * scale
        grad_keys = keys_from(grad_scores, cache) if keys_from else turned(grad_scores) @ queries
        return grad_scores @ keys, grad_keys, turned(weights) @ grad_output

    return through


@multi_head_attention_backward.mistake("takes w_output's gradient from the layer's input")
def w_output_from_the_input(grad_output, cache):
    """A weight's gradient needs the array that *this weight* multiplied: x^T dC for C = xW. w_output multiplied the
    merged heads, not the query."""
    *grad_inputs, grads = reference.multi_head_attention_backward(grad_output, cache)
    return *grad_inputs, grads | {"w_output": as_rows(cache[0][0]).T @ as_rows(grad_output)}


wrong("back_merge_is_a_view", back, merge=view_merge)("""
    merges the gradients without moving an axis
    You reshape the gradients of queries, keys and values straight back, so a row contains several positions of one
    head. Undo the split step by step: call `merge_heads`.""")
wrong("heads_averaged", back, through=lambda g, c: [x / c[0].shape[-3] for x in attention_backward(g, c)])("""
    averages the heads' gradients
    You divide what comes back through the heads by their number. Each head has parameters of its own, which get the
    whole gradient.""")


@multi_head_attention_backward.mistake("uses head 0's weights for all heads", reread="The way back")
def first_weights_for_all(grad_output, cache):
    """You use the attention weights of head 0 for every head's gradient. With h copies of one head this passes every
    check, but here the heads differ."""
    *roles, weights = cache[3]
    first = np.broadcast_to(weights[..., :1, :, :], weights.shape)
    return back(grad_output, (*cache[:3], (*roles, first), cache[4]))


wrong("heads_in_reverse", back, split=lambda x, n: reference.split_heads(x, n)[..., ::-1, :, :])("""
    goes through the heads in reverse -> The way back
    The last head gets the gradient that belongs to the first. Going *back* through the layer does not reverse the order
    of the heads: they are side by side.""")
wrong(
    "keys_from_values", back, through=through_scores(keys_from=lambda s, c: np.einsum("...qk,...kd->...kd", s, c[2]))
)("""
    makes the keys' gradient from the values
    Your gradient of the keys is dS^T V instead of dS^T Q. A score is a product of a query and a key, so the key's
    gradient contains the *query*.""")
wrong("scores_not_turned", back, through=through_scores(keys_from=lambda s, c: s @ c[0]))("""
    does not transpose the scores' gradient for the keys
    `grad_scores @ queries` fits only with as many queries as keys, and is wrong even then. A key's gradient gathers
    down its *column* of the scores: dS^T Q.""")
wrong(
    "back_scaled_by_d_model", back, through=through_scores(d_scale=lambda keys, values: keys.shape[-1] * keys.shape[-3])
)("""
    scales by the root of all features -> What one head costs, and how it is scaled
    You divide the gradients of queries and keys by the root of all heads' features together, but the forward pass
    divided by the root of one head's width, d_key.""")
wrong("back_scaled_by_n_heads", back, through=through_scores(d_scale=lambda keys, values: keys.shape[-3]))("""
    scales by the number of heads -> What one head costs, and how it is scaled
    You divide the gradients of queries and keys by the root of n_heads, but the forward pass divided by the root of one
    head's width, d_key.""")
wrong("query_and_key_exchanged", changed, change=lambda query, key, *others: (key, query, *others))("""
    exchanges the gradients of query and key
    Your first gradient is that of `key`, your second that of `query`. If both have the same shape, there is no error.
    Return the gradients in the order of the forward pass's arguments: query, key, value, params.""")
wrong(
    "heads_queries_and_keys_exchanged", back, through=lambda g, c: [attention_backward(g, c)[i] for i in (1, 0, 2)]
)("""
    takes the queries' gradient for the keys', and the other way round
    After the attention's backward pass you swap the gradients of queries and keys, so each goes through the other's
    projection and into its weight, bias and input. With as many queries as keys the shapes agree. `attention_backward`
    returns the gradients of queries, keys and values, in this order.""")
wrong("query_bias_twice", instead, b_key="b_query")("""
    gives b_key the gradient of b_query -> Why the key bias has no gradient
    Instead of b_key's gradient, you return that of b_query a second time. The gradient of b_key is zero, up to
    rounding: b_key shifts all scores of a row alike, and softmax ignores a shift.""")
wrong("key_bias_twice", instead, b_query="b_key")("""
    gives b_query the gradient of b_key -> Why the key bias has no gradient
    Instead of b_query's gradient, you return that of b_key, which is zero up to rounding. b_query does change the
    weights, because it adds a different number to the score of each key.""")
wrong("inputs_added_up", changed, change=lambda query, key, value, grads: (*[query + key + value] * 3, grads))("""
    adds the three inputs' gradients up
    You add up the gradients of query, key and value. That is right for self-attention, where the three are one array,
    but only the caller knows that. This layer has three inputs and returns three gradients.""")


@multi_head_attention_backward.mistake("takes the cotangent for ones", reread="The way back")
def ones_for_the_cotangent(grad_output, cache):
    """Your gradients are those of the plain sum of the outputs. grad_output tells you how the loss depends on each
    output."""
    return reference.multi_head_attention_backward(np.ones_like(grad_output), cache)


@multi_head_attention_backward.equivalent
def back_with_the_key_bias_set_to_zero(grad_output, cache):
    *grad_inputs, grads = back(grad_output, cache)
    return *grad_inputs, grads | {"b_key": np.zeros_like(grads["b_key"])}


@multi_head_attention_backward.equivalent
def back_head_by_head(grad_output, cache):
    def each_head(grad_heads, attention_cache):
        each = [
            attention_backward(grad_heads[..., h, :, :], [array[..., h, :, :] for array in attention_cache])
            for h in range(grad_heads.shape[-3])
        ]
        return [np.stack(role, axis=-3) for role in zip(*each, strict=True)]

    return back(grad_output, cache, through=each_head, merge=concatenated, split=stacked_slices)


@multi_head_attention_backward.equivalent
def back_through_the_jacobian(grad_output, cache):
    def jacobian_product(grad, weights):
        jacobian = np.eye(weights.shape[-1], dtype=weights.dtype) * weights[..., np.newaxis, :]
        jacobian = jacobian - weights[..., :, np.newaxis] * weights[..., np.newaxis, :]
        return np.einsum("...j,...ij->...i", grad, jacobian)

    return back(grad_output, cache, through=through_scores(jacobian_product))


@multi_head_attention_backward.equivalent
def back_by_einsum(grad_output, cache):
    def einsum_back(grad, linear_cache):
        x, weight = linear_cache
        grad_weight = np.einsum("ni,no->io", as_rows(x), as_rows(grad))
        return np.einsum("...o,io->...i", grad, weight), grad_weight, np.einsum("no->o", as_rows(grad))

    return list(back(grad_output, cache, linear_back=einsum_back))
