"""grouped_query_attention: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.multihead.shared import BOTH_ENDS, GROUPS, grouped_heads, tiled, turned
from solutions import multihead as reference
from solutions.attention import attention, softmax

grouped_query_attention = Exercise(
    reference.grouped_query_attention,
    outputs={"output": "... n_heads T_query d_value", "cache": UNJUDGED},
    section="Heads that share keys and values",
)


@grouped_query_attention.cases("groups", points=2)
def _(draw):
    for name, options in GROUPS.items():
        yield name, grouped_heads(draw, **options)


@grouped_query_attention.cases("both ends and float32", points=1)
def _(draw):
    for name, options in BOTH_ENDS.items():
        yield name, grouped_heads(draw, **options)


def attended(queries, keys, values):
    """Return the output of `attention`, and no cache."""
    return attention(queries, keys, values)[0], None


def sharing(queries, keys):
    return queries.shape[-3] // keys.shape[-3]


@grouped_query_attention.mistake("deals the groups out in turn")
def dealt_in_turn(queries, keys, values):
    """Head 0 uses group 0, head 1 uses group 1, and so on in turn: `np.tile` does that, and so does `h % n_groups`. The
    heads of a group are neighbours. With two groups of three, heads 0, 1 and 2 share the first keys and values:
    `np.repeat` along the heads."""
    times = sharing(queries, keys)
    return attended(queries, tiled(keys, times), tiled(values, times))


@grouped_query_attention.mistake("gives every head the first group")
def first_group_for_all(queries, keys, values):
    """All heads use the keys and values of group 0. That is right with one group, in multi-query attention. With more
    groups, each group has its own heads."""
    return attended(queries, keys[..., :1, :, :], values[..., :1, :, :])


@grouped_query_attention.mistake("averages keys and values over the groups")
def groups_averaged(queries, keys, values):
    """Every head gets the mean of all groups' keys and of all groups' values. So only one group is left, however many
    there were. Each head uses the keys and values of its own group, unchanged."""
    return attended(queries, keys.mean(axis=-3, keepdims=True), values.mean(axis=-3, keepdims=True))


@grouped_query_attention.mistake("averages the queries of a group")
def queries_averaged(queries, keys, values):
    """Your output has one head for each group: you averaged the queries of a group. The heads of a group share keys and
    values, but each of them still asks its own question."""
    *batch, n_heads, length, d_key = queries.shape
    grouped = queries.reshape(*batch, keys.shape[-3], n_heads // keys.shape[-3], length, d_key)
    return attended(grouped.mean(axis=-3), keys, values)


@grouped_query_attention.mistake("averages the answers of a group")
def answers_averaged(queries, keys, values):
    """Your output has one head for each group: you averaged the outputs of its heads. Heads share keys and values to
    save memory, but each of the n_heads heads has its own output."""
    output, _ = reference.grouped_query_attention(queries, keys, values)
    *batch, n_heads, length, d_value = output.shape
    n_groups = keys.shape[-3]
    return output.reshape(*batch, n_groups, n_heads // n_groups, length, d_value).mean(axis=-3), None


@grouped_query_attention.mistake("shares the keys only")
def values_in_turn(queries, keys, values):
    """You share the keys among neighbouring heads, but the values in turn. A head then weighs the words by one group's
    keys and takes another group's values. Keys and values go together."""
    times = sharing(queries, keys)
    return attended(queries, np.repeat(keys, times, axis=-3), tiled(values, times))


@grouped_query_attention.mistake("leaves the groups as an axis")
def groups_left(queries, keys, values):
    """Your output has an axis for the groups and one for the heads of a group. Fold the two into one axis of n_heads,
    in front of the positions."""
    output, _ = reference.grouped_query_attention(queries, keys, values)
    *batch, n_heads, length, d_value = output.shape
    return output.reshape(*batch, keys.shape[-3], n_heads // keys.shape[-3], length, d_value), None


@grouped_query_attention.mistake("counts the axes from the front")
def axes_from_the_front(queries, keys, values):
    """You copy keys and values along axis 0. The heads are axis 0 only while there is no batch. Count from the end:
    they are axis -3."""
    times = queries.shape[0] // keys.shape[0]
    return attended(queries, np.repeat(keys, times, axis=0), np.repeat(values, times, axis=0))


@grouped_query_attention.mistake("forgets the scale")
def scale_forgotten(queries, keys, values):
    """The scores are not divided by the root of d_key. Sharing keys and values changes nothing inside a head, so divide
    as `attention` does."""
    louder = queries * np.sqrt(keys.shape[-1]).astype(queries.dtype)
    return reference.grouped_query_attention(louder, keys, values)


@grouped_query_attention.mistake("scales by the width of the whole group")
def scaled_by_the_group(queries, keys, values):
    """You divide the scores by the root of d_key times the number of heads in a group. Each score is a product of *one*
    head's query with a key, so it adds up d_key numbers."""
    narrowed = queries / np.sqrt(sharing(queries, keys)).astype(queries.dtype)
    return reference.grouped_query_attention(narrowed, keys, values)


@grouped_query_attention.equivalent
def with_an_axis_for_the_groups(queries, keys, values):
    """Copies nothing: the heads of a group are an axis, along which keys and values broadcast."""
    *batch, n_heads, length, d_key = queries.shape
    n_groups = keys.shape[-3]
    grouped = queries.reshape(*batch, n_groups, n_heads // n_groups, length, d_key)
    output, _ = attention(grouped, keys[..., None, :, :], values[..., None, :, :])
    return output.reshape(*batch, n_heads, length, -1), None


@grouped_query_attention.equivalent
def with_longer_sentences(queries, keys, values):
    """The queries of a group's heads stand below each other, as if they were one sentence."""
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
