import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.attention.shared import roles, scores_of, unequal, without
from autograder.exercises.attention.softmax import overflowing, row_by_row, through_log_sum_exp
from solutions import attention as reference

attention_weights = Exercise(
    reference.attention_weights,
    outputs={"weights": "... T_query T_key"},
    section="Why divide by the square root of the key width",
)
wrong = short_mistakes(attention_weights)


def searchers(draw, n_batch_axes=0, dtype=np.float64):
    """Draw only queries and keys."""
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


def scaled(queries, keys, *, by):
    """Return the weights, with the scores divided by a function of queries and keys."""
    return reference.softmax(scores_of(queries, keys) / by(queries, keys))


wrong("by_d_key", scaled, by=lambda queries, keys: keys.shape[-1])("""
    divides by d_key, not by its root
    You divide by d_key, or twice by its root, which is the same. The *variance* of a score grows like d_key, but its
    spread grows like the root, so dividing by d_key flattens the weights towards a plain average.""")
wrong("by_number_of_keys", scaled, by=lambda queries, keys: math.sqrt(keys.shape[-2]))("""
    scales by the number of keys
    You divide by the root of the number of keys, keys.shape[-2]. A score is large because it is a sum of many products,
    d_key of them, and d_key is keys.shape[-1].""")
wrong("by_number_of_queries", scaled, by=lambda queries, keys: math.sqrt(queries.shape[-2]))("""
    scales by the number of queries
    You divide by the root of the number of queries, queries.shape[-2]. A score is large because it is a sum of many
    products, d_key of them, and d_key is queries.shape[-1].""")
wrong("d_key_from_the_front", scaled, by=lambda queries, keys: math.sqrt(keys.shape[1]))("""
    reads d_key off axis 1 -> Batch axes
    Axis 1 of the keys is d_key only for a single sentence. With a batch, axis 1 is the number of keys. Count from the
    end: keys.shape[-1].""")
wrong("scaled_up", lambda queries, keys: reference.softmax(scores_of(queries, keys) * math.sqrt(keys.shape[-1])))("""
    multiplies by the root of d_key instead of dividing
    You multiply the scores by the square root of d_key, or divide them by d_key ** -0.5, which is the same. They spread
    d_key times as much as they should, and one weight takes nearly everything. Divide by the root.""")
wrong("scaled_too_late", lambda queries, keys: unscaled(queries, keys) / math.sqrt(keys.shape[-1]))("""
    scales the weights, not the scores
    The division by the root of d_key comes after the softmax. The rows no longer add up to one, and the softmax has
    already seen the large scores. Scale before the softmax.""")
wrong("keys_ask", lambda queries, keys: reference.attention_weights(keys, queries))("""
    swaps queries and keys -> All queries at once
    You swap queries and keys, so the result has a row for each key. With as many queries as keys even the shape looks
    right, but every number is wrong. A row belongs to a query: (..., T_query, T_key).""")
raw_scores = wrong("raw_scores", lambda queries, keys: scores_of(queries, keys) / math.sqrt(keys.shape[-1]))("""
    returns the scores, without the softmax -> From scores to weights: the softmax
    These are the scaled scores: some are negative, and no row adds up to one. Apply the softmax to them.""")


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


wrong("by_cosine", lambda queries, keys: reference.softmax(scores_of(unit(queries), unit(keys))))("""
    compares by the cosine -> All queries at once
    Your scores are cosines: you divide each product by the lengths of the query and the key. A score is the plain dot
    product over the square root of d_key, so it may be large, and a longer query makes its weights sharper. Cosines lie
    between -1 and 1, so no weight is more than 7.4 times as large as another in its row.""")
wrong("by_distance", lambda queries, keys: reference.softmax(-np.sqrt(_squared_distances(queries, keys))))("""
    compares by the distance -> All queries at once
    Your scores are distances with a minus sign, so the nearest key gets the most weight. Here the dot product with the
    query counts, so a long key in the right direction counts more than a near one. Multiply, and divide by the square
    root of d_key.""")
wrong("by_squared_distance", lambda queries, keys: reference.softmax(-_squared_distances(queries, keys)))("""
    compares by the squared distance -> All queries at once
    Your scores are squared distances with a minus sign. Written out, they are twice the dot product minus the squared
    lengths of query and key. The query's length cancels in its row, but the keys' lengths do not. A score is only the
    dot product, over the square root of d_key.""")
wrong("by_scaled_cosine", lambda queries, keys: reference.attention_weights(unit(queries), unit(keys)))("""
    compares by the cosine, and divides by the root of d_key -> All queries at once
    Your scores are cosines, divided by the root of d_key. The root makes up for the growth of dot products with d_key.
    Cosines lie between -1 and 1 for any d_key, so your weights become more even as d_key grows. A score is the dot
    product itself over the root of d_key.""")


@attention_weights.mistake("compares by the distance, and divides by the root of d_key", reread="All queries at once")
def by_scaled_distance(queries, keys):
    """You divide by the root of d_key, but you divide distances with a minus sign, so the nearest key gets the most
    weight. A score is the *dot product* of query and key, over the root of d_key."""
    return reference.softmax(-np.sqrt(_squared_distances(queries, keys)) / math.sqrt(keys.shape[-1]))


wrong(
    "by_scaled_squared_distance",
    lambda queries, keys: reference.softmax(-_squared_distances(queries, keys) / math.sqrt(keys.shape[-1])),
)("""
    compares by the squared distance, and divides by the root of d_key -> All queries at once
    You divide by the root of d_key, but you divide squared distances with a minus sign. Written out, they are twice the
    dot product minus the squared lengths of query and key. The query's length cancels in its row, but the keys' lengths
    do not. A score is only the dot product, over the root of d_key.""")


def _squared_distances(queries, keys):
    return np.square(queries[..., :, None, :] - keys[..., None, :, :]).sum(axis=-1)


naive_softmax = wrong("naive_softmax", lambda queries, keys: overflowing(raw_scores(queries, keys)))("""
    overflows on large scores -> From scores to weights: the softmax
    Your weights are right for small scores and NaN for large ones, because the softmax in your function does not
    subtract each row's maximum first. Call your `softmax`.""")
wrong("reversed_axes", lambda queries, keys: reference.softmax(queries @ keys.T / math.sqrt(keys.shape[-1])))("""
    transposes every axis of the keys -> Batch axes
    `keys.T` reverses *all* axes. For one sentence that is the transpose. With a batch, the batch axis ends up last, and
    the shapes no longer fit. Swap only the last two axes.""")


@attention_weights.mistake("lets a d_key of 1 pass for any other", reread="Why queries and keys share a dimension")
def widths_broadcast(queries, keys):
    """Queries and keys of different widths have no dot product. `einsum` and an entry-by-entry product broadcast a
    width of 1 to any other and return numbers anyway; a matrix product does not. Compare the two widths and raise a
    ValueError."""
    scores = np.einsum("...ik,...jk->...ij", queries, keys)
    return reference.softmax(scores / math.sqrt(keys.shape[-1]))


promoted = wrong("promoted", scaled, by=lambda queries, keys: np.float64(math.sqrt(keys.shape[-1])))("""
    promotes float32 to float64
    float32 came back as float64. `np.sqrt(d_key)` is a float64 *NumPy* scalar and promotes every array it touches;
    `math.sqrt(d_key)` is a plain Python number and promotes nothing.""")


@attention_weights.mistake("exchanges the first two axes of the keys", reread="Batch axes")
def first_two_axes_exchanged(queries, keys):
    """You swap the first two axes of the keys, as `keys.swapaxes(0, 1)` does. For one sentence that is the transpose;
    with a batch, it mixes the batch with the words. Count from the end: `keys.swapaxes(-1, -2)`."""
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
