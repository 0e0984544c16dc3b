"""attention_weights: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.attention.shared import roles, scores_of, unequal, without
from autograder.exercises.attention.softmax import over_axis_one, overflowing, row_by_row, through_log_sum_exp
from solutions import attention as reference

attention_weights = Exercise(
    reference.attention_weights,
    outputs={"weights": "... T_query T_key"},
    section="Why divide by the square root of the key width",
    uses=("softmax",),
)


def searchers(draw, n_batch_axes=0, dtype=np.float64):
    """Queries and keys alone."""
    inputs = roles(draw, n_batch_axes, dtype)
    return {"queries": inputs["queries"], "keys": inputs["keys"]}


@attention_weights.cases("the idea", points=2)
def _(draw):
    yield "one sentence", searchers(draw)
    yield "as many queries as keys", {"queries": draw.normal(4, 3), "keys": draw.normal(4, 3)}


@attention_weights.cases("batches", points=1)
def _(draw):
    yield "one batch axis", searchers(draw, 1)
    yield "two batch axes", searchers(draw, 2)
    inputs = searchers(draw, 1)
    yield "queries shared by the batch", inputs | {"queries": inputs["queries"][0]}


@attention_weights.cases("stability and float32", points=1)
def _(draw):
    inputs = searchers(draw, 1)
    yield "scores in the thousands", {name: 100 * array for name, array in inputs.items()}
    yield "float32", searchers(draw, 1, dtype=np.float32)


@attention_weights.cases("edge cases", points=1)
def _(draw):
    for size in ("T_query", "T_key", "d_key"):
        yield f"{size} = 1", without(searchers(draw, 1), size)
    T_query, T_key, d_query, d_key = draw.sizes(4)
    yield "unequal d_key", {"queries": draw.normal(T_query, d_query), "keys": draw.normal(T_key, d_key)}
    yield "unequal d_key, that of the queries is 1", unequal(draw, queries_narrow=True)
    yield "unequal d_key, that of the keys is 1", unequal(draw, queries_narrow=False)


@attention_weights.mistake("does not scale the scores")
def unscaled(queries, keys):
    """The division by the square root of d_key is missing. The scores then spread more and more as d_key grows, one
    weight takes nearly everything, and almost no gradient is left to learn from."""
    return reference.softmax(scores_of(queries, keys))


@attention_weights.mistake("divides by d_key, not by its root")
def by_d_key(queries, keys):
    """You divide by d_key, or twice by its root, which is the same. It is the *variance* of a score that grows like
    d_key; its spread grows like the root, so dividing by d_key flattens the weights towards a plain average."""
    return reference.softmax(scores_of(queries, keys) / keys.shape[-1])


@attention_weights.mistake("scales by the number of keys")
def by_number_of_keys(queries, keys):
    """You divide by the root of the number of keys, keys.shape[-2]. What makes a score large is the number of products
    added up in it, d_key, which is keys.shape[-1]."""
    return reference.softmax(scores_of(queries, keys) / math.sqrt(keys.shape[-2]))


@attention_weights.mistake("scales by the number of queries")
def by_number_of_queries(queries, keys):
    """You divide by the root of the number of queries, queries.shape[-2]. What makes a score large is the number of
    products added up in it, d_key, which is queries.shape[-1]."""
    return reference.softmax(scores_of(queries, keys) / math.sqrt(queries.shape[-2]))


@attention_weights.mistake("reads d_key off axis 1", reread="Batch axes")
def d_key_from_the_front(queries, keys):
    """Counted from the front, axis 1 of the keys is d_key for a single sentence only; with a batch before it, it is the
    number of keys. Count from the end: keys.shape[-1]."""
    return reference.softmax(scores_of(queries, keys) / math.sqrt(keys.shape[1]))


@attention_weights.mistake("multiplies by the root of d_key instead of dividing")
def scaled_up(queries, keys):
    """The scores are multiplied by the square root of d_key, or divided by d_key ** -0.5, which is the same: they
    spread d_key times as much as they should, and one weight takes nearly everything. Divide by the root."""
    return reference.softmax(scores_of(queries, keys) * math.sqrt(keys.shape[-1]))


@attention_weights.mistake("scales the weights, not the scores")
def scaled_too_late(queries, keys):
    """The division by the root of d_key comes after the softmax: the rows no longer add up to one, and the softmax
    has seen the large scores already. Scale before the softmax."""
    return unscaled(queries, keys) / math.sqrt(keys.shape[-1])


@attention_weights.mistake("swaps queries and keys", reread="All queries at once")
def keys_ask(queries, keys):
    """Here the keys ask and the queries are found: the result has a row for each key. With as many queries as keys even
    the shape looks right, and every number is wrong. A row belongs to a query: (..., T_query, T_key)."""
    return reference.attention_weights(keys, queries)


@attention_weights.mistake("returns the scores, without the softmax", reread="From scores to weights: the softmax")
def raw_scores(queries, keys):
    """These are the scaled scores: some are negative, and no row adds up to one. The softmax is still to come."""
    return scores_of(queries, keys) / math.sqrt(keys.shape[-1])


@attention_weights.mistake("compares by the cosine", reread="All queries at once")
def by_cosine(queries, keys):
    """Your scores are cosines: each product is divided by the lengths of the query and the key. A score is the plain
    dot product over the square root of d_key, and it may be large: a longer query makes its weights sharper. Cosines
    lie between -1 and 1, so the weights can never differ much."""
    lengths = [np.linalg.norm(vectors, axis=-1, keepdims=True) for vectors in (queries, keys)]
    return reference.softmax(scores_of(queries / lengths[0], keys / lengths[1]))


@attention_weights.mistake("compares by the distance", reread="All queries at once")
def by_distance(queries, keys):
    """Your scores are distances with a minus sign: the nearest key gets most. Here a key is found by its dot product
    with the query, so a long key in the right direction counts more than a near one. Multiply, and divide by the square
    root of d_key."""
    return reference.softmax(-np.sqrt(_squared_distances(queries, keys)))


@attention_weights.mistake("compares by the squared distance", reread="All queries at once")
def by_squared_distance(queries, keys):
    """Your scores are squared distances with a minus sign. Written out, they are twice the dot product, less the
    squared lengths of query and key; the key's length does not cancel in its row. A score is the dot product alone,
    over the square root of d_key."""
    return reference.softmax(-_squared_distances(queries, keys))


@attention_weights.mistake("compares by the cosine, and divides by the root of d_key", reread="All queries at once")
def by_scaled_cosine(queries, keys):
    """Your scores are cosines, divided by the root of d_key. The root makes up for the growth of dot products with
    d_key. Cosines do not grow: they lie between -1 and 1, so your weights are nearly even. A score is the dot product
    itself over the root of d_key."""
    lengths = [np.linalg.norm(vectors, axis=-1, keepdims=True) for vectors in (queries, keys)]
    return reference.attention_weights(queries / lengths[0], keys / lengths[1])


@attention_weights.mistake("compares by the distance, and divides by the root of d_key", reread="All queries at once")
def by_scaled_distance(queries, keys):
    """You divide by the root of d_key, but you divide distances with a minus sign, so the nearest key gets most. A
    score is the *dot product* of query and key, over the root of d_key."""
    return reference.softmax(-np.sqrt(_squared_distances(queries, keys)) / math.sqrt(keys.shape[-1]))


@attention_weights.mistake(
    "compares by the squared distance, and divides by the root of d_key", reread="All queries at once"
)
def by_scaled_squared_distance(queries, keys):
    """You divide by the root of d_key, but you divide squared distances with a minus sign. Written out, they are twice
    the dot product, less the squared lengths of query and key; the key's length does not cancel in its row. A score is
    the dot product alone, over the root of d_key."""
    return reference.softmax(-_squared_distances(queries, keys) / math.sqrt(keys.shape[-1]))


def _squared_distances(queries, keys):
    return np.square(queries[..., :, None, :] - keys[..., None, :, :]).sum(axis=-1)


@attention_weights.mistake("normalises over the queries", reread="All queries at once")
def columns_add_up(queries, keys):
    """Down each column the weights add up to one: the queries compete for a key. It is the other way round: each
    query shares out one unit of attention among all keys, so each *row* adds up to one. Softmax along the last axis."""
    return reference.attention_weights(keys, queries).swapaxes(-1, -2)


@attention_weights.mistake("normalises over the batch", reread="Batch axes")
def batch_competes(queries, keys):
    """The softmax runs along the first axis. With no batch axis that is the queries' axis; with one, the sentences
    of the batch compete with each other. Count from the end: the keys are axis -1."""
    scores = raw_scores(queries, keys)
    return reference.softmax(scores.swapaxes(0, -1)).swapaxes(0, -1)


@attention_weights.mistake("normalises along axis 1", reread="Batch axes")
def keys_on_axis_one(queries, keys):
    """The softmax runs along axis 1, counted from the front. For one sentence that is the keys' axis; with a batch, it
    is the queries' axis, or with two, another axis of the batch. Count from the end: the keys are axis -1."""
    return over_axis_one(raw_scores(queries, keys))


@attention_weights.mistake("applies the softmax twice", reread="From scores to weights: the softmax")
def softmax_twice(queries, keys):
    """The weights go through a softmax once more. They lie between 0 and 1, so they come out nearly even, whatever the
    query asks: call your `softmax` once, on the scores."""
    return reference.softmax(reference.attention_weights(queries, keys))


@attention_weights.mistake("overflows on large scores", reread="From scores to weights: the softmax")
def naive_softmax(queries, keys):
    """Right for small scores, NaN for large ones, because the softmax in your function does not subtract each row's
    maximum first. Call your `softmax`."""
    return overflowing(raw_scores(queries, keys))


@attention_weights.mistake("transposes every axis of the keys", reread="Batch axes")
def reversed_axes(queries, keys):
    """`keys.T` reverses *all* axes. For one sentence that is the transpose; with a batch axis the batch ends up last,
    and the shapes no longer fit. Swap only the last two axes."""
    return reference.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]))


@attention_weights.mistake("lets a d_key of 1 pass for any other", reread="Why queries and keys share a dimension")
def widths_broadcast(queries, keys):
    """Queries and keys of different widths have no dot product. `einsum` and an entry-by-entry product broadcast a
    width of 1 to any other and return numbers anyway; a matrix product does not. Compare the two widths and raise a
    ValueError."""
    scores = np.einsum("...ik,...jk->...ij", queries, keys)
    return reference.softmax(scores / math.sqrt(keys.shape[-1]))


@attention_weights.mistake("promotes float32 to float64")
def promoted(queries, keys):
    """float32 came back as float64. `np.sqrt(d_key)` is a float64 *NumPy* scalar and promotes every array it
    touches; `math.sqrt(d_key)` is a plain Python number and promotes nothing."""
    return reference.softmax(scores_of(queries, keys) / np.float64(math.sqrt(keys.shape[-1])))


@attention_weights.mistake("exchanges the first two axes of the keys", reread="Batch axes")
def first_two_axes_exchanged(queries, keys):
    """The first two axes of the keys are swapped, as `keys.swapaxes(0, 1)` does. For one sentence that is the
    transpose; with a batch, it mixes the batch with the words. Count from the end: `keys.swapaxes(-1, -2)`."""
    return reference.softmax(queries @ keys.swapaxes(0, 1) / math.sqrt(keys.shape[-1]))


@attention_weights.equivalent
def scaled_scores(queries, keys):
    return reference.softmax(scores_of(queries, keys) / math.sqrt(queries.shape[-1]))


@attention_weights.equivalent
def by_einsum(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("d_key differs")
    scores = np.einsum("...ik,...jk->...ij", queries, keys)
    return through_log_sum_exp(scores * queries.shape[-1] ** -0.5)


@attention_weights.equivalent
def half_the_scale_on_each(queries, keys):
    root = math.sqrt(math.sqrt(keys.shape[-1]))
    return reference.softmax(scores_of(queries / root, keys / root))


@attention_weights.equivalent
def pair_by_pair(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("d_key differs")
    pairs = queries[..., :, None, :] * keys[..., None, :, :]
    return row_by_row(pairs.sum(axis=-1) / math.sqrt(keys.shape[-1]))
