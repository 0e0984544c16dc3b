"""masked_attention: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.masking.masked_softmax import (
    after_the_softmax,
    even_weights_when_empty,
    full_shape_only,
    lowest_number_then_zero,
    mask_added,
    masked_columns,
    nan_to_zero,
    nan_when_empty,
    no_maximum,
    promoted_softmax,
    scores_times_mask,
    softmax_before_and_after,
    softmax_of_the_weights,
    zero_times_infinity,
)
from autograder.exercises.masking.shared import PENALTIES, random_mask, roles, scaled_scores, with_empty_row
from solutions import masking as reference
from solutions.attention import softmax

masked_attention = Exercise(
    reference.masked_attention,
    outputs={"output": "... T_query d_value", "cache": UNJUDGED},
    section="Masked attention",
    uses=("masked_softmax",),
)


@masked_attention.cases("the idea", points=1)
def _(draw):
    yield "one sentence, a mask of its own", roles(draw)
    square = roles(draw, T_query=4, T_key=4)
    yield "as many queries as keys", square
    yield "a causal mask", square | {"mask": np.tri(4, dtype=bool)}


@masked_attention.cases("batches and masks", points=1)
def _(draw):
    yield "one batch axis", roles(draw, 1)
    inputs = roles(draw, 2)
    T_query, T_key = inputs["mask"].shape[-2:]
    yield "two batch axes", inputs
    yield "one mask for all heads", inputs | {"mask": random_mask(draw, 2, 1, T_query, T_key)}
    yield "one mask for all", inputs | {"mask": random_mask(draw, T_query, T_key)}
    yield "one row for all queries", inputs | {"mask": random_mask(draw, 2, 1, 1, T_key)}
    yield "one row for all queries, (T_key,)", inputs | {"mask": random_mask(draw, T_key)}


@masked_attention.cases("queries that see nothing", points=1)
def _(draw):
    inputs = roles(draw, 1)
    yield "one in each sentence", inputs | {"mask": with_empty_row(inputs["mask"])}
    yield "all of them", inputs | {"mask": np.zeros((1, 1), bool)}


@masked_attention.cases("stability, float32 and edge cases", points=1)
def _(draw):
    inputs = roles(draw, 1)
    yield "scores in the thousands", inputs | {"queries": 100 * inputs["queries"], "keys": 100 * inputs["keys"]}
    inputs = roles(draw, 1, dtype=np.float32)
    yield "float32", inputs
    yield "float32, a query that sees nothing", inputs | {"mask": with_empty_row(inputs["mask"])}
    yield "T_query = 1", roles(draw, 1, T_query=1)
    yield "T_key = 1", roles(draw, 1, T_key=1)
    yield "d_key = 1", roles(draw, 1, d_key=1)
    inputs = roles(draw)
    T_query, d_key = inputs["queries"].shape
    yield "unequal d_key", inputs | {"queries": draw.normal(T_query, d_key + 1)}
    yield "unequal d_key, that of the queries is 1", inputs | {"queries": draw.normal(T_query, 1)}
    yield "unequal d_key, that of the keys is 1", inputs | {"keys": inputs["keys"][:, :1]}


def through(weigh, factor=1):
    """Attention with another masked softmax, or with its scores times a factor."""

    def attend(queries, keys, values, mask):
        return weigh(scaled_scores(queries, keys) * factor, mask) @ values, None

    return attend


@masked_attention.mistake("the mask has no effect", reread="Finite substitutes for infinity")
def mask_ignored(queries, keys, values, mask):
    """Every query sees every key. Either the mask is not used, or it hides with a number that is too small: -1e-20
    changes no digit of a score. Minus infinity is `-np.inf`."""
    return softmax(scaled_scores(queries, keys)) @ values, None


@masked_attention.mistake("masks the weights, after the softmax", reread="Why before the softmax")
def weights_masked_late(queries, keys, values, mask):
    """You multiply by the mask after the softmax. The hidden values drop out, but the rows no longer add up to one, and
    the hidden scores are still in every denominator: change the future, and the outputs of the past change. Mask the
    scores, before the softmax."""
    return through(after_the_softmax)(queries, keys, values, mask)


@masked_attention.mistake("masks the output, in the shape of the values", reread="Why before the softmax")
def output_masked(queries, keys, values, mask):
    """You add a triangle of -inf to the *output*, in the shape of the values. It hides no key from any query. It makes
    most of the output infinite and the next layer NaN, and the first entry has still seen the future. A mask is about
    pairs of a query and a key, so it belongs on the scores, (..., T_query, T_key)."""
    output, _ = mask_ignored(queries, keys, values, mask)
    T_query, d_value = output.shape[-2:]
    return np.where(np.tri(T_query, d_value, dtype=bool), output, -np.inf).astype(output.dtype), None


@masked_attention.mistake("reads True as hidden", reread="Two conventions, opposite to each other")
def inverted_attention(queries, keys, values, mask):
    """What the mask allows is hidden, and what it hides is allowed. In this book True means 'may attend'."""
    return reference.masked_attention(queries, keys, values, ~mask)


@masked_attention.mistake("gives what is hidden a score of zero", reread="Why before the softmax")
def scores_multiplied(queries, keys, values, mask):
    """A hidden score becomes 0, by a product with the mask, or next to 0, by 1e-9 or -1e-9 where -1e9 was meant. 0 is a
    score like any other. Only minus infinity gets no weight."""
    return through(scores_times_mask)(queries, keys, values, mask)


@masked_attention.mistake("averages everything for a query that sees nothing", reread="Rows that see nothing")
def even_average_when_empty(queries, keys, values, mask):
    """A query that may attend to nothing gets the plain average of all values, every one of them hidden: with a finite
    'minus infinity' all its scores are equal. Its output should be zero."""
    return through(even_weights_when_empty)(queries, keys, values, mask)


@masked_attention.mistake(
    "adds a number such as {number} to the hidden scores",
    reread="Finite substitutes for infinity",
    number=(*PENALTIES, -1e3, -1e7),
)
def penalty_added(queries, keys, values, mask, *, number):
    """A finite penalty such as {number} is *added* to the hidden scores. For a query that may attend to nothing, all
    scores go down together, and softmax ignores a shift, so the query gets the same output as without a mask. Its
    output should be zero."""
    return softmax(scaled_scores(queries, keys) + np.where(mask, 0, number).astype(queries.dtype)) @ values, None


@masked_attention.mistake("gives NaN for a query that sees nothing", reread="Rows that see nothing")
def nan_attention(queries, keys, values, mask):
    """A query that may attend to nothing gets NaN, and from there NaN spreads through every layer and every gradient.
    Its output should be zero: use your `masked_softmax`."""
    return through(nan_when_empty)(queries, keys, values, mask)


@masked_attention.mistake("does not scale the scores")
def unscaled_masked(queries, keys, values, mask):
    """The mask is right; the division by the square root of d_key is missing. Scale, mask, softmax, in this order."""
    return reference.masked_softmax(queries @ keys.swapaxes(-1, -2), mask) @ values, None


@masked_attention.mistake("divides by d_key, not by its root")
def divided_by_d_key(queries, keys, values, mask):
    """The mask is right; the scores are divided by d_key, or twice by its root, which is the same, so the weights are
    too even. Divide once, by the *square root*."""
    factor = 1 / math.sqrt(keys.shape[-1])
    return through(reference.masked_softmax, factor)(queries, keys, values, mask)


@masked_attention.mistake("multiplies by the root of d_key instead of dividing")
def scaled_up(queries, keys, values, mask):
    """The mask is right; the scores are multiplied by the square root of d_key, or divided by d_key ** -0.5, which is
    the same. Divide by the root."""
    return through(reference.masked_softmax, keys.shape[-1])(queries, keys, values, mask)


@masked_attention.mistake("scales by the number of keys")
def scaled_by_T_key(queries, keys, values, mask):
    """The mask is right; the scores are divided by the root of T_key, the number of keys. A score is a sum of d_key
    products: keys.shape[-1]."""
    factor = math.sqrt(keys.shape[-1] / keys.shape[-2])
    return through(reference.masked_softmax, factor)(queries, keys, values, mask)


@masked_attention.mistake("scales by the width of the values")
def scaled_by_d_value(queries, keys, values, mask):
    """The mask is right; the scores are divided by the root of d_value. A score is a sum of d_key products, and the
    values have no part in it."""
    factor = math.sqrt(keys.shape[-1] / values.shape[-1])
    return through(reference.masked_softmax, factor)(queries, keys, values, mask)


@masked_attention.mistake("averages the keys instead of the values")
def keys_handed_over(queries, keys, values, mask):
    """The right weights, on the wrong things: you average the keys. A query finds an entry by its key, and the entry
    hands over its value."""
    return reference.masked_attention(queries, keys, keys, mask)[0], None


@masked_attention.mistake("normalises over the queries")
def queries_compete(queries, keys, values, mask):
    """The mask is right, but the softmax runs down the columns: the queries compete for each key. Each query shares out
    one unit among the keys that it sees: softmax along the last axis."""
    return through(masked_columns)(queries, keys, values, mask)


@masked_attention.mistake("overflows on large scores", reread="From masked scores to weights")
def overflows(queries, keys, values, mask):
    """Right for small scores, NaN for large ones, because your softmax does not subtract each row's maximum. Use your
    `masked_softmax`."""
    return through(no_maximum)(queries, keys, values, mask)


@masked_attention.mistake("adds the mask to the scores", reread="Two conventions, opposite to each other")
def boolean_added(queries, keys, values, mask):
    """True counts as 1 in a sum: an allowed score goes up by one, but a hidden one stays in the row. Only minus
    infinity hides: use your `masked_softmax`."""
    return through(mask_added)(queries, keys, values, mask)


@masked_attention.mistake("multiplies zero by infinity", reread="Finite substitutes for infinity")
def zero_times_infinity_added(queries, keys, values, mask):
    """The penalty is 0 where a key is allowed, times minus infinity, and 0 times infinity is NaN: every output is NaN,
    even where nothing is hidden. Choose with `np.where`."""
    return through(zero_times_infinity)(queries, keys, values, mask)


@masked_attention.mistake("adds an axis for the heads to the mask", reread="Which mask goes where")
def own_head_axis(queries, keys, values, mask):
    """You add an axis for the heads to the mask. But a mask arrives ready to broadcast: with (T_query, T_key) the extra
    axis does no harm, but with a batch it turns sentences into heads. The code that makes the heads also makes their
    axis."""
    return reference.masked_attention(queries, keys, values, mask[..., None, :, :])[0], None


@masked_attention.mistake("applies the mask to the first head only", reread="Which mask goes where")
def first_head_only(queries, keys, values, mask):
    """Only the first matrix of the axis before the last two, the first head (or sentence), is masked, and the others
    see everything. Let the mask broadcast over all leading axes."""
    scores = scaled_scores(queries, keys)
    mask = np.broadcast_to(mask, scores.shape).copy()
    if mask.ndim > 2:
        mask[..., 1:, :, :] = True
    return reference.masked_softmax(scores, mask) @ values, None


@masked_attention.mistake("needs a mask in the full shape of the scores", reread="From masked scores to weights")
def indexed_attention(queries, keys, values, mask):
    """The scores are indexed with the mask, so it must have exactly their shape. A mask for all sentences, or one row
    for all queries, is an error. `np.where` broadcasts."""
    return through(full_shape_only)(queries, keys, values, mask)


@masked_attention.mistake("lets a d_key of 1 pass for any other")
def widths_stretched(queries, keys, values, mask):
    """Queries and keys of different widths have no dot product. `einsum` and an entry-by-entry product broadcast a
    width of 1 to any other and return numbers anyway. Compare the two widths and raise a ValueError."""
    scores = np.einsum("...id,...jd->...ij", queries, keys) / math.sqrt(keys.shape[-1])
    return reference.masked_softmax(scores, mask) @ values, None


@masked_attention.mistake("promotes float32 to float64", reread="From masked scores to weights")
def promoted_attention(queries, keys, values, mask):
    """float32 came back as float64: `np.where(mask, 0, -np.inf)` is an array of float64, and promotes the scores to
    which you add it."""
    return through(promoted_softmax)(queries, keys, values, mask)


@masked_attention.mistake("exchanges the first two axes of the keys")
def front_axes_exchanged(queries, keys, values, mask):
    """The first two axes of the keys are swapped, as `keys.swapaxes(0, 1)` does. For one sentence that is the
    transpose; with a batch, it mixes the batch with the words. Count from the end: `keys.swapaxes(-1, -2)`."""
    scores = queries @ keys.swapaxes(0, 1) / math.sqrt(keys.shape[-1])
    return reference.masked_softmax(scores, mask) @ values, None


@masked_attention.mistake("exchanges keys and values")
def keys_for_values(queries, keys, values, mask):
    """The queries are compared with the values, and the keys are averaged. It is the other way round: a query finds an
    entry by its key, and the entry hands over its value. If d_value = d_key, only the numbers are wrong."""
    return reference.masked_attention(queries, values, keys, mask)


@masked_attention.mistake("applies the softmax twice", reread="From masked scores to weights")
def weighed_twice(queries, keys, values, mask):
    """The masked weights go through a softmax once more. A weight of 0 is a score of 0 there, and exp(0) = 1, so what
    is hidden gets weight again, and all weights come out nearly even. Apply one softmax, to the masked scores."""
    return through(softmax_of_the_weights)(queries, keys, values, mask)


@masked_attention.mistake("masks between two softmaxes", reread="Why before the softmax")
def weighed_before_and_after(queries, keys, values, mask):
    """There are two softmaxes, one before the mask and one after it. The second one sees weights between 0 and 1 in
    place of scores, so what is allowed comes out nearly even. Mask the scores themselves, then apply one softmax."""
    return through(softmax_before_and_after)(queries, keys, values, mask)


@masked_attention.equivalent
def by_einsum(queries, keys, values, mask):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("d_key differs")
    scores = np.einsum("...id,...jd->...ij", queries, keys) * keys.shape[-1] ** -0.5
    return np.einsum("...ij,...jv->...iv", nan_to_zero(scores, mask), values), None


@masked_attention.equivalent
def masked_before_the_scale(queries, keys, values, mask):
    """(S + M) / sqrt(d) instead of S / sqrt(d) + M: the same, for -inf only."""
    hidden = np.where(mask, queries @ keys.swapaxes(-1, -2), -np.inf).astype(queries.dtype) / math.sqrt(keys.shape[-1])
    return np.nan_to_num(softmax(hidden), nan=0) @ values, None


@masked_attention.equivalent
def only_the_visible_keys(queries, keys, values, mask):
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    mask = np.broadcast_to(mask, (*queries.shape[:-1], keys.shape[-2]))
    for index in np.ndindex(queries.shape[:-1]):
        seen = mask[index]
        if seen.any():
            shares = softmax(keys[index[:-1]][seen] @ queries[index] / math.sqrt(keys.shape[-1]))
            output[index] = shares @ values[index[:-1]][seen]
    return output, None


@masked_attention.equivalent
def hidden_scores_made_lowest(queries, keys, values, mask):
    return through(lowest_number_then_zero)(queries, keys, values, mask)
