"""masked_softmax: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.masking.shared import PENALTIES, random_mask, with_empty_row, zero_if_empty
from solutions import masking as reference
from solutions.attention import softmax

masked_softmax = Exercise(
    reference.masked_softmax,
    outputs={"weights": "... n"},
    section="From masked scores to weights",
)


@masked_softmax.cases("the idea", points=1)
def _(draw):
    n = draw.size(3, 8)
    yield "one row", {"scores": draw.normal(n), "mask": random_mask(draw, n)}
    shape = draw.sizes(3, low=3)
    yield "many rows", {"scores": draw.normal(*shape), "mask": random_mask(draw, *shape)}
    yield "everything allowed", {"scores": draw.normal(*shape), "mask": np.ones(shape, bool)}


@masked_softmax.cases("masks that broadcast", points=1)
def _(draw):
    n_batch, n_heads, T_query, T_key = draw.sizes(4, low=3)
    scores = draw.normal(n_batch, n_heads, T_query, T_key)
    yield "the same for all sentences and heads", {"scores": scores, "mask": random_mask(draw, T_query, T_key)}
    yield "the same for all queries", {"scores": scores, "mask": random_mask(draw, n_batch, 1, 1, T_key)}
    yield "the same for all heads", {"scores": scores, "mask": random_mask(draw, n_batch, 1, T_query, T_key)}
    yield "one row for everything, (T_key,)", {"scores": scores, "mask": random_mask(draw, T_key)}


@masked_softmax.cases("rows that see nothing", points=1)
def _(draw):
    shape = draw.sizes(3, low=3)
    mask = with_empty_row(random_mask(draw, *shape))
    yield "one row in each matrix", {"scores": draw.normal(*shape), "mask": mask}
    yield "all rows, by one broadcast No", {"scores": draw.normal(*shape), "mask": np.zeros((1, 1), bool)}


@masked_softmax.cases("large scores", points=1)
def _(draw):
    shape = draw.sizes(2, low=3)
    mask = random_mask(draw, *shape)
    scores = draw.normal(*shape)
    yield "scores in the thousands", {"scores": 3000 + 20 * scores, "mask": mask}
    yield "scores far below zero", {"scores": -30_000 + 20 * scores, "mask": mask}
    yield "a hidden score that towers over the rest", {"scores": np.where(mask, scores, 1e5 + scores), "mask": mask}
    heights = 2000 * draw.rng.permutation(shape[0])[:, None]
    yield "rows of very different height", {"scores": heights + scores, "mask": mask}
    yield "scores in the thousands, below zero", {"scores": -5000 + 20 * scores, "mask": mask}
    below = with_empty_row(mask)
    towering = -1e300 * (np.where(below, 3, 1) + np.tanh(scores))  # what is hidden is larger than what may be seen
    yield "scores below any number to hide with", {"scores": towering, "mask": below}
    sentences = np.stack([scores + 2000, scores, scores - 2000])
    yield "sentences of very different height", {"scores": sentences, "mask": mask}


@masked_softmax.cases("float32 and float16", points=1)
def _(draw):
    shape = draw.sizes(2, low=3)
    for dtype in (np.float32, np.float16):
        name = np.dtype(dtype).name
        mask = random_mask(draw, *shape)
        yield name, {"scores": draw.normal(*shape, dtype=dtype), "mask": mask}
        empty = with_empty_row(mask)
        yield f"{name}, a row that sees nothing", {"scores": draw.normal(*shape, dtype=dtype), "mask": empty}


def filled(scores, mask, value):
    """Softmax after each hidden score is replaced, in the scores' own dtype."""
    return softmax(np.where(mask, scores, scores.dtype.type(value)))


@masked_softmax.mistake("masks after the softmax", reread="Why before the softmax")
def after_the_softmax(scores, mask):
    """The softmax sees every score, and the hidden weights are set to zero afterwards. So the rows no longer add up to
    one, and the hidden scores still matter: they are in the denominator of every weight. Mask the scores, before the
    softmax."""
    return softmax(scores) * mask


@masked_softmax.mistake("puts minus infinity into the weights", reread="Why before the softmax")
def infinite_weights(scores, mask):
    """Minus infinity comes after the softmax: it is the right *score* for what is hidden, and the weight that it leads
    to is 0. A weight of minus infinity makes the next product infinite or NaN. Mask the scores, before the softmax."""
    return np.where(mask, softmax(scores), scores.dtype.type(-np.inf))


@masked_softmax.mistake("gives what is hidden a score of zero", reread="Why before the softmax")
def scores_times_mask(scores, mask):
    """A hidden score becomes 0, by a product with the mask, or next to 0, by 1e-9 or -1e-9 where -1e9 was meant. 0 is a
    score like any other: exp(0) = 1 is often more than an allowed entry gets. Only minus infinity gets no weight."""
    return softmax(scores * mask)


@masked_softmax.mistake("adds the mask to the scores", reread="Two conventions, opposite to each other")
def mask_added(scores, mask):
    """True counts as 1 in a sum: every allowed score rises by one, and the hidden scores stay in the row. An *additive*
    mask holds 0 and minus infinity. With a boolean mask, choose by `np.where`."""
    return softmax(scores + mask.astype(scores.dtype))


@masked_softmax.mistake("the mask has no effect", reread="Finite substitutes for infinity")
def tiny_penalty(scores, mask):
    """The weights are those without a mask. Either you do not use it at all, or it hides with -1e-20. That number is
    not very negative but almost zero, and adding it to a score changes nothing. Minus infinity is `-np.inf`."""
    return softmax(scores + np.where(mask, 0, -1e-20).astype(scores.dtype))


@masked_softmax.mistake(
    "hides what is allowed, and allows what is hidden", reread="Two conventions, opposite to each other"
)
def polarity_inverted(scores, mask):
    """True is taken for 'hide'. PyTorch's `nn.MultiheadAttention` reads a mask like that; in this book, and in
    `scaled_dot_product_attention`, True means 'may attend'."""
    return reference.masked_softmax(scores, ~mask)


@masked_softmax.mistake("hides with plus infinity", reread="Why before the softmax")
def hidden_by_plus_infinity(scores, mask):
    """What is hidden gets the largest possible score, where it should get the lowest: exp of plus infinity is infinite,
    and infinity minus infinity is NaN. exp of *minus* infinity is 0: `-np.inf`."""
    return filled(scores, mask, np.inf)


@masked_softmax.mistake("multiplies zero by infinity", reread="Finite substitutes for infinity")
def zero_times_infinity(scores, mask):
    """Your penalty is a product of minus infinity and something that is 0 where a key is allowed, and 0 times infinity
    is NaN, not 0. So every allowed score is NaN, even where nothing is hidden. Choose with `np.where` instead of
    multiplying."""
    return softmax(scores + (~mask).astype(scores.dtype) * scores.dtype.type(-np.inf))


@masked_softmax.mistake("normalises over the queries")
def masked_columns(scores, mask):
    """The mask is right, but the weights add up to one down each column: the softmax runs along the queries. Each query
    shares out one unit among the keys that it sees: the last axis, -1."""
    axis = max(-2, -scores.ndim)
    hidden = np.where(mask, scores, -np.inf).astype(scores.dtype)
    strengths = np.exp(hidden - hidden.max(axis=axis, keepdims=True))
    return np.where(mask, strengths / strengths.sum(axis=axis, keepdims=True), 0)


@masked_softmax.mistake("gives even weights to a row that sees nothing", reread="Rows that see nothing")
def even_weights_when_empty(scores, mask):
    """Hidden scores all become the same very negative *finite* number: it replaces them, or it is added and is so large
    that it swallows them. In a row where everything is hidden, all scores are then equal, so softmax gives even
    weights, all of them to entries that must not be seen. (In float16, -1e9 is minus infinity, and the row is NaN.)
    Such a row should be zero."""
    return filled(scores, mask, -1e9)


@masked_softmax.mistake("is right but for even weights in rows that see nothing", reread="Rows that see nothing")
def lowest_number_when_empty(scores, mask):
    """A row that sees nothing gets even weights, all of them for entries that it must not see. Softmax gives even
    weights if all hidden scores become the lowest number of the dtype, `np.finfo(scores.dtype).min`: then all scores of
    the row are equal. In the other rows, that number hides well. Set the weights of a row that sees nothing to zero."""
    return filled(scores, mask, np.finfo(scores.dtype).min)


@masked_softmax.mistake("adds the lowest number of the dtype to the hidden scores", reread="Rows that see nothing")
def lowest_number_added(scores, mask):
    """The penalty is the lowest number of the dtype, `np.finfo(scores.dtype).min`, and you add it to the hidden scores.
    In a row where everything is hidden, the sums are all equal and softmax gives even weights, or the sums overflow to
    minus infinity and the row is NaN. Set the weights of such a row to zero."""
    penalty = (~mask).astype(scores.dtype) * np.finfo(scores.dtype).min
    return softmax(scores + penalty)


@masked_softmax.mistake(
    "adds a number such as {number} to the hidden scores",
    reread="Finite substitutes for infinity",
    number=PENALTIES,
)
def unmasked_when_empty(scores, mask, *, number):
    """A finite penalty such as {number} is *added* to the hidden scores. In a row where everything is hidden, all
    scores go down together, and softmax ignores a shift: the weights are those without a mask. (Also, a hidden score
    that is large enough exceeds the penalty.)"""
    return softmax(scores + np.where(mask, 0, number))


@masked_softmax.mistake("gives NaN for a row that sees nothing", reread="Rows that see nothing")
def nan_when_empty(scores, mask):
    """Hidden scores become minus infinity, which is right. But in a row where everything is hidden, the row's maximum
    is minus infinity too, and -inf - (-inf) is NaN. Such rows need a rule of their own: weights of zero."""
    return filled(scores, mask, -np.inf)


@masked_softmax.mistake("hides with a number that scores can fall below", reread="Finite substitutes for infinity")
def not_low_enough(scores, mask):
    """Hidden scores become -10000, say, and the weights are set to zero afterwards. That is right as long as every
    score is larger. In a row of scores far below that number, the hidden ones are the largest: they take all the
    weight, and then lose it. No score is below minus infinity, `-np.inf`."""
    return filled(scores, mask, -1e4) * mask


@masked_softmax.mistake(
    "hides with a finite number, but handles rows that see nothing", reread="Finite substitutes for infinity"
)
def finite_beside_a_rule(scores, mask):
    """A row that sees nothing has its own rule; in all others, hidden scores become -1e9, say. That is right as long as
    every score is larger. In a row of scores below that number, the hidden ones are the largest: they take all the
    weight, and then lose it. No score is below minus infinity, `-np.inf`."""
    row_is_empty = ~mask.any(axis=-1, keepdims=True)
    return np.where(mask, filled(scores, mask | row_is_empty, -1e9), 0)


@masked_softmax.mistake(
    "hides with a number such as {number}, and nothing else",
    reread="Finite substitutes for infinity",
    number=(-1e4, -1e3),
)
def not_low_enough_alone(scores, mask, *, number):
    """Hidden scores become a number such as {number}. A row of scores far below that number gives its weight to what is
    hidden, and a row in which everything is hidden gets even weights, where it should get zeros. No score is below
    minus infinity, `-np.inf`; then set the weights of rows that see nothing to zero."""
    return filled(scores, mask, number)


@masked_softmax.mistake("hides with a number that float16 does not have", reread="Finite substitutes for infinity")
def no_such_half(scores, mask):
    """-1e9 is a fine substitute in float32 and float64, and the zeros afterwards fix rows that see nothing. But float16
    ends at 65504, so there -1e9 becomes minus infinity: a row that sees nothing is NaN, and NaN times 0 stays NaN."""
    return filled(scores, mask, -1e9) * mask


@masked_softmax.mistake("overflows in float16", reread="Finite substitutes for infinity")
def too_large_for_half(scores, mask):
    """-1e20 does not exist in float16, whose largest number is 65504: it becomes -inf, and 0 times -inf, the penalty
    of an allowed entry, is NaN. Choose entries with `np.where` and write -np.inf, which every dtype has."""
    penalty = (~mask).astype(scores.dtype) * scores.dtype.type(-1e20)
    return zero_if_empty(softmax(scores + penalty), mask)


@masked_softmax.mistake("takes the maximum over hidden scores too", reread="Why before the softmax")
def maximum_over_everything(scores, mask):
    """Multiplying the exponentials by the mask, before the sum, is fine as algebra. But the maximum that you subtract
    comes from all scores: if a hidden score is far above the rest, every allowed exponential underflows to 0, and the
    row has nothing left to share out. Take the maximum over the allowed scores."""
    strengths = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    total = strengths.sum(axis=-1, keepdims=True)
    return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


@masked_softmax.mistake("counts hidden scores as zero, or as too large a number, in the maximum")
def zeros_in_the_maximum(scores, mask):
    """For the maximum, hidden scores count as 0, or as a number such as -1000. Where every visible score is far below
    that number, all exponentials of visible scores become 0, and nothing is left to share out. For the maximum, too,
    what is hidden is minus infinity."""
    highest = np.where(mask, scores, 0).max(axis=-1, keepdims=True)
    strengths = np.exp(np.where(mask, scores - highest, -np.inf).astype(scores.dtype))
    total = strengths.sum(axis=-1, keepdims=True)
    return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


@masked_softmax.mistake("subtracts one maximum for all rows")
def one_maximum_for_all(scores, mask):
    """Hidden scores are minus infinity, and the maximum that is subtracted is that of the whole array, or of another
    row. A row far below it underflows: all of its exponentials are 0, and nothing is left to share out. Each row needs
    its own maximum: axis=-1 with keepdims=True."""
    hidden = np.where(mask, scores, -np.inf).astype(scores.dtype)
    highest = hidden.max()
    strengths = np.exp(hidden - (highest if np.isfinite(highest) else 0))
    total = strengths.sum(axis=-1, keepdims=True)
    return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


@masked_softmax.mistake("subtracts no maximum")
def no_maximum(scores, mask):
    """Multiplying the exponentials by the mask, before the sum, is fine as algebra. But exp of a large score is
    infinite, and infinity over infinity is NaN; far below zero every exponential is 0, and nothing is left to share
    out. First subtract the maximum of the allowed scores."""
    strengths = np.exp(scores) * mask
    total = strengths.sum(axis=-1, keepdims=True)
    return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


@masked_softmax.mistake(
    "adds a number such as {number} to the sum",
    reread="Rows that see nothing",
    number=(1e-9, 1e-5, 1e-6, 1e-7, 1e-8),
)
def a_little_more(scores, mask, *, number):
    """You add a number such as {number} to each sum, so that rows that see nothing are not 0/0. But then no other row
    quite adds up to one, and in float16 a number below 6e-8 is 0. Divide only where the sum is positive, as `np.divide`
    does with `where=`."""
    hidden = np.where(mask, scores, -np.inf).astype(scores.dtype)
    highest = hidden.max(axis=-1, keepdims=True)
    strengths = np.exp(hidden - np.where(np.isfinite(highest), highest, 0).astype(scores.dtype))
    return strengths / (strengths.sum(axis=-1, keepdims=True) + number)


@masked_softmax.mistake("renormalises, with a small number in the divisor", reread="Why before the softmax")
def renormalised_with_a_little(scores, mask):
    """You mask the finished weights and divide by what is left, plus a small number. So no row quite adds up to one,
    and where a hidden score took all the weight, the whole row is 0. (In float16 the small number is itself 0, and 0/0
    is NaN.) Mask the scores, before the softmax."""
    weights = softmax(scores) * mask
    return weights / (weights.sum(axis=-1, keepdims=True) + 1e-9)


@masked_softmax.mistake("renormalises, and divides zero by zero", reread="Why before the softmax")
def renormalised(scores, mask):
    """Masking the finished weights and dividing by what is left is fine as algebra, but fails when nothing is left: in
    a row that sees nothing, and in one where a hidden score took all the weight, 0/0 is NaN. Mask the scores, before
    the softmax."""
    weights = softmax(scores) * mask
    return weights / weights.sum(axis=-1, keepdims=True)


@masked_softmax.mistake("promotes float32 to float64")
def promoted_softmax(scores, mask):
    """float32 came back as float64. `np.where(mask, 0, -np.inf)` makes an array of float64, and adding it to the scores
    promotes them. Choose between the scores and -np.inf in one `np.where`, which keeps the dtype of the scores."""
    return zero_if_empty(softmax(scores + np.where(mask, 0.0, -np.inf)), mask)


@masked_softmax.mistake("needs a mask in the full shape of the scores")
def full_shape_only(scores, mask):
    """`scores[~mask] = ...` indexes with the mask, and such an index must have exactly the shape of the scores. Masks
    are often smaller: (T_query, T_key) for all sentences, or (..., 1, T_key) for all queries. `np.where` broadcasts,
    and makes a new array, too."""
    hidden = scores.copy()
    hidden[~mask] = -np.inf
    return zero_if_empty(softmax(hidden), mask)


@masked_softmax.mistake("writes into the caller's scores")
def writes_into_scores(scores, mask):
    """The caller's scores have changed: hidden entries were overwritten in place. Make a new array, with `np.where`."""
    np.copyto(scores, -np.inf, where=~mask)
    return zero_if_empty(softmax(scores), mask)


@masked_softmax.mistake(
    "hides with a number such as {number}, and sets rows that see nothing to zero",
    reread="Finite substitutes for infinity",
    number=(-1e9, -1e4, -1e3),
)
def filled_then_empty_rows(scores, mask, *, number):
    """Hidden scores become a number such as {number}, and a row in which everything is hidden becomes zero. That is
    right as long as every score is larger. A row of scores far below that number gives its weight to what is hidden. No
    score is below minus infinity, `-np.inf`."""
    return zero_if_empty(filled(scores, mask, number), mask)


@masked_softmax.mistake(
    "adds a number such as {number} to the hidden scores, and sets rows that see nothing to zero",
    reread="Finite substitutes for infinity",
    number=(-1e9, -1e4, -1e5),
)
def added_then_empty_rows(scores, mask, *, number):
    """A number such as {number} is *added* to the hidden scores, and a row in which everything is hidden becomes zero.
    In the other rows a hidden score that is large enough exceeds the penalty, and gets weight again. Choose instead of
    adding: `np.where` with minus infinity."""
    return zero_if_empty(softmax(scores + np.where(mask, 0, number).astype(scores.dtype)), mask)


@masked_softmax.mistake("applies the softmax twice", reread="From masked scores to weights")
def softmax_twice(scores, mask):
    """The masked softmax is applied to its own weights. They lie between 0 and 1, so what is allowed comes out nearly
    even. Apply it once, to the scores."""
    return reference.masked_softmax(reference.masked_softmax(scores, mask), mask)


@masked_softmax.mistake("applies a softmax to the masked weights", reread="From masked scores to weights")
def softmax_of_the_weights(scores, mask):
    """The masked weights go through a softmax once more. A weight of 0 is a score of 0 there, and exp(0) = 1, so what
    is hidden gets weight again, and all weights come out nearly even. Apply one softmax, to the masked scores."""
    return softmax(reference.masked_softmax(scores, mask))


@masked_softmax.mistake("masks between two softmaxes", reread="Why before the softmax")
def softmax_before_and_after(scores, mask):
    """There are two softmaxes, one before the mask and one after it. The second one sees weights between 0 and 1 in
    place of scores, so what is allowed comes out nearly even. Mask the scores themselves, then apply one softmax."""
    return reference.masked_softmax(softmax(scores), mask)


@masked_softmax.equivalent
def masked_row_by_row(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    weights = np.zeros_like(scores)
    for index in np.ndindex(scores.shape[:-1]):
        allowed = mask[index]
        if allowed.any():
            weights[index][allowed] = softmax(scores[index][allowed])
    return weights


@masked_softmax.equivalent
def maximum_over_the_allowed(scores, mask):
    highest = np.max(scores, axis=-1, keepdims=True, where=np.broadcast_to(mask, scores.shape), initial=-np.inf)
    strengths = np.exp(np.where(mask, scores - highest, -np.inf).astype(scores.dtype))
    return strengths / np.maximum(strengths.sum(axis=-1, keepdims=True), np.finfo(scores.dtype).tiny)


@masked_softmax.equivalent
def nan_to_zero(scores, mask):
    return np.nan_to_num(filled(scores, mask, -np.inf), nan=0)


@masked_softmax.equivalent
def lowest_number_then_zero(scores, mask):
    return filled(scores, mask, np.finfo(scores.dtype).min) * mask


@masked_softmax.equivalent
def through_masked_arrays(scores, mask):
    hidden = np.ma.array(scores, mask=np.broadcast_to(~mask, scores.shape))
    strengths = np.ma.exp(hidden - hidden.max(axis=-1, keepdims=True))
    return (strengths / strengths.sum(axis=-1, keepdims=True)).filled(0).astype(scores.dtype)
