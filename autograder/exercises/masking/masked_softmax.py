import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.masking.shared import random_mask, with_empty_row, with_single_key, zero_if_empty
from solutions import masking as reference
from solutions.attention import softmax

masked_softmax = Exercise(
    reference.masked_softmax,
    outputs={"weights": "... n"},
    section="From masked scores to weights",
)
wrong = short_mistakes(masked_softmax)


@masked_softmax.cases("the idea", points=1)
def _(draw):
    n = draw.size(3, 8)
    yield "one row", {"scores": draw.normal(n), "mask": random_mask(draw, n)}
    shape = draw.sizes(3, low=3)
    yield "many rows", {"scores": draw.normal(*shape), "mask": with_single_key(random_mask(draw, *shape))}
    yield "everything allowed", {"scores": draw.normal(*shape), "mask": np.ones(shape, bool)}


@masked_softmax.cases("masks that broadcast", points=1)
def _(draw):
    n_batch, n_heads, T_query, T_key = draw.sizes(4, low=3)
    scores = draw.normal(n_batch, n_heads, T_query, T_key)
    yield (
        "the same for all sentences and heads",
        {"scores": scores, "mask": with_single_key(random_mask(draw, T_query, T_key))},
    )
    yield "the same for all queries", {"scores": scores, "mask": random_mask(draw, n_batch, 1, 1, T_key)}
    yield "the same for all heads", {"scores": scores, "mask": random_mask(draw, n_batch, 1, T_query, T_key)}
    yield "one row for everything, (T_key,)", {"scores": scores, "mask": random_mask(draw, T_key)}


@masked_softmax.cases("rows that see nothing", points=1)
def _(draw):
    shape = draw.sizes(3, low=3)
    mask = with_empty_row(with_single_key(random_mask(draw, *shape)))
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
    towering = -1e300 * (np.where(below, 3, 1) + np.tanh(scores))  # hidden scores are larger than visible ones
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
    """Replace each hidden score, in the scores' own dtype, and apply softmax."""
    return softmax(np.where(mask, scores, scores.dtype.type(value)))


wrong("after_the_softmax", lambda scores, mask: softmax(scores) * mask)("""
    masks after the softmax -> Why before the softmax
    Your softmax sees every score, and you set the hidden weights to zero afterwards. So the rows no longer add up to
    one, and the hidden scores still matter, because every weight has them in its denominator. Mask the scores, before
    the softmax.""")
wrong("infinite_weights", lambda scores, mask: np.where(mask, softmax(scores), scores.dtype.type(-np.inf)))("""
    puts minus infinity into the weights -> Why before the softmax
    You write minus infinity into the weights. It is the right *score* for a hidden key, whose weight is then 0. A
    weight of minus infinity makes the next product infinite or NaN. Mask the scores, before the softmax.""")
wrong("scores_times_mask", lambda scores, mask: softmax(scores * mask))("""
    gives what is hidden a score of zero -> Why before the softmax
    A hidden score becomes 0, by a product with the mask, or almost 0, by 1e-9 or -1e-9 instead of -1e9. 0 is a score
    like any other: exp(0) = 1 is often more than an allowed entry gets. Only minus infinity gets no weight.""")
wrong("mask_added", lambda scores, mask: softmax(scores + mask.astype(scores.dtype)))("""
    adds the mask to the scores -> Two conventions, opposite to each other
    True counts as 1 in a sum, so every allowed score rises by one, and the hidden scores stay in the row. An *additive*
    mask holds 0 and minus infinity. With a boolean mask, choose by `np.where`.""")
wrong("tiny_penalty", lambda scores, mask: softmax(scores + np.where(mask, 0, -1e-20).astype(scores.dtype)))("""
    the mask has no effect -> Finite substitutes for infinity
    Your weights are those without a mask. Either you do not use the mask at all, or you hide with -1e-20. This number
    is not very negative but almost zero, so adding it to a score changes nothing. Minus infinity is `-np.inf`.""")
wrong("polarity_inverted", lambda scores, mask: reference.masked_softmax(scores, ~mask))("""
    hides what is allowed, and allows what is hidden -> Two conventions, opposite to each other
    You take True for 'hide', like PyTorch's `nn.MultiheadAttention`. In this book, and in
    `scaled_dot_product_attention`, True means 'may attend'.""")
wrong("hidden_by_plus_infinity", filled, value=np.inf)("""
    hides with plus infinity -> Why before the softmax
    A hidden key gets the largest possible score instead of the lowest. exp of plus infinity is infinite, and infinity
    minus infinity is NaN. exp of *minus* infinity, `-np.inf`, is 0.""")


@masked_softmax.mistake("multiplies zero by infinity", reread="Finite substitutes for infinity")
def zero_times_infinity(scores, mask):
    """Your penalty multiplies minus infinity by something that is 0 for allowed keys, and 0 times infinity is NaN, not
    0. So every allowed score is NaN, even if nothing is hidden. Choose with `np.where` instead of multiplying."""
    return softmax(scores + (~mask).astype(scores.dtype) * scores.dtype.type(-np.inf))


@masked_softmax.mistake("normalises over the queries")
def masked_columns(scores, mask):
    """The mask is right, but the weights add up to one down each column: your softmax runs along the queries. Each
    query distributes a weight of one among the keys that it sees, along the last axis, -1."""
    axis = max(-2, -scores.ndim)
    hidden = np.where(mask, scores, -np.inf).astype(scores.dtype)
    strengths = np.exp(hidden - hidden.max(axis=axis, keepdims=True))
    return np.where(mask, strengths / strengths.sum(axis=axis, keepdims=True), 0)


even_weights_when_empty = wrong("even_weights_when_empty", filled, value=-1e9)("""
    gives even weights to a row that sees nothing -> Rows that see nothing
    Hidden scores all become the same very negative *finite* number: it replaces them, or you add it and it is so large
    that it swallows them. If a whole row is hidden, all its scores are then equal, so softmax gives even weights to
    hidden entries. (In float16, -1e9 is minus infinity, and the row is NaN.) Such a row should be zero.""")
wrong("lowest_number_when_empty", lambda scores, mask: filled(scores, mask, np.finfo(scores.dtype).min))("""
    is right but for even weights in rows that see nothing -> Rows that see nothing
    A row that sees nothing gets even weights, all of them for hidden entries. You replace hidden scores by the lowest
    number of the dtype, `np.finfo(scores.dtype).min`, so all scores of this row are equal. In the other rows, that
    number hides well. Set the weights of a row that sees nothing to zero.""")


@masked_softmax.mistake("adds the lowest number of the dtype to the hidden scores", reread="Rows that see nothing")
def lowest_number_added(scores, mask):
    """You add the lowest number of the dtype, `np.finfo(scores.dtype).min`, to the hidden scores. If a whole row is
    hidden, the sums are all equal and softmax gives even weights, or the sums overflow to minus infinity and the row is
    NaN. Set the weights of such a row to zero."""
    penalty = (~mask).astype(scores.dtype) * np.finfo(scores.dtype).min
    return softmax(scores + penalty)


@masked_softmax.mistake(
    "adds a number such as {number} to the hidden scores",
    reread="Finite substitutes for infinity",
    number=(-1e9, -1e4, -1e5, -1e6, -1e8, -1e10, -1e12),  # numbers that people add to hidden scores
)
def unmasked_when_empty(scores, mask, *, number):
    """You *add* a finite penalty such as {number} to the hidden scores. If a whole row is hidden, all its scores go
    down together, and softmax ignores a shift, so the weights are those without a mask. (Also, a hidden score that is
    large enough exceeds the penalty.)"""
    return softmax(scores + np.where(mask, 0, number))


nan_when_empty = wrong("nan_when_empty", filled, value=-np.inf)("""
    gives NaN for a row that sees nothing -> Rows that see nothing
    Hidden scores become minus infinity, which is right. But if a whole row is hidden, its maximum is minus infinity,
    too, and -inf - (-inf) is NaN. Set the weights of such rows to zero.""")
wrong("not_low_enough", lambda scores, mask: filled(scores, mask, -10000.0) * mask)("""
    hides with a number that scores can fall below -> Finite substitutes for infinity
    You replace hidden scores by a number such as -10000, and set their weights to zero afterwards. That is right as
    long as every score is larger. In a row of scores far below that number, the hidden scores are the largest: they
    take all the weight, and then lose it. No score is below minus infinity, `-np.inf`.""")


@masked_softmax.mistake(
    "hides with a finite number, but handles rows that see nothing", reread="Finite substitutes for infinity"
)
def finite_beside_a_rule(scores, mask):
    """You treat a row that sees nothing separately. In all other rows, hidden scores become a number such as -1e9. That
    is right as long as every score is larger. In a row of scores below that number, the hidden scores are the largest:
    they take all the weight, and then lose it. No score is below minus infinity, `-np.inf`."""
    row_is_empty = ~mask.any(axis=-1, keepdims=True)
    return np.where(mask, filled(scores, mask | row_is_empty, -1e9), 0)


@masked_softmax.mistake(
    "hides with a number such as {number}, and nothing else",
    reread="Finite substitutes for infinity",
    number=(-1e4, -1e3),
)
def not_low_enough_alone(scores, mask, *, number):
    """Hidden scores become a number such as {number}. A row of scores far below that number gives its weight to hidden
    keys, and a row in which everything is hidden gets even weights instead of zeros. No score is below minus infinity:
    use `-np.inf`, then set the weights of rows that see nothing to zero."""
    return filled(scores, mask, number)


wrong("no_such_half", lambda scores, mask: filled(scores, mask, -1000000000.0) * mask)("""
    hides with a number that float16 does not have -> Finite substitutes for infinity
    -1e9 is a good substitute in float32 and float64, and the zeros afterwards fix rows that see nothing. But
    float16 ends at 65504, so in float16 -1e9 becomes minus infinity: a row that sees nothing is NaN, and NaN times
    0 stays NaN.""")


@masked_softmax.mistake("overflows in float16", reread="Finite substitutes for infinity")
def too_large_for_half(scores, mask):
    """-1e20 does not exist in float16, whose largest number is 65504: it becomes -inf, and the penalty of an allowed
    entry, 0 times -inf, is NaN. Choose entries with `np.where` and write -np.inf, which every dtype has."""
    penalty = (~mask).astype(scores.dtype) * scores.dtype.type(-1e20)
    return zero_if_empty(softmax(scores + penalty), mask)


@masked_softmax.mistake("takes the maximum over hidden scores too", reread="Why before the softmax")
def maximum_over_everything(scores, mask):
    """Multiplying the exponentials by the mask, before the sum, is right as algebra. But the maximum that you subtract
    comes from all scores. If a hidden score is far above the rest, every allowed exponential underflows to 0, and the
    sum is 0. Take the maximum over the allowed scores."""
    strengths = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    total = strengths.sum(axis=-1, keepdims=True)
    return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


@masked_softmax.mistake("counts hidden scores as zero, or as too large a number, in the maximum")
def zeros_in_the_maximum(scores, mask):
    """For the maximum, your hidden scores count as 0, or as a number such as -1000. If every visible score is far below
    that number, all their exponentials become 0, and so does the sum. For the maximum, too, make hidden scores minus
    infinity."""
    highest = np.where(mask, scores, 0).max(axis=-1, keepdims=True)
    strengths = np.exp(np.where(mask, scores - highest, -np.inf).astype(scores.dtype))
    total = strengths.sum(axis=-1, keepdims=True)
    return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


@masked_softmax.mistake("subtracts one maximum for all rows")
def one_maximum_for_all(scores, mask):
    """Hidden scores are minus infinity, which is right, but you subtract the maximum of the whole array, or of another
    row. A row far below it underflows: all of its exponentials are 0, and so is their sum. Each row needs its own
    maximum: axis=-1 with keepdims=True."""
    hidden = np.where(mask, scores, -np.inf).astype(scores.dtype)
    highest = hidden.max()
    strengths = np.exp(hidden - (highest if np.isfinite(highest) else 0))
    total = strengths.sum(axis=-1, keepdims=True)
    return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


@masked_softmax.mistake("subtracts no maximum")
def no_maximum(scores, mask):
    """Multiplying the exponentials by the mask, before the sum, is right as algebra. But exp of a large score is
    infinite, and infinity over infinity is NaN. In a row far below zero every exponential is 0, and so is their sum.
    First subtract the maximum of the allowed scores."""
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
    quite adds up to one, and in float16 a number below 6e-8 is 0. Divide only where the sum is positive, for example by
    `np.divide` with `where=`."""
    hidden = np.where(mask, scores, -np.inf).astype(scores.dtype)
    highest = hidden.max(axis=-1, keepdims=True)
    strengths = np.exp(hidden - np.where(np.isfinite(highest), highest, 0).astype(scores.dtype))
    return strengths / (strengths.sum(axis=-1, keepdims=True) + number)


@masked_softmax.mistake("renormalises, with a small number in the divisor", reread="Why before the softmax")
def renormalised_with_a_little(scores, mask):
    """You mask the finished weights and divide by what is left, plus a small number. So no row quite adds up to one,
    and if a hidden score took all the weight, the whole row is 0. (In float16 the small number is itself 0, and 0/0 is
    NaN.) Mask the scores, before the softmax."""
    weights = softmax(scores) * mask
    return weights / (weights.sum(axis=-1, keepdims=True) + 1e-9)


@masked_softmax.mistake("renormalises, and divides zero by zero", reread="Why before the softmax")
def renormalised(scores, mask):
    """Masking the finished weights and dividing by what is left is right as algebra, but fails when nothing is left: in
    a row that sees nothing, and in a row where a hidden score took all the weight, 0/0 is NaN. Mask the scores, before
    the softmax."""
    weights = softmax(scores) * mask
    return weights / weights.sum(axis=-1, keepdims=True)


wrong("promoted_softmax", lambda scores, mask: zero_if_empty(softmax(scores + np.where(mask, 0.0, -np.inf)), mask))("""
    promotes float32 to float64
    float32 came back as float64. `np.where(mask, 0, -np.inf)` makes an array of float64, and adding it to the scores
    promotes them. Choose between the scores and -np.inf in one `np.where`, which keeps the dtype of the scores.""")


@masked_softmax.mistake("needs a mask in the full shape of the scores")
def full_shape_only(scores, mask):
    """`scores[~mask] = ...` indexes with the mask, and such an index must have exactly the shape of the scores. Masks
    are often smaller: (T_query, T_key) for all sentences, or (..., 1, T_key) for all queries. `np.where` broadcasts,
    and also makes a new array."""
    hidden = scores.copy()
    hidden[~mask] = -np.inf
    return zero_if_empty(softmax(hidden), mask)


@masked_softmax.mistake("writes into the caller's scores")
def writes_into_scores(scores, mask):
    """The caller's scores have changed, because you overwrite hidden entries in place. Make a new array with
    `np.where`."""
    np.copyto(scores, -np.inf, where=~mask)
    return zero_if_empty(softmax(scores), mask)


@masked_softmax.mistake(
    "hides with a number such as {number}, and sets rows that see nothing to zero",
    reread="Finite substitutes for infinity",
    number=(-1e9, -1e4, -1e3),
)
def filled_then_empty_rows(scores, mask, *, number):
    """Hidden scores become a number such as {number}, and a row in which everything is hidden becomes zero. That is
    right as long as every score is larger. A row of scores far below that number gives its weight to hidden keys. No
    score is below minus infinity, `-np.inf`."""
    return zero_if_empty(filled(scores, mask, number), mask)


@masked_softmax.mistake(
    "adds a number such as {number} to the hidden scores, and sets rows that see nothing to zero",
    reread="Finite substitutes for infinity",
    number=(-1e9, -1e4, -1e5),
)
def added_then_empty_rows(scores, mask, *, number):
    """You *add* a number such as {number} to the hidden scores, and set a row in which everything is hidden to zero. In
    the other rows a hidden score that is large enough exceeds the penalty, and gets weight. Choose instead of
    adding: `np.where` with minus infinity."""
    return zero_if_empty(softmax(scores + np.where(mask, 0, number).astype(scores.dtype)), mask)


wrong("softmax_twice", lambda scores, mask: reference.masked_softmax(reference.masked_softmax(scores, mask), mask))("""
    applies the softmax twice -> From masked scores to weights
    You apply the masked softmax to its own weights. They lie between 0 and 1, so the visible keys get nearly even
    weights. Apply it once, to the scores.""")


@masked_softmax.mistake("applies a softmax to the masked weights", reread="From masked scores to weights")
def softmax_of_the_weights(scores, mask):
    """You apply a softmax to the masked weights. A weight of 0 becomes a score of 0, and exp(0) = 1, so hidden keys get
    weight again, and all weights are nearly even. Apply one softmax, to the masked scores."""
    return softmax(reference.masked_softmax(scores, mask))


@masked_softmax.mistake("masks between two softmaxes", reread="Why before the softmax")
def softmax_before_and_after(scores, mask):
    """There are two softmaxes, one before the mask and one after it. The second softmax gets weights between 0 and 1
    instead of scores, so the visible keys get nearly even weights. Mask the scores themselves, then apply one
    softmax."""
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
