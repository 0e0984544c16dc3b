"""predicted_shapes: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.attention.shared import scores_of
from solutions import attention as reference

predicted_shapes = Exercise(
    reference.predicted_shapes,
    outputs={"shapes": "dict"},
    section="Predict the shapes",
)

SIZES = ("n_batch", "T_query", "T_key", "d_key", "d_value")


@predicted_shapes.cases("the shapes", points=2)
def _(draw):
    yield "five different sizes", dict(zip(SIZES, draw.sizes(5), strict=True))
    yield "five other sizes", dict(zip(SIZES, draw.sizes(5, low=8, high=40), strict=True))


@predicted_shapes.cases("sizes of one", points=1)
def _(draw):
    for size in SIZES:
        yield f"{size} = 1", dict(zip(SIZES, draw.sizes(5), strict=True)) | {size: 1}


@predicted_shapes.mistake("has a row for each key", reread="All queries at once")
def rows_for_keys(**sizes):
    """Scores and weights have a row for each *query*: row i says how query i shares itself out among the keys, so
    the last axis is T_key long."""
    turned = (sizes["n_batch"], sizes["T_key"], sizes["T_query"])
    return reference.predicted_shapes(**sizes) | {"scores": turned, "weights": turned}


@predicted_shapes.mistake("makes the output as wide as a key", reread="From weights to output")
def output_of_keys(**sizes):
    """The output averages *values*, so it is d_value wide. d_key disappears in the dot product: no later shape holds
    it."""
    n_batch, T_query, d_key = sizes["n_batch"], sizes["T_query"], sizes["d_key"]
    wrong = {"output": (n_batch, T_query, d_key), "output_of_one_query": (n_batch, 1, d_key)}
    return reference.predicted_shapes(**sizes) | wrong


@predicted_shapes.mistake("gives the output a row for each key", reread="From weights to output")
def output_for_keys(**sizes):
    """Each query gets one answer, so the output has T_query rows. The keys' axis is the one that is summed over."""
    wrong = {"output": (sizes["n_batch"], sizes["T_key"], sizes["d_value"])}
    return reference.predicted_shapes(**sizes) | wrong


@predicted_shapes.mistake("makes the scores as wide as a key", reread="All queries at once")
def scores_of_features(**sizes):
    """A score is a dot product, one number: its d_key products have been added up, and the last axis counts the *keys*,
    T_key."""
    wide = (sizes["n_batch"], sizes["T_query"], sizes["d_key"])
    return reference.predicted_shapes(**sizes) | {"scores": wide, "weights": wide}


@predicted_shapes.mistake("takes the maxima of the columns", reread="From scores to weights: the softmax")
def maxima_of_the_columns(**sizes):
    """(n_batch, 1, T_key) holds the largest of each *column*, one for each key. A row belongs to a query, and its
    largest is taken along the keys: they are the axis of length 1."""
    return reference.predicted_shapes(**sizes) | {"row_maxima": (sizes["n_batch"], 1, sizes["T_key"])}


@predicted_shapes.mistake("drops the axis of the row maxima", reread="From scores to weights: the softmax")
def maxima_without_their_axis(**sizes):
    """Maxima of shape (n_batch, T_query) cannot be subtracted from scores of shape (n_batch, T_query, T_key): NumPy
    lines shapes up from the right, and would pair T_query with T_key. keepdims=True leaves an axis of length 1."""
    return reference.predicted_shapes(**sizes) | {"row_maxima": (sizes["n_batch"], sizes["T_query"])}


@predicted_shapes.mistake("loses the keys' axis in the softmax", reread="From scores to weights: the softmax")
def softmax_sums_away(**sizes):
    """Softmax divides by a sum along the keys; it does not sum them away. Its result has the shape of the scores."""
    return reference.predicted_shapes(**sizes) | {"weights": (sizes["n_batch"], sizes["T_query"], 1)}


@predicted_shapes.mistake("reverses all axes of the keys", reread="Batch axes")
def keys_reversed(**sizes):
    """`.T` would give (d_key, T_key, n_batch), and the product would fail. Only the last two axes are exchanged; the
    batch stays in front."""
    return reference.predicted_shapes(**sizes) | {"keys_transposed": (sizes["d_key"], sizes["T_key"], sizes["n_batch"])}


@predicted_shapes.mistake("does not transpose the keys", reread="All queries at once")
def keys_as_they_are(**sizes):
    """The keys are (n_batch, T_key, d_key). In a matrix product, rows meet columns: for queries with d_key features in
    a row, each key must be a column, so the last two axes are exchanged."""
    n_batch, T_key, d_key = sizes["n_batch"], sizes["T_key"], sizes["d_key"]
    return reference.predicted_shapes(**sizes) | {"keys_transposed": (n_batch, T_key, d_key)}


@predicted_shapes.mistake("leaves out the batch", reread="Batch axes")
def without_the_batch(**sizes):
    """These are the shapes for one sentence. The inputs have a batch axis in front, and it stays in front all the way:
    a product multiplies the last two axes only."""
    return {name: shape[1:] for name, shape in reference.predicted_shapes(**sizes).items()}


@predicted_shapes.mistake("drops the axis of the only query", reread="Batch axes")
def query_axis_dropped(**sizes):
    """The query is (1, d_key), a matrix of one row, and every answer keeps that row: an axis of length 1 does not
    vanish in a product."""
    wrong = {"output_of_one_query": (sizes["n_batch"], sizes["d_value"])}
    return reference.predicted_shapes(**sizes) | wrong


@predicted_shapes.mistake("forgets that a single query meets the whole batch", reread="Batch axes")
def one_query_one_answer(**sizes):
    """The query has no batch axis, but the keys and values have one, and a product broadcasts: the same query is put
    to each item of the batch, and each gives an answer of its own."""
    return reference.predicted_shapes(**sizes) | {"output_of_one_query": (1, sizes["d_value"])}


@predicted_shapes.equivalent
def by_trying(n_batch, T_query, T_key, d_key, d_value):
    queries, keys = np.ones((n_batch, T_query, d_key)), np.ones((n_batch, T_key, d_key))
    values = np.ones((n_batch, T_key, d_value))
    weights = reference.attention_weights(queries, keys)
    return {
        "keys_transposed": keys.swapaxes(1, 2).shape,
        "scores": scores_of(queries, keys).shape,
        "row_maxima": scores_of(queries, keys).max(axis=-1, keepdims=True).shape,
        "weights": weights.shape,
        "output": (weights @ values).shape,
        "output_of_one_query": reference.attention(queries[0, :1], keys, values)[0].shape,
    }


@predicted_shapes.equivalent
def as_lists(**sizes):
    return {name: list(shape) for name, shape in reference.predicted_shapes(**sizes).items()}


@predicted_shapes.equivalent
def in_another_order(**sizes):
    return dict(reversed(reference.predicted_shapes(**sizes).items()))
