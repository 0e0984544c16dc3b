import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.multihead.shared import BOTH_ENDS, GROUPS, grouped_heads, tiled, turned
from solutions import multihead as reference
from solutions.attention import attention, softmax

grouped_query_attention = Exercise(
    reference.grouped_query_attention,
    outputs={"output": "... n_heads T_query d_value", "cache": UNJUDGED},
    section="Heads that share keys and values",
)
wrong = short_mistakes(grouped_query_attention)


@grouped_query_attention.cases("groups", points=2)
def _(draw):
    for name, options in GROUPS.items():
        yield name, grouped_heads(draw, **options)


@grouped_query_attention.cases("both ends and float32", points=1)
def _(draw):
    for name, options in BOTH_ENDS.items():
        yield name, grouped_heads(draw, **options)


def attended(queries, keys, values):
    """Return the output of `attention` without its cache."""
    return attention(queries, keys, values)[0], None


def sharing(queries, keys):
    return queries.shape[-3] // keys.shape[-3]


def shared(queries, keys, values, *, share_keys, share_values=None):
    """Run the attention with keys and values shared in another way.

    share_keys, share_values: functions of an array and the number of heads in a group; by default the same function.
    """
    times = sharing(queries, keys)
    return attended(queries, share_keys(keys, times), (share_values or share_keys)(values, times))


wrong("dealt_in_turn", shared, share_keys=tiled)("""
    deals the groups out in turn
    Head 0 uses group 0, head 1 uses group 1, and so on in turn. `np.tile` does that, and so does `h % n_groups`. The
    heads of a group are neighbours. With two groups of three, heads 0, 1 and 2 share the first keys and values: use
    `np.repeat` along the heads.""")
wrong("first_group_for_all", shared, share_keys=lambda array, times: array[..., :1, :, :])("""
    gives every head the first group
    All heads use the keys and values of group 0. That is right with one group, in multi-query attention. With more
    groups, each group has its own heads.""")
wrong("groups_averaged", shared, share_keys=lambda array, times: array.mean(axis=-3, keepdims=True))("""
    averages keys and values over the groups
    Every head gets the mean of all groups' keys and the mean of all groups' values, so the groups no longer differ.
    Each head uses the keys and values of its own group, unchanged.""")


@grouped_query_attention.mistake("averages the queries of a group")
def queries_averaged(queries, keys, values):
    """Your output has one head for each group: you averaged the queries of a group. The heads of a group share keys and
    values, but each of them still asks its own question."""
    *batch, n_heads, length, d_key = queries.shape
    grouped = queries.reshape(*batch, keys.shape[-3], n_heads // keys.shape[-3], length, d_key)
    return attended(grouped.mean(axis=-3), keys, values)


def regrouped(queries, keys, values, *, then):
    """Apply a function to the output, in which the heads of each group have an axis of their own."""
    output, _ = reference.grouped_query_attention(queries, keys, values)
    *batch, n_heads, length, d_value = output.shape
    return then(output.reshape(*batch, keys.shape[-3], sharing(queries, keys), length, d_value)), None


wrong("answers_averaged", regrouped, then=lambda groups: groups.mean(axis=-3))("""
    averages the answers of a group
    Your output has one head for each group: you averaged the outputs of its heads. Heads share keys and values to save
    memory, but each of the n_heads heads has its own output.""")
wrong(
    "values_in_turn", shared, share_keys=lambda array, times: np.repeat(array, times, axis=-3), share_values=tiled
)("""
    shares the keys only
    You share the keys among neighbouring heads, but the values in turn. A head then weighs the words by one group's
    keys and takes another group's values. Keys and values go together.""")
wrong("groups_left", regrouped, then=lambda groups: groups)("""
    leaves the groups as an axis
    Your output has an axis for the groups and one for the heads of a group. Merge the two into one axis of length
    n_heads, in front of the positions.""")


@grouped_query_attention.mistake("counts the axes from the front")
def axes_from_the_front(queries, keys, values):
    """You copy keys and values along axis 0. The heads are axis 0 only while there is no batch. Count from the end:
    they are axis -3."""
    times = queries.shape[0] // keys.shape[0]
    return attended(queries, np.repeat(keys, times, axis=0), np.repeat(values, times, axis=0))


@grouped_query_attention.mistake("scales by the width of the whole group")
def scaled_by_the_group(queries, keys, values):
    """You divide the scores by the root of d_key times the number of heads in a group. Each score is a product of *one*
    head's query with a key, so it adds up d_key numbers."""
    narrowed = queries / np.sqrt(sharing(queries, keys)).astype(queries.dtype)
    return reference.grouped_query_attention(narrowed, keys, values)


@grouped_query_attention.mistake("takes one softmax over the keys of all heads")
def one_softmax_for_all_heads(queries, keys, values):
    """The weights of a query add up to one over all heads together, so the heads compete. Each row of *each* head must
    add up to one: take the softmax along the last axis only."""
    keys, values = (np.repeat(shared, sharing(queries, keys), axis=-3) for shared in (keys, values))
    scores = (queries @ turned(keys) / math.sqrt(keys.shape[-1])).swapaxes(-3, -2)
    weights = softmax(scores.reshape(*scores.shape[:-2], -1)).reshape(scores.shape).swapaxes(-3, -2)
    return weights @ values, None


@grouped_query_attention.equivalent
def with_an_axis_for_the_groups(queries, keys, values):
    """Copy nothing: make the heads of a group an axis, along which keys and values broadcast."""
    *batch, n_heads, length, d_key = queries.shape
    n_groups = keys.shape[-3]
    grouped = queries.reshape(*batch, n_groups, n_heads // n_groups, length, d_key)
    output, _ = attention(grouped, keys[..., None, :, :], values[..., None, :, :])
    return output.reshape(*batch, n_heads, length, -1), None


@grouped_query_attention.equivalent
def with_longer_sentences(queries, keys, values):
    """Stack the queries of a group's heads below each other, as if they were one sentence."""
    *batch, n_heads, length, d_key = queries.shape
    output, _ = attention(queries.reshape(*batch, keys.shape[-3], -1, d_key), keys, values)
    return output.reshape(*batch, n_heads, length, -1), None


@grouped_query_attention.equivalent
def head_by_head(queries, keys, values):
    times = sharing(queries, keys)
    heads = [
        attention(queries[..., h, :, :], keys[..., h // times, :, :], values[..., h // times, :, :])[0]
        for h in range(queries.shape[-3])
    ]
    return np.stack(heads, axis=-3), None


@grouped_query_attention.equivalent
def by_an_index(queries, keys, values):
    group = np.arange(queries.shape[-3]) // sharing(queries, keys)
    scores = queries @ turned(keys[..., group, :, :]) / math.sqrt(queries.shape[-1])
    return softmax(scores) @ values[..., group, :, :], {}
