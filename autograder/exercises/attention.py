"""Chapter 1, attention: the cases, the known mistakes and the right rewrites of its exercises."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from solutions import attention as reference


def roles(draw, n_batch_axes=0, dtype=np.float64):
    """Queries, keys and values in which no two sizes agree."""
    T_query, T_key, d_key, d_value, *batch = draw.sizes(4 + n_batch_axes)
    return {
        "queries": draw.normal(*batch, T_query, d_key, dtype=dtype),
        "keys": draw.normal(*batch, T_key, d_key, dtype=dtype),
        "values": draw.normal(*batch, T_key, d_value, dtype=dtype),
    }


def searchers(draw, n_batch_axes=0, dtype=np.float64):
    """Queries and keys alone."""
    inputs = roles(draw, n_batch_axes, dtype)
    return {"queries": inputs["queries"], "keys": inputs["keys"]}


def without(inputs, size_one):
    """The inputs with one of their sizes cut down to 1: T_query, T_key or d_key."""
    q, k, v = inputs["queries"], inputs["keys"], inputs.get("values")
    if size_one == "T_query":
        q = q[..., :1, :]
    elif size_one == "T_key":
        k, v = k[..., :1, :], v if v is None else v[..., :1, :]
    else:
        q, k = q[..., :1], k[..., :1]
    return {"queries": q, "keys": k} if v is None else {"queries": q, "keys": k, "values": v}


# ------------------------------------------------------------------------------------------------ softmax

softmax = Exercise(
    reference.softmax,
    outputs={"weights": "... n"},
    section="From scores to weights: the softmax",
)


@softmax.cases("the idea", points=1)
def _(draw):
    yield "one row", {"scores": draw.normal(draw.size())}
    yield "several rows", {"scores": draw.normal(*draw.sizes(2))}


@softmax.cases("batches", points=1)
def _(draw):
    yield "one batch axis", {"scores": draw.normal(*draw.sizes(3))}
    yield "two batch axes", {"scores": draw.normal(*draw.sizes(4))}


@softmax.cases("stability", points=1)
def _(draw):
    yield "scores in the thousands", {"scores": 1000 + 10 * draw.normal(*draw.sizes(2))}
    yield "scores far below zero", {"scores": -1000 + 10 * draw.normal(*draw.sizes(2))}
    heights = np.array([[900.0], [0.0], [-900.0]])
    yield "rows of very different height", {"scores": heights + draw.normal(3, draw.size())}


@softmax.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", {"scores": draw.normal(*draw.sizes(2), dtype=np.float32)}
    yield "rows of one score", {"scores": draw.normal(draw.size(), 1)}
    yield "equal scores", {"scores": np.full(draw.sizes(2), 3.0)}


@softmax.mistake("normalises over the rows' axis")
def over_the_queries(scores):
    """The weights add up to one down each column, not along each row. A row belongs to one query, and a query
    shares out one whole unit of attention among the keys: that is the last axis, -1. Reread 'From scores to
    weights: the softmax'."""
    axis = max(-2, -scores.ndim)
    shifted = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


@softmax.mistake("normalises over the batch")
def over_the_batch(scores):
    """The weights add up to one along the first axis. With a single row this is the right axis, so it goes
    unnoticed; with a batch, the sentences compete for one unit of attention. Count axes from the end: -1 is the
    keys' axis, whatever stands before it. Reread 'From scores to weights: the softmax'."""
    shifted = np.exp(scores - scores.max(axis=0, keepdims=True))
    return shifted / shifted.sum(axis=0, keepdims=True)


@softmax.mistake("normalises over all axes at once")
def over_everything(scores):
    """All weights of the array together add up to one, so that each row gets only a share of it. A sum without an
    axis runs over everything; every row wants its own sum: axis=-1 with keepdims=True. Reread 'From scores to
    weights: the softmax'."""
    shifted = np.exp(scores - scores.max())
    return shifted / shifted.sum()


@softmax.mistake("does not subtract the maximum")
def overflowing(scores):
    """Right on paper, and NaN as soon as a score is large: exp(710) is infinite in float64, exp(89) in float32, and
    infinity divided by infinity is NaN. (Far below zero, all exponentials vanish and 0/0 is NaN as well.) Take each
    row's maximum from the row first; the quotient does not change. Reread 'From scores to weights: the softmax'."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@softmax.mistake("subtracts one maximum for the whole array")
def one_maximum_for_all(scores):
    """Nothing overflows now, but a row that lies far below the array's maximum underflows: all of its exponentials
    become 0, and 0/0 is NaN. Each row needs its own maximum: axis=-1 with keepdims=True. Reread 'From scores to
    weights: the softmax'."""
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@softmax.mistake("does not divide by the sum")
def unnormalised(scores):
    """The exponentials are there, but a row does not add up to one yet: divide it by its own sum. Reread 'From
    scores to weights: the softmax'."""
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


@softmax.mistake("divides the scores by their sum, without the exponential")
def plain_shares(scores):
    """Scores may be negative, so their plain shares may be negative or divided by almost nothing. The exponential
    comes first: it makes every score positive, and turns differences of scores into ratios of weights. Reread 'From
    scores to weights: the softmax'."""
    return scores / scores.sum(axis=-1, keepdims=True)


@softmax.mistake("writes into the caller's scores")
def in_place(scores):
    """The numbers are right, and the caller's array has changed: `scores -= ...` writes into it. Backward passes
    need the forward's inputs as they were, so make a new array: `scores - ...`."""
    scores -= scores.max(axis=-1, keepdims=True)
    return reference.softmax(scores)


@softmax.mistake("answers in float64 whatever was asked")
def always_double(scores):
    """The numbers are right, but float32 came back as float64, which doubles the memory of everything after it. A
    NumPy float64 scalar or an astype promotes the whole array; Python's own numbers do not."""
    return reference.softmax(scores.astype(np.float64))


@softmax.equivalent
def row_by_row(scores):
    weights = np.empty_like(scores)
    for index in np.ndindex(*scores.shape[:-1]):
        row = [math.exp(score - max(scores[index])) for score in scores[index]]
        weights[index] = [strength / sum(row) for strength in row]
    return weights


@softmax.equivalent
def through_log_sum_exp(scores):
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))


@softmax.equivalent
def along_the_first_axis(scores):
    last_first = np.moveaxis(scores, -1, 0)
    powers = np.exp2((last_first - last_first.max(axis=0)) * math.log2(math.e))
    return np.moveaxis(powers / powers.sum(axis=0), 0, -1)


@softmax.equivalent
def by_differences(scores):
    with np.errstate(over="ignore"):
        return 1 / np.exp(scores[..., None, :] - scores[..., :, None]).sum(axis=-1)


# -------------------------------------------------------------------------------------- attention_weights

attention_weights = Exercise(
    reference.attention_weights,
    outputs={"weights": "... T_query T_key"},
    section="Why divide by the square root of d_key",
    uses=("softmax",),
)


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


def scores_of(queries, keys):
    """Unscaled scores."""
    return queries @ keys.swapaxes(-1, -2)


@attention_weights.mistake("does not scale the scores")
def unscaled(queries, keys):
    """The division by the square root of d_key is missing. The scores then spread more and more as d_key grows, one
    weight takes nearly everything, and almost no gradient is left to learn from. Reread 'Why divide by the square
    root of d_key'."""
    return reference.softmax(scores_of(queries, keys))


@attention_weights.mistake("divides by d_key, not by its root")
def by_d_key(queries, keys):
    """You divide by d_key. It is the *variance* of a score that grows like d_key; its spread grows like the root, so
    dividing by d_key flattens the weights towards a plain average. Reread 'Why divide by the square root of
    d_key'."""
    return reference.softmax(scores_of(queries, keys) / keys.shape[-1])


@attention_weights.mistake("scales by the number of keys")
def by_number_of_keys(queries, keys):
    """You divide by the root of the number of keys: that is keys.shape[-2]. What makes a score large is the number
    of products added up in it, d_key, which is keys.shape[-1]. Reread 'Why divide by the square root of d_key'."""
    return reference.softmax(scores_of(queries, keys) / math.sqrt(keys.shape[-2]))


@attention_weights.mistake("scales the weights, not the scores")
def scaled_too_late(queries, keys):
    """The division by the root of d_key comes after the softmax: the rows no longer add up to one, and the softmax
    has seen the large scores already. Scale before the softmax. Reread 'Why divide by the square root of d_key'."""
    return unscaled(queries, keys) / math.sqrt(keys.shape[-1])


@attention_weights.mistake("swaps queries and keys")
def keys_ask(queries, keys):
    """Here the keys ask and the queries are found: the result has a row for each key. With as many queries as keys
    the shape even looks right, and every number is wrong. A row belongs to a query: (..., T_query, T_key). Reread
    'All queries at once'."""
    return reference.attention_weights(keys, queries)


@attention_weights.mistake("returns the scores, without the softmax")
def raw_scores(queries, keys):
    """These are the scaled scores: some are negative, and no row adds up to one. The softmax is still to come.
    Reread 'From scores to weights: the softmax'."""
    return scores_of(queries, keys) / math.sqrt(keys.shape[-1])


@attention_weights.mistake("normalises over the queries")
def columns_add_up(queries, keys):
    """Down each column the weights add up to one: the queries compete for a key. It is the other way round: each
    query shares out one unit of attention among all keys, so each *row* adds up to one. Softmax along the last axis.
    Reread 'All queries at once'."""
    return reference.attention_weights(keys, queries).swapaxes(-1, -2)


@attention_weights.mistake("normalises over the batch")
def batch_competes(queries, keys):
    """The softmax runs along the first axis. With no batch axis that is the queries' axis; with one, the sentences
    of the batch compete with each other. Count from the end: the keys are axis -1. Reread 'Batch axes'."""
    scores = raw_scores(queries, keys)
    return reference.softmax(scores.swapaxes(0, -1)).swapaxes(0, -1)


@attention_weights.mistake("overflows on large scores")
def naive_softmax(queries, keys):
    """Right for small scores, NaN for large ones: the softmax in it does not take away each row's maximum first.
    Call your `softmax`. Reread 'From scores to weights: the softmax'."""
    return overflowing(raw_scores(queries, keys))


@attention_weights.mistake("transposes every axis of the keys")
def reversed_axes(queries, keys):
    """`keys.T` reverses *all* axes. For one sentence that is the transpose; with a batch axis the batch ends up
    last, and the shapes no longer fit. Exchange only the last two axes. Reread 'Batch axes'."""
    return reference.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]))


@attention_weights.mistake("promotes float32 to float64")
def promoted(queries, keys):
    """float32 came back as float64. `np.sqrt(d_key)` is a float64 *NumPy* scalar and promotes every array it
    touches; `math.sqrt(d_key)` is a plain Python number and promotes nothing."""
    return reference.softmax(scores_of(queries, keys) / np.float64(math.sqrt(keys.shape[-1])))


@attention_weights.equivalent
def scaled_scores(queries, keys):
    return reference.softmax(scores_of(queries, keys) / math.sqrt(queries.shape[-1]))


@attention_weights.equivalent
def by_einsum(queries, keys):
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


# ---------------------------------------------------------------------------------------------- attention

attention = Exercise(
    reference.attention,
    outputs={
        "output": "... T_query d_value",
        "cache": UNJUDGED,
    },
    section="From weights to output",
    uses=("attention_weights",),
)


@attention.cases("the idea", points=2)
def _(draw):
    yield "one sentence", roles(draw)
    square = {name: draw.normal(3, 3) for name in ("queries", "keys", "values")}
    yield "all sizes agree", square
    yield "all sizes but d_value agree", square | {"values": draw.normal(3, 2)}


@attention.cases("batches", points=1)
def _(draw):
    yield "one batch axis", roles(draw, 1)
    yield "two batch axes", roles(draw, 2)


@attention.cases("stability, float32 and edge cases", points=1)
def _(draw):
    inputs = roles(draw, 1)
    yield "scores in the thousands", inputs | {"queries": 100 * inputs["queries"], "keys": 100 * inputs["keys"]}
    yield "float32", roles(draw, 1, dtype=np.float32)
    for size in ("T_query", "T_key", "d_key"):
        yield f"{size} = 1", without(roles(draw, 1), size)
    inputs = roles(draw)
    yield "d_value = 1", inputs | {"values": inputs["values"][:, :1]}
    yield "unequal d_key", inputs | {"queries": draw.normal(3, inputs["keys"].shape[-1] + 1)}


@attention.mistake("ignores the values")
def weights_only(queries, keys, values):
    """This returns the weights. They say *where* each query looks; the output is *what it finds* there, the weighted
    average of the values. Reread 'From weights to output'."""
    return reference.attention_weights(queries, keys), None


@attention.mistake("averages the keys instead of the values")
def keys_handed_over(queries, keys, values):
    """The right weights, on the wrong things: you average the keys. A key is what an entry is found by, its value is
    what it hands over. Reread 'Why keys exist at all'."""
    return reference.attention_weights(queries, keys) @ keys, None


@attention.mistake("averages with raw scores")
def no_softmax(queries, keys, values):
    """The values are multiplied by the scaled scores. Those may be negative and do not add up to one, so this is no
    average: the softmax is missing. Reread 'From scores to weights: the softmax'."""
    return raw_scores(queries, keys) @ values, None


@attention.mistake("averages all values alike")
def plain_average(queries, keys, values):
    """Every row of the output is the plain average of the values, whatever the query asks. The weights must come
    from the queries and the keys. Reread 'From weights to output'."""
    shape = (*queries.shape[:-1], values.shape[-1])
    return np.broadcast_to(values.mean(axis=-2, keepdims=True), shape).copy(), None


@attention.mistake("swaps queries and keys")
def keys_ask_for_values(queries, keys, values):
    """The keys ask, and the queries are what is found. As long as there are as many queries as keys, only the
    numbers are wrong; otherwise weights and values do not fit. Queries ask: (..., T_query, T_key) times (..., T_key,
    d_value). Reread 'All queries at once'."""
    return reference.attention_weights(keys, queries) @ values, None


@attention.mistake("transposes the weights")
def weights_transposed(queries, keys, values):
    """The weights are turned before they meet the values, so an output row mixes the shares that all queries give to
    one key. Row i of the weights averages the values for query i: no transpose. Reread 'From weights to output'."""
    return reference.attention_weights(queries, keys).swapaxes(-1, -2) @ values, None


@attention.mistake("scales by the width of the values")
def by_d_value(queries, keys, values):
    """You divide by the root of d_value. The values have no part in a score: what adds up in it are d_key products.
    Reread 'Why divide by the square root of d_key'."""
    return reference.softmax(scores_of(queries, keys) / math.sqrt(values.shape[-1])) @ values, None


@attention.mistake("does not scale the scores")
def unscaled_attention(queries, keys, values):
    """The division by the square root of d_key is missing: call your `attention_weights`. Reread 'Why divide by the
    square root of d_key'."""
    return unscaled(queries, keys) @ values, None


@attention.mistake("scales the output, not the scores")
def output_scaled(queries, keys, values):
    """The division by the root of d_key comes last, on the output: it only shrinks the average, and the softmax has
    seen the large scores already. Reread 'Why divide by the square root of d_key'."""
    return unscaled(queries, keys) @ values / math.sqrt(keys.shape[-1]), None


@attention.equivalent
def query_by_query(queries, keys, values):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("d_key differs")
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for i in range(queries.shape[-2]):
        scores = (queries[..., i : i + 1, :] * keys).sum(axis=-1) / math.sqrt(keys.shape[-1])
        output[..., i, :] = (reference.softmax(scores)[..., None] * values).sum(axis=-2)
    return output, None


@attention.equivalent
def attention_by_einsum(queries, keys, values):
    weights = by_einsum(queries, keys)
    return np.einsum("...ij,...jv->...iv", weights, values), (queries, keys, values, weights)


@attention.equivalent
def divided_at_the_end(queries, keys, values):
    scores = scores_of(queries, keys) / math.sqrt(keys.shape[-1])
    strengths = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return [strengths @ values / strengths.sum(axis=-1, keepdims=True), {"weights": None}]


@attention.equivalent
def key_by_key(queries, keys, values):
    """One pass over the keys with a running maximum, as fused kernels do it."""
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("d_key differs")
    highest = np.full((*queries.shape[:-1], 1), -np.inf, queries.dtype)
    total = np.zeros_like(highest)
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for j in range(keys.shape[-2]):
        score = (queries * keys[..., j : j + 1, :]).sum(axis=-1, keepdims=True) / math.sqrt(keys.shape[-1])
        higher = np.maximum(highest, score)
        shrink, strength = np.exp(highest - higher), np.exp(score - higher)
        output = shrink * output + strength * values[..., j : j + 1, :]
        highest, total = higher, shrink * total + strength
    return output / total, None


# ----------------------------------------------------------------------------------------- self_attention

self_attention = Exercise(
    reference.self_attention,
    outputs={"output": "... T d_value", "cache": UNJUDGED},
    section="Self-attention: one sequence in three roles",
    uses=("attention",),
)


def layer(draw, n_batch_axes=0, dtype=np.float64):
    """A sequence and its three projections, no two sizes alike."""
    T, d_model, d_key, d_value, *batch = draw.sizes(4 + n_batch_axes)
    return {
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "w_query": draw.normal(d_model, d_key, dtype=dtype),
        "w_key": draw.normal(d_model, d_key, dtype=dtype),
        "w_value": draw.normal(d_model, d_value, dtype=dtype),
    }


@self_attention.cases("the idea", points=3)
def _(draw):
    yield "one sentence", layer(draw)
    square = {name: draw.normal(3, 3) for name in ("w_query", "w_key", "w_value")}
    yield "square projections", {"x": draw.normal(4, 3)} | square


@self_attention.cases("batches", points=1)
def _(draw):
    yield "one batch axis", layer(draw, 1)
    yield "two batch axes", layer(draw, 2)


@self_attention.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", layer(draw, 1, dtype=np.float32)
    inputs = layer(draw, 1)
    yield "one token", inputs | {"x": inputs["x"][:, :1]}
    inputs = layer(draw)
    yield "d_key = 1", inputs | {"w_query": inputs["w_query"][:, :1], "w_key": inputs["w_key"][:, :1]}
    d_model, d_key = inputs["w_key"].shape
    yield "unequal d_key", inputs | {"w_query": draw.normal(d_model, d_key + 1)}


@self_attention.mistake("scales by the root of d_model")
def by_d_model(x, w_query, w_key, w_value):
    """You divide by the root of d_model, the width of x. The score is taken after the projection, between vectors of
    width d_key; when d_key is smaller than d_model, your weights are too flat. Reread 'Why divide by the square root
    of d_key'."""
    scores = scores_of(x @ w_query, x @ w_key) / math.sqrt(x.shape[-1])
    return reference.softmax(scores) @ (x @ w_value), None


@self_attention.mistake("makes the keys with the query's projection")
def one_projection_for_both(x, w_query, w_key, w_value):
    """`w_query` makes both the queries and the keys, so the scores are symmetric: two words always find each other
    equally strongly, and every word tends to find itself. The keys have a matrix of their own, `w_key`. Reread 'Why
    keys exist at all'."""
    return reference.attention(x @ w_query, x @ w_query, x @ w_value)


@self_attention.mistake("swaps the projections of queries and keys")
def roles_swapped(x, w_query, w_key, w_value):
    """`w_key` makes your queries and `w_query` your keys. The shapes cannot show it, since both are (d_model, d_key).
    With weights learnt elsewhere, every score would be transposed: the words that should ask are found instead.
    Reread 'Self-attention: one sequence in three roles'."""
    return reference.attention(x @ w_key, x @ w_query, x @ w_value)


@self_attention.mistake("averages x itself")
def values_not_projected(x, w_query, w_key, w_value):
    """The weights average x, so `w_value` has no effect and the output is d_model wide. What a word hands over is
    its value, x @ w_value. Reread 'Self-attention: one sequence in three roles'."""
    return reference.attention(x @ w_query, x @ w_key, x)[0], None


@self_attention.mistake("compares x itself, without projections")
def no_projections_for_the_scores(x, w_query, w_key, w_value):
    """The scores compare x with x, so `w_query` and `w_key` have no effect: nothing can be learnt about who looks
    at whom. Reread 'Why keys exist at all'."""
    return reference.attention(x, x, x @ w_value)[0], None


@self_attention.mistake("transposes the projections")
def torch_layout(x, w_query, w_key, w_value):
    """You multiply by the transposed matrices. PyTorch's Linear keeps its weight as (out, in) and transposes it; in
    this book a projection is (d_model, d_key) and stands on the right as it is, x @ w. Only square matrices let the
    slip pass without an error. Reread 'Self-attention: one sequence in three roles'."""
    return reference.attention(x @ w_query.T, x @ w_key.T, x @ w_value.T)


@self_attention.mistake("lets the sentences of a batch see each other")
def batch_flattened(x, w_query, w_key, w_value):
    """The batch is folded into one long sequence, so words attend to words of *other* sentences. Only the
    projections may be folded like that; the scores belong to one sentence each. Reread 'Batch axes'."""
    output, cache = reference.self_attention(x.reshape(-1, x.shape[-1]), w_query, w_key, w_value)
    return output.reshape(*x.shape[:-1], -1), cache


@self_attention.mistake("normalises over the batch")
def projected_batch_competes(x, w_query, w_key, w_value):
    """The softmax runs along the first axis, so the sentences of a batch compete for attention (or, without a batch
    axis, the queries do). The keys are the last axis, -1. Reread 'Batch axes'."""
    return batch_competes(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.equivalent
def values_projected_last(x, w_query, w_key, w_value):
    return reference.attention_weights(x @ w_query, x @ w_key) @ x @ w_value, None


@self_attention.equivalent
def one_fused_product(x, w_query, w_key, w_value):
    d_query, d_key = w_query.shape[1], w_key.shape[1]
    fused = x @ np.concatenate([w_query, w_key, w_value], axis=1)
    return reference.attention(*np.split(fused, [d_query, d_query + d_key], axis=-1))


@self_attention.equivalent
def flat_projections(x, w_query, w_key, w_value):
    flat = x.reshape(-1, x.shape[-1])
    return attention_by_einsum(*((flat @ w).reshape(*x.shape[:-1], -1) for w in (w_query, w_key, w_value)))


@self_attention.equivalent
def one_bilinear_form(x, w_query, w_key, w_value):
    form = w_query @ w_key.T / math.sqrt(w_key.shape[1])
    return reference.softmax(x @ form @ x.swapaxes(-1, -2)) @ (x @ w_value), None


# --------------------------------------------------------------------------------------- predicted_shapes

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


@predicted_shapes.mistake("has a row for each key")
def rows_for_keys(**sizes):
    """Scores and weights have a row for each *query*: row i says how query i shares itself out among the keys, so
    the last axis is T_key long. Reread 'All queries at once'."""
    turned = (sizes["n_batch"], sizes["T_key"], sizes["T_query"])
    return reference.predicted_shapes(**sizes) | {"scores": turned, "weights": turned}


@predicted_shapes.mistake("makes the output as wide as a key")
def output_of_keys(**sizes):
    """The output averages *values*, so it is d_value wide. d_key disappears in the dot product: no later shape holds
    it. Reread 'From weights to output'."""
    n_batch, T_query, d_key = sizes["n_batch"], sizes["T_query"], sizes["d_key"]
    wrong = {"output": (n_batch, T_query, d_key), "output_of_one_query": (n_batch, 1, d_key)}
    return reference.predicted_shapes(**sizes) | wrong


@predicted_shapes.mistake("gives the output a row for each key")
def output_for_keys(**sizes):
    """Each query gets one answer, so the output has T_query rows. The keys' axis is the one that is summed over.
    Reread 'From weights to output'."""
    wrong = {"output": (sizes["n_batch"], sizes["T_key"], sizes["d_value"])}
    return reference.predicted_shapes(**sizes) | wrong


@predicted_shapes.mistake("drops the axis of the row maxima")
def maxima_without_their_axis(**sizes):
    """Maxima of shape (n_batch, T_query) cannot be subtracted from scores of shape (n_batch, T_query, T_key): NumPy
    lines shapes up from the right, and would pair T_query with T_key. keepdims=True leaves an axis of length 1.
    Reread 'From scores to weights: the softmax'."""
    return reference.predicted_shapes(**sizes) | {"row_maxima": (sizes["n_batch"], sizes["T_query"])}


@predicted_shapes.mistake("loses the keys' axis in the softmax")
def softmax_sums_away(**sizes):
    """Softmax divides by a sum along the keys; it does not sum them away. Its result has the shape of the scores.
    Reread 'From scores to weights: the softmax'."""
    return reference.predicted_shapes(**sizes) | {"weights": (sizes["n_batch"], sizes["T_query"], 1)}


@predicted_shapes.mistake("reverses all axes of the keys")
def keys_reversed(**sizes):
    """`.T` would give (d_key, T_key, n_batch), and the product would fail. Only the last two axes are exchanged; the
    batch stays in front. Reread 'Batch axes'."""
    return reference.predicted_shapes(**sizes) | {"keys_transposed": (sizes["d_key"], sizes["T_key"], sizes["n_batch"])}


@predicted_shapes.mistake("forgets that a single query meets the whole batch")
def one_query_one_answer(**sizes):
    """The query has no batch axis, but the keys and values have one, and a product broadcasts: the same query is put
    to each item of the batch, and each gives an answer of its own. Reread 'Batch axes'."""
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


# ------------------------------------------------------------------------------------- repaired_attention

repaired_attention = Exercise(
    reference.repaired_attention,
    outputs={"output": "... T_query d_value"},
    section="Find the bug",
)


@repaired_attention.cases("the scale", points=2)
def _(draw):
    yield "one sentence", roles(draw)
    yield "two batch axes", roles(draw, 2)


@repaired_attention.cases("large scores", points=1)
def _(draw):
    inputs = roles(draw, 1)
    yield "scores in the thousands", inputs | {"queries": 100 * inputs["queries"], "keys": 100 * inputs["keys"]}


@repaired_attention.cases("float32", points=1)
def _(draw):
    yield "float32", roles(draw, 1, dtype=np.float32)


def buggy(queries, keys, values, *, scale_late, overflow, promote):
    """The published function with any of its three mistakes left in."""
    scale = math.sqrt(keys.shape[-1])
    scores = scores_of(queries, keys) / (1 if scale_late else scale)
    output = (overflowing(scores) if overflow else reference.softmax(scores)) @ values / (scale if scale_late else 1)
    return output.astype(np.float64) if promote else output


@repaired_attention.mistake("nothing is mended yet")
def as_published(queries, keys, values):
    """All three mistakes are still there. Start with the one on the formula: at which step does the paper divide by
    the root of d_key? Reread 'Why divide by the square root of d_key'."""
    return buggy(queries, keys, values, scale_late=True, overflow=True, promote=True)


@repaired_attention.mistake("one found: float32 stays float32; two to go")
def scale_and_overflow_left(queries, keys, values):
    """float32 stays float32 now. Next: at which step does the paper divide by the root of d_key? Reread 'Why divide
    by the square root of d_key'."""
    return buggy(queries, keys, values, scale_late=True, overflow=True, promote=False)


@repaired_attention.mistake("one found: large scores are safe; two to go")
def scale_and_dtype_left(queries, keys, values):
    """Large scores are safe now. Next: at which step does the paper divide by the root of d_key? Reread 'Why divide
    by the square root of d_key'."""
    return buggy(queries, keys, values, scale_late=True, overflow=False, promote=True)


@repaired_attention.mistake("one found: the scale is in its place; two to go")
def overflow_and_dtype_left(queries, keys, values):
    """The scale is in its place. Next: what happens to exp when a score is 1000? Reread 'From scores to weights: the
    softmax'."""
    return buggy(queries, keys, values, scale_late=False, overflow=True, promote=True)


@repaired_attention.mistake("two found; the scale still comes after the softmax")
def scale_left(queries, keys, values):
    """One is left: the division by the root of d_key still comes after the softmax, where it shrinks the output and
    tames nothing. Reread 'Why divide by the square root of d_key'."""
    return buggy(queries, keys, values, scale_late=True, overflow=False, promote=False)


@repaired_attention.mistake("two found; large scores still overflow")
def overflow_left(queries, keys, values):
    """One is left: exp of a large score is infinite, and infinity over infinity is NaN. Reread 'From scores to
    weights: the softmax'."""
    return buggy(queries, keys, values, scale_late=False, overflow=True, promote=False)


@repaired_attention.mistake("two found; float32 still comes back as float64")
def dtype_left(queries, keys, values):
    """One is left: a float64 NumPy scalar, such as np.sqrt(64) gives, promotes a float32 array to float64. Python's
    own numbers do not: math.sqrt(64), or 64 ** 0.5."""
    return buggy(queries, keys, values, scale_late=False, overflow=False, promote=True)


@repaired_attention.equivalent
def by_matrix_products(queries, keys, values):
    return reference.attention(queries, keys, values)[0]


@repaired_attention.equivalent
def divided_before_and_after(queries, keys, values):
    return divided_at_the_end(queries, keys, values)[0]


@repaired_attention.equivalent
def with_a_running_maximum(queries, keys, values):
    return key_by_key(queries, keys, values)[0]
