"""multi_head_attention_backward: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.multihead.shared import (
    PROJECTIONS,
    as_rows,
    concatenated,
    layer,
    small_batch,
    turned,
    view_merge,
    view_split,
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
    uses=("split_heads",),
)


def way_back(draw, batch=(), **options):
    """A random cotangent and the cache that the forward pass left."""
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
    """The backward pass, with one of its parts replaced."""
    *projections, attention_cache, output_cache = cache
    grads = {}
    grad_merged, grads["w_output"], grads["b_output"] = linear_back(grad_output, output_cache)
    grad_heads = through(split(grad_merged, attention_cache[0].shape[-3]), attention_cache)
    grad_inputs = []
    for name, grad, projection in zip(PROJECTIONS, grad_heads, projections, strict=True):
        grad_input, grads[f"w_{name}"], grads[f"b_{name}"] = linear_back(merge(grad), projection)
        grad_inputs.append(grad_input)
    return *grad_inputs, grads


def instead(grad_output, cache, **wrong):
    """The right gradients, some parameters' replaced."""
    *grad_inputs, grads = reference.multi_head_attention_backward(grad_output, cache)
    return *grad_inputs, grads | wrong


def through_scores(jacobian=softmax_backward, d_scale=None, keys_from=None):
    """`attention_backward` with one of its parts replaced."""

    def through(grad_output, cache):
        queries, keys, values, weights = cache
        scale = 1 / math.sqrt(d_scale(keys, values) if d_scale else keys.shape[-1])
        grad_scores = jacobian(grad_output @ turned(values), weights) * scale
        grad_keys = keys_from(grad_scores, cache) if keys_from else turned(grad_scores) @ queries
        return grad_scores @ keys, grad_keys, turned(weights) @ grad_output

    return through


def through_unscaled(role):
    """`attention_backward` without the scale on one of its gradients: 0 for the queries', 1 for the keys'."""

    def through(grad_output, cache):
        grads = list(attention_backward(grad_output, cache))
        grads[role] = grads[role] * math.sqrt(cache[1].shape[-1])
        return grads

    return through


@multi_head_attention_backward.mistake("takes w_output's gradient from the layer's input")
def w_output_from_the_input(grad_output, cache):
    """A weight's gradient needs the array that *this weight* multiplied: x^T dC for C = xW. w_output multiplied the
    merged heads, not the query."""
    return instead(grad_output, cache, w_output=as_rows(cache[0][0]).T @ as_rows(grad_output))


@multi_head_attention_backward.mistake("splits the gradient without moving an axis")
def back_split_is_a_view(grad_output, cache):
    """The gradient of the merged heads is reshaped straight to (..., n_heads, T, d_head): the right shape, but with the
    gradients of other positions in it. Undo the merge step by step, including its swap of axes: call `split_heads`."""
    return back(grad_output, cache, split=view_split)


@multi_head_attention_backward.mistake("merges the gradients without moving an axis")
def back_merge_is_a_view(grad_output, cache):
    """The gradients of queries, keys and values are reshaped straight back, so a row contains several positions of one
    head. Undo the split step by step: call `merge_heads`."""
    return back(grad_output, cache, merge=view_merge)


@multi_head_attention_backward.mistake("averages the heads' gradients")
def heads_averaged(grad_output, cache):
    """You divide what comes back through the heads by their number. Each head has parameters of its own, which get the
    whole gradient."""
    n_heads = cache[3][0].shape[-3]
    return back(grad_output, cache, through=lambda g, c: [x / n_heads for x in attention_backward(g, c)])


@multi_head_attention_backward.mistake("uses head 0's weights for all heads", reread="Copies of one head see nothing")
def first_weights_for_all(grad_output, cache):
    """You use the attention weights of head 0 for every head's gradient. With h copies of one head this passes every
    check, but here the heads differ."""
    *roles, weights = cache[3]
    first = np.broadcast_to(weights[..., :1, :, :], weights.shape)
    return back(grad_output, (*cache[:3], (*roles, first), cache[4]))


@multi_head_attention_backward.mistake("goes through the heads in reverse", reread="Copies of one head see nothing")
def heads_in_reverse(grad_output, cache):
    """The last head gets the gradient that belongs to the first. Going *back* through the layer does not reverse the
    order of the heads: they are side by side."""
    return back(grad_output, cache, split=lambda x, n: reference.split_heads(x, n)[..., ::-1, :, :])


@multi_head_attention_backward.mistake("treats the softmax Jacobian as diagonal")
def diagonal_jacobian(grad_output, cache):
    """You multiply by s(1 - s). Softmax mixes a whole row: each score moves every weight of its row, so subtract the
    row's weighted average: s * (g - sum(g * s))."""
    return back(grad_output, cache, through=through_scores(lambda g, s: g * s * (1 - s)))


@multi_head_attention_backward.mistake("makes the keys' gradient from the values")
def keys_from_values(grad_output, cache):
    """Your gradient of the keys is dS^T V, where dS^T Q belongs: a score is a product of a query and a key, so the
    key's gradient is multiplied by the *query*."""
    from_values = through_scores(keys_from=lambda s, c: np.einsum("...qk,...kd->...kd", s, c[2]))
    return back(grad_output, cache, through=from_values)


@multi_head_attention_backward.mistake("does not transpose the scores' gradient for the keys")
def scores_not_turned(grad_output, cache):
    """`grad_scores @ queries` fits only with as many queries as keys, and is wrong even then. A key's gradient gathers
    down its *column* of the scores: dS^T Q."""
    return back(grad_output, cache, through=through_scores(keys_from=lambda s, c: s @ c[0]))


@multi_head_attention_backward.mistake("forgets the scale")
def scale_forgotten(grad_output, cache):
    """The forward pass divided the scores by the root of d_key, so the gradients of queries and keys have the same
    factor. Yours are too large by that root."""
    return back(grad_output, cache, through=through_scores(d_scale=lambda keys, values: 1))


@multi_head_attention_backward.mistake(
    "scales by the root of all features", reread="What one head costs, and how it is scaled"
)
def back_scaled_by_d_model(grad_output, cache):
    """The gradients of queries and keys are divided by the root of all heads' features together; the forward pass
    divided by the root of one head's width, d_key."""
    together = through_scores(d_scale=lambda keys, values: keys.shape[-1] * keys.shape[-3])
    return back(grad_output, cache, through=together)


@multi_head_attention_backward.mistake(
    "scales by the number of heads", reread="What one head costs, and how it is scaled"
)
def back_scaled_by_n_heads(grad_output, cache):
    """The gradients of queries and keys are divided by the root of n_heads; the forward pass divided by the root of one
    head's width, d_key."""
    return back(grad_output, cache, through=through_scores(d_scale=lambda keys, values: keys.shape[-3]))


@multi_head_attention_backward.mistake(
    "takes the scale from the gradient that arrives", reread="What one head costs, and how it is scaled"
)
def back_scaled_by_d_value(grad_output, cache):
    """The gradients of queries and keys are divided by the root of d_value, the width in which a head's gradient
    arrives; the forward pass divided by the root of d_key."""
    return back(grad_output, cache, through=through_scores(d_scale=lambda keys, values: values.shape[-1]))


@multi_head_attention_backward.mistake("scales the queries' gradient only")
def back_keys_unscaled(grad_output, cache):
    """The queries' gradient has the factor 1 / sqrt(d_key), but the keys' gradient does not. The factor belongs to the
    scores, and both got their gradient through them."""
    return back(grad_output, cache, through=through_unscaled(1))


@multi_head_attention_backward.mistake("scales the keys' gradient only")
def back_queries_unscaled(grad_output, cache):
    """The keys' gradient has the factor 1 / sqrt(d_key), but the queries' gradient does not. The factor belongs to the
    scores, and both got their gradient through them."""
    return back(grad_output, cache, through=through_unscaled(0))


@multi_head_attention_backward.mistake("gives softmax_backward its arguments in the wrong order")
def softmax_arguments_exchanged(grad_output, cache):
    """You pass the weights where their gradient belongs, and the gradient where the weights belong. Both have the same
    shape, so there is no error. It is softmax_backward(grad_weights, weights)."""
    return back(grad_output, cache, through=through_scores(lambda g, weights: softmax_backward(weights, g)))


@multi_head_attention_backward.mistake("exchanges the gradients of query and key")
def query_and_key_exchanged(grad_output, cache):
    """The first gradient is that of `key`, the second that of `query`. If both have the same shape, there is no error.
    Return query, key, value, params, the order of the forward's arguments."""
    grad_query, grad_key, *others = reference.multi_head_attention_backward(grad_output, cache)
    return grad_key, grad_query, *others


@multi_head_attention_backward.mistake("takes the queries' gradient for the keys', and the other way round")
def heads_queries_and_keys_exchanged(grad_output, cache):
    """After the attention's backward pass you swap the gradients of queries and keys, so each goes on through the
    other's projection, into its weight, its bias and its input. With as many queries as keys the shapes agree.
    `attention_backward` returns queries, keys, values."""

    def exchanged(grad, attention_cache):
        grad_queries, grad_keys, grad_values = attention_backward(grad, attention_cache)
        return grad_keys, grad_queries, grad_values

    return back(grad_output, cache, through=exchanged)


@multi_head_attention_backward.mistake("gives b_key the gradient of b_query", reread="Why the key bias has no gradient")
def query_bias_twice(grad_output, cache):
    """In place of b_key's gradient you return that of b_query a second time. The gradient of b_key is zero, up to
    rounding: b_key shifts all scores of a row alike, and softmax ignores a shift."""
    *_, grads = reference.multi_head_attention_backward(grad_output, cache)
    return instead(grad_output, cache, b_key=grads["b_query"])


@multi_head_attention_backward.mistake("gives b_query the gradient of b_key", reread="Why the key bias has no gradient")
def key_bias_twice(grad_output, cache):
    """In place of b_query's gradient you return that of b_key, which is zero, up to rounding. b_query does change the
    weights, because it adds a different number to the score of each key."""
    *_, grads = reference.multi_head_attention_backward(grad_output, cache)
    return instead(grad_output, cache, b_query=grads["b_key"])


@multi_head_attention_backward.mistake("averages the biases' gradients over the rows")
def biases_averaged(grad_output, cache):
    """The weights' gradients are right, but those of the biases are *means* over the rows. A bias was added to every
    row, so its gradients from all rows add up: take the sum, not the mean."""

    def mean_for_the_bias(grad, linear_cache):
        return *linear_backward(grad, linear_cache)[:2], as_rows(grad).mean(axis=0)

    return back(grad_output, cache, linear_back=mean_for_the_bias)


@multi_head_attention_backward.mistake("averages over the batch")
def batch_averaged(grad_output, cache):
    """The parameters' gradients are divided by the size of the first axis. Every sentence used the same weights, and
    where paths meet their gradients *add*. A mean belongs in the loss, and is already inside grad_output."""
    n = grad_output.shape[0] if grad_output.ndim > 2 else 1
    *grad_inputs, grads = reference.multi_head_attention_backward(grad_output, cache)
    return *grad_inputs, {name: grad / n for name, grad in grads.items()}


@multi_head_attention_backward.mistake("keeps only the last sentence's share")
def last_sentence_only(grad_output, cache):
    """The parameters' gradients contain the share of the last sentence alone, as from a loop that assigns (`=`) where
    it should add (`+=`)."""

    def last_only(grad, linear_cache):
        grad_x, *right = linear_backward(grad, linear_cache)
        if grad.ndim > 2:
            right = linear_backward(grad[-1], (linear_cache[0][-1], linear_cache[1]))[1:]
        return grad_x, *right

    return back(grad_output, cache, linear_back=last_only)


@multi_head_attention_backward.mistake("adds the biases' gradients up over one axis")
def biases_over_one_axis(grad_output, cache):
    """`sum(axis=0)` is the whole sum only while there is no batch. A bias was added to every position of every
    sentence, so its gradient is the sum over *all* leading axes."""

    def one_axis(grad, linear_cache):
        return *linear_backward(grad, linear_cache)[:2], grad.sum(axis=0)

    return back(grad_output, cache, linear_back=one_axis)


@multi_head_attention_backward.mistake("adds the biases' gradients up over the positions only")
def biases_over_positions(grad_output, cache):
    """`sum(axis=-2)` adds up the positions of each sentence, and leaves one gradient for each sentence. One bias serves
    all sentences, so its gradient is the sum over *all* leading axes."""

    def positions_only(grad, linear_cache):
        return *linear_backward(grad, linear_cache)[:2], grad.sum(axis=-2)

    return back(grad_output, cache, linear_back=positions_only)


@multi_head_attention_backward.mistake(
    "returns the weights' gradients in PyTorch's layout", reread="Parity with PyTorch"
)
def pytorch_layout(grad_output, cache):
    """Your gradients of the weights are transposed: (out, in), as nn.Linear keeps them. A gradient has the shape of its
    array, and ours are (in, out)."""
    *grad_inputs, grads = reference.multi_head_attention_backward(grad_output, cache)
    return *grad_inputs, {name: grad.T for name, grad in grads.items()}


@multi_head_attention_backward.mistake("adds the three inputs' gradients up")
def inputs_added_up(grad_output, cache):
    """You add up the gradients of query, key and value. That is right for self-attention, where the three are one
    array, but only the caller knows that. This layer has three inputs and returns three gradients."""
    *grad_inputs, grads = reference.multi_head_attention_backward(grad_output, cache)
    total = sum(grad_inputs[1:], grad_inputs[0])
    return total, total, total, grads


@multi_head_attention_backward.mistake("takes the cotangent for ones", reread="Copies of one head see nothing")
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
