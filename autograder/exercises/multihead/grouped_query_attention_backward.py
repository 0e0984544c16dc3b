import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.multihead.shared import BOTH_ENDS, GROUPS, grouped_heads, tiled, turned
from solutions import multihead as reference
from solutions.backward import attention_backward, softmax_backward

grouped_query_attention_backward = Exercise(
    reference.grouped_query_attention_backward,
    outputs={
        "grad_queries": "... n_heads T_query d_key",
        "grad_keys": "... n_groups T_key d_key",
        "grad_values": "... n_groups T_key d_value",
    },
    order=("grad_values", "grad_queries", "grad_keys"),
    section="Heads that share keys and values",
)
wrong = short_mistakes(grouped_query_attention_backward)


def way_back(draw, **options):
    """Return a random cotangent and the cache that the forward pass left."""
    output, cache = reference.grouped_query_attention(**grouped_heads(draw, **options))
    return {"grad_output": draw.normal(*output.shape, dtype=output.dtype), "cache": cache}


@grouped_query_attention_backward.cases("groups", points=2)
def _(draw):
    for name, options in GROUPS.items():
        yield name, way_back(draw, **options)


@grouped_query_attention_backward.cases("both ends and float32", points=1)
def _(draw):
    for name, options in BOTH_ENDS.items():
        yield name, way_back(draw, **options)


def of_copies(grad_output, cache):
    """Return the gradients of the queries, and of keys and values as if each head had its own."""
    queries, keys, values, weights = cache
    times = queries.shape[-3] // keys.shape[-3]
    copies = (np.repeat(shared, times, axis=-3) for shared in (keys, values))
    return attention_backward(grad_output, (queries, *copies, weights))


def gathered(grad_output, cache, gather=np.sum, turns=False):
    """Return the gradients, with those of the copies of keys and values gathered for each group."""
    return gathered_from(of_copies(grad_output, cache), cache, gather, turns)


def gathered_from(gradients, cache, gather=np.sum, turns=False):
    """Return these gradients, with those of keys and values gathered for each group.

    gather: a function of an array and the axis of a group's heads. turns: whether the heads of a group take turns with
    others.
    """
    n_groups = cache[1].shape[-3]
    grad_queries, *copies = gradients
    shared = []
    for grad in copies:
        *batch, n_heads, length, width = grad.shape
        sizes = (n_heads // n_groups, n_groups) if turns else (n_groups, n_heads // n_groups)
        shared.append(gather(grad.reshape(*batch, *sizes, length, width), axis=-4 if turns else -3))
    return grad_queries, *shared


wrong("averaged", gathered, gather=np.mean)("""
    averages over the heads of a group
    You average the gradients of a group's heads. The keys and values of a group affect the loss through each of its
    heads, and the gradients of all these paths add up. The mean would be right only if the heads were averaged.""")
wrong("not_added_up", of_copies)("""
    does not add up the heads of a group
    grad_keys and grad_values have n_heads heads: they are the gradients of the copies. The keys had n_groups heads, and
    each went to several heads of queries. Add up the gradients of its copies.""")
wrong("last_head_only", gathered, gather=lambda grad, axis: np.take(grad, -1, axis))("""
    keeps the last head's gradient
    Each group has only the gradient of its last head. In a loop over the heads, `=` overwrites the gradient of an
    earlier head, and `+=` adds to it. `grad[..., group, :, :] += ...` with an array of repeated indices overwrites,
    too; `np.add.at` adds.""")
wrong("first_head_only", gathered, gather=lambda grad, axis: np.take(grad, 0, axis))("""
    keeps the first head's gradient
    Each group has only the gradient of its first head. The other heads of the group used the same keys and values. Add
    up what comes back from all of them.""")
wrong("gathered_in_turn", gathered, turns=True)("""
    gathers heads in turn
    You add up heads 0, n_groups, 2 n_groups and so on. The heads of a group are neighbours: if you split the axis of
    the heads in two, the groups come first and the heads of a group second.""")


@grouped_query_attention_backward.mistake("shares the groups in turn, both ways")
def copied_and_gathered_in_turn(grad_output, cache):
    """You copy the keys and values in turn, as `np.tile` does, and gather their gradients in the same way. The weights
    in the cache come from the other order, in which the heads of a group are neighbours: `np.repeat`."""
    queries, keys, values, weights = cache
    times = queries.shape[-3] // keys.shape[-3]
    copies = (queries, tiled(keys, times), tiled(values, times), weights)
    return gathered_from(attention_backward(grad_output, copies), cache, turns=True)


@grouped_query_attention_backward.mistake("gives every group the sum over all heads")
def over_all_heads(grad_output, cache):
    """Each group has the sum over *all* heads, including those of other groups. With one group, that is right. With
    more, a group gathers from its own heads only."""
    grad_queries, *copies = of_copies(grad_output, cache)
    sums = (
        np.broadcast_to(grad.sum(axis=-3, keepdims=True), shared.shape)
        for grad, shared in zip(copies, cache[1:3], strict=True)
    )
    return grad_queries, *sums


@grouped_query_attention_backward.mistake("adds up the queries of a group, too")
def queries_added_up(grad_output, cache):
    """grad_queries has n_groups heads. The queries were not shared: each head has its own, so each keeps its own
    gradient."""
    grad_queries, *copies = of_copies(grad_output, cache)
    return gathered_from((None, grad_queries, *copies), cache)[1:]


@grouped_query_attention_backward.mistake("adds up the keys' gradient only")
def values_not_added_up(grad_output, cache):
    """grad_keys is right, but grad_values has n_heads heads. The values were shared, too. Add up their gradients in the
    same way."""
    gradients = of_copies(grad_output, cache)
    return *gathered_from(gradients, cache)[:2], gradients[2]


@grouped_query_attention_backward.mistake("counts the axes from the front")
def axes_from_the_front(grad_output, cache):
    """You split axis 0 into groups, and add up along it. The heads are axis 0 only while there is no batch. Count from
    the end: they are axis -3."""
    grad_queries, *copies = of_copies(grad_output, cache)
    n_groups = cache[1].shape[-3]
    return grad_queries, *(np.array([part.sum(axis=0) for part in np.array_split(grad, n_groups)]) for grad in copies)


@grouped_query_attention_backward.equivalent
def with_an_axis_for_the_groups(grad_output, cache):
    """Copy nothing: keys and values broadcast, and their gradients add up over the axis that they lack."""
    queries, keys, values, weights = cache
    n_groups = keys.shape[-3]

    def grouped(array):
        *batch, n_heads, rows, columns = array.shape
        return array.reshape(*batch, n_groups, n_heads // n_groups, rows, columns)

    Q, A, G = grouped(queries), grouped(weights), grouped(grad_output)
    scale = 1 / math.sqrt(keys.shape[-1])
    grad_scores = softmax_backward(G @ turned(values)[..., None, :, :], A)
    grad_queries = (grad_scores @ keys[..., None, :, :] * scale).reshape(queries.shape)
    return grad_queries, (turned(grad_scores) @ Q * scale).sum(axis=-3), (turned(A) @ G).sum(axis=-3)


@grouped_query_attention_backward.equivalent
def head_by_head(grad_output, cache):
    queries, keys, values, weights = cache
    n_heads, n_groups = queries.shape[-3], keys.shape[-3]
    gradients = [np.zeros_like(array) for array in (queries, keys, values)]
    for h in range(n_heads):
        group = h * n_groups // n_heads
        at = h, group, group
        own = [array[..., i, :, :] for array, i in zip((queries, keys, values), at, strict=True)]
        parts = attention_backward(grad_output[..., h, :, :], (*own, weights[..., h, :, :]))
        for gradient, i, part in zip(gradients, at, parts, strict=True):
            gradient[..., i, :, :] += part
    return gradients


@grouped_query_attention_backward.equivalent
def with_longer_sentences(grad_output, cache):
    """Stack the rows of a group's heads below each other, as if they were one sentence: one product adds them up."""
    queries, keys, values, weights = cache

    def below(array):
        return array.reshape(*keys.shape[:-2], -1, array.shape[-1])

    grad_queries, grad_keys, grad_values = attention_backward(
        below(grad_output), (below(queries), keys, values, below(weights))
    )
    return grad_queries.reshape(queries.shape), grad_keys, grad_values


@grouped_query_attention_backward.equivalent
def with_add_reduceat(grad_output, cache):
    grad_queries, *copies = of_copies(grad_output, cache)
    n_heads, n_groups = grad_queries.shape[-3], cache[1].shape[-3]
    starts = np.arange(0, n_heads, n_heads // n_groups)
    return grad_queries, *(np.add.reduceat(grad, starts, axis=-3) for grad in copies)
