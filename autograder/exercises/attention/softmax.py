"""softmax: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import attention as reference

softmax = Exercise(
    reference.softmax,
    outputs={"weights": "... n"},
    section="From scores to weights: the softmax",
)


@softmax.cases("the idea", points=1)
def _(draw):
    yield "one row", {"scores": draw.normal(draw.size())}
    yield "several rows", {"scores": draw.normal(*draw.sizes(2))}
    n = draw.size(3)
    yield "as many rows as scores", {"scores": draw.normal(n, n)}


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
    scores = draw.normal(2, draw.size(4, 8))
    scores[:, 1] += 9000
    yield "a score that towers over its row", {"scores": scores}
    sentences = heights[..., None] + draw.normal(3, 2, draw.size(3))
    yield "sentences of very different height", {"scores": sentences}


@softmax.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", {"scores": draw.normal(*draw.sizes(2), dtype=np.float32)}
    # Without a maximum, such a row's sum is far below 1, so that it shows which small number is added.
    yield "rows of one score", {"scores": draw.normal(draw.size(), 1) - 4}
    yield "equal scores", {"scores": np.full(draw.sizes(2), 3.0)}


def shares(scores, maximum_along=-1, sum_along=-1, keep_maximum=True, keep_sum=True):
    """Softmax, with the axes of its maximum and its sum left open, and whether they are kept."""
    strengths = np.exp(scores - scores.max(axis=maximum_along, keepdims=keep_maximum))
    return strengths / strengths.sum(axis=sum_along, keepdims=keep_sum)


@softmax.mistake("normalises over the rows' axis")
def over_the_queries(scores):
    """The weights add up to one down each column, not along each row. A row belongs to one query, and a query shares
    out one whole unit of attention among the keys. The keys are the last axis, -1."""
    axis = max(-2, -scores.ndim)
    return shares(scores, axis, axis)


@softmax.mistake("normalises over the batch")
def over_the_batch(scores):
    """The weights add up to one along the first axis. With a single row this is the right axis, so the mistake goes
    unnoticed; with a batch, the sentences compete for one unit of attention. Count axes from the end: -1 is the keys'
    axis, whatever comes before it."""
    return shares(scores, 0, 0)


@softmax.mistake("normalises along axis 1")
def over_axis_one(scores):
    """Counted from the front, axis 1 is the keys' axis only in a matrix. With a batch axis in front it is the queries'
    axis, and a single row has no axis 1 at all. Count axes from the end: -1 is the keys' axis, whatever comes before
    it."""
    return shares(scores, 1, 1)


@softmax.mistake("takes the maximum of each row, and the sum of each column")
def sum_of_the_column(scores):
    """Each row's own maximum is subtracted, and then every entry is divided by the sum of its *column*: the rows do not
    add up to one. Maximum and sum belong to the same row, axis=-1 in both."""
    return shares(scores, sum_along=max(-2, -scores.ndim))


@softmax.mistake("takes the maximum of each column, and the sum of each row")
def maximum_of_the_column(scores):
    """You subtract the largest score of each *column*, a different number for each entry of a row. Only a shift that a
    whole row shares cancels in the quotient: the row's own maximum, axis=-1."""
    return shares(scores, maximum_along=max(-2, -scores.ndim))


@softmax.mistake("loses the axis of the maximum and of the sum")
def without_keepdims(scores):
    """Without keepdims=True, the maxima and the sums of the rows are one row of numbers, and NumPy aligns it with the
    *columns*. That is an error, or wrong numbers if there are as many rows as scores."""
    return shares(scores, keep_maximum=False, keep_sum=False)


@softmax.mistake("loses the axis of the sum")
def sum_without_keepdims(scores):
    """The maximum keeps its axis, but the sum does not: without keepdims=True, NumPy aligns the rows' sums with the
    *columns*. That is an error, or wrong numbers if there are as many rows as scores."""
    return shares(scores, keep_sum=False)


@softmax.mistake("loses the axis of the maximum")
def maximum_without_keepdims(scores):
    """The sum keeps its axis, but the maximum does not: without keepdims=True, NumPy aligns the rows' maxima with the
    *columns*. That is an error, or wrong numbers if there are as many rows as scores."""
    return shares(scores, keep_maximum=False)


@softmax.mistake("normalises over all axes at once")
def over_everything(scores):
    """All weights of the array together add up to one, so that each row gets only a share of it. A sum without an
    axis runs over everything; each row needs its own sum: axis=-1 with keepdims=True."""
    return shares(scores, None, None)


@softmax.mistake("divides all rows by one sum")
def one_sum_for_all(scores):
    """Each row's own maximum is subtracted, but the exponentials are divided by one sum for the whole array: keepdims
    keeps the axes, but it does not choose one. Each row needs its own sum: axis=-1 with keepdims=True."""
    return shares(scores, sum_along=None)


@softmax.mistake("does not subtract the maximum")
def overflowing(scores):
    """Right on paper, and NaN as soon as a score is large: exp(710) is infinite in float64, exp(89) in float32, and
    infinity divided by infinity is NaN. (Far below zero, all exponentials vanish and 0/0 is NaN as well.) Subtract each
    row's maximum first; the quotient does not change."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@softmax.mistake(
    "adds a small number such as {number} to the sum, and subtracts no maximum",
    number=(1e-12, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9),
)
def small_number_against_zero(scores, *, number):
    """A small number in the denominator, such as {number}, prevents 0/0, but gives a row of zeros in its place: far
    below zero, no row adds up to one. Large scores still overflow to infinity over infinity, NaN. Subtract each row's
    maximum first: then one exponential is 1, and no sum is near zero."""
    exponentials = np.exp(scores)
    return exponentials / (exponentials.sum(axis=-1, keepdims=True) + number)


@softmax.mistake("adds {number} to the sum", number=(1e-8, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9))
def a_little_more(scores, *, number):
    """Each row's maximum is subtracted, as it should be, and {number} is added to each sum: now no row quite adds up
    to one. It protects against nothing: with the maximum gone, one exponential is exp(0) = 1, so no sum is below 1."""
    strengths = unnormalised(scores)
    return strengths / (strengths.sum(axis=-1, keepdims=True) + number)


@softmax.mistake("subtracts one maximum for the whole array")
def one_maximum_for_all(scores):
    """Nothing overflows now, but a row that lies far below the array's maximum underflows: all of its exponentials
    become 0, and 0/0 is NaN. Each row needs its own maximum: axis=-1 with keepdims=True."""
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@softmax.mistake("subtracts a number other than the row's maximum")
def not_the_maximum(scores):
    """A number is subtracted from each row, but not its largest: its mean, its median, its smallest or its first entry,
    say. This changes no weight, but a score that towers over the rest of its row is still large afterwards, and its
    exponential is infinite. Subtract the maximum: then every exponent is at most 0."""
    exponentials = np.exp(scores - scores.mean(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@softmax.mistake("does not raise rows far below zero")
def zero_or_the_maximum(scores):
    """What you subtract is never below 0: the larger of 0 and the row's maximum, say, or the largest absolute value.
    Large scores are safe now; but a row far below zero does not rise, all of its exponentials become 0, and 0/0 is
    NaN. Subtract the maximum itself, whatever its sign."""
    exponentials = np.exp(scores - np.maximum(scores.max(axis=-1, keepdims=True), 0))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@softmax.mistake("gives the scores a minus sign")
def scores_subtracted(scores):
    """The scores have the wrong sign in the exponential, as in exp(maximum - scores) or exp(-scores), so the largest
    score gets the smallest weight. Compute exp(scores - maximum)."""
    exponentials = np.exp(scores.max(axis=-1, keepdims=True) - scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@softmax.mistake("subtracts the maximum from the exponentials")
def maximum_outside_exp(scores):
    """A parenthesis closes too early: you compute exp(scores) - maximum instead of exp(scores - maximum). Subtracted
    from the exponentials, the maximum does not cancel in the quotient, and large scores have overflowed already."""
    exponentials = np.exp(scores) - scores.max(axis=-1, keepdims=True)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@softmax.mistake("divides inside the exponential")
def division_inside_exp(scores):
    """A parenthesis closes too late: the division by the sum is inside the exponential, where it divides only the
    maximum. First comes the exponential of the whole difference, then the division."""
    highest = scores.max(axis=-1, keepdims=True)
    return np.exp(scores - highest / np.exp(scores - highest).sum(axis=-1, keepdims=True))


@softmax.mistake("divides the difference inside the exponential")
def difference_divided_inside_exp(scores):
    """A parenthesis closes too late: the sum divides the difference, inside the exponential. First comes the
    exponential of the whole difference, then the division."""
    difference = scores - scores.max(axis=-1, keepdims=True)
    return np.exp(difference / np.exp(difference).sum(axis=-1, keepdims=True))


@softmax.mistake("cuts large scores off")
def scores_clipped(scores):
    """No exponential overflows, because scores beyond a bound such as 80 are cut off. But then all scores beyond it
    count alike, and a row that has only such scores gets even weights. Subtract each row's maximum instead: no score is
    then above 0."""
    return overflowing(np.clip(scores, -80, 80))


@softmax.mistake("replaces NaN after the division")
def nan_patched(scores):
    """Large scores overflow, infinity over infinity is NaN, and you put 0 in its place. So no NaN is left, but the
    largest score of such a row gets no weight at all, where it should get nearly all of it. Nothing can be restored
    after an overflow; subtract each row's maximum first, and nothing overflows."""
    return np.nan_to_num(overflowing(scores), nan=0)


@softmax.mistake("replaces NaN by 1 after the division")
def nan_patched_by_one(scores):
    """Large scores overflow, infinity over infinity is NaN, and you put 1 in its place. That is right where one
    exponential of a row is infinite and takes everything. Where several are, each of them becomes 1, and so does every
    entry of a row far below zero, where 0/0 is NaN. Subtract each row's maximum first, and nothing overflows."""
    weights = overflowing(scores)
    return np.where(np.isnan(weights), np.ones_like(weights), weights)


@softmax.mistake("replaces infinite exponentials by the largest number")
def infinity_patched(scores):
    """Where an exponential is infinite, you put the largest number that the dtype has in its place. Then all large
    scores of a row count alike, and their sum is infinite again, so that they get 0. (And far below zero, 0/0 is still
    NaN.) Subtract each row's maximum first: then no exponential is above 1."""
    exponentials = np.nan_to_num(np.exp(scores))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@softmax.mistake("does not divide by the sum")
def unnormalised(scores):
    """The exponentials are there, but a row does not add up to one yet: divide it by its own sum."""
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


@softmax.mistake("divides by the mean, not by the sum")
def divided_by_the_mean(scores):
    """The exponentials are divided by their mean, so that a row of n weights adds up to n, not to one. Divide by the
    row's sum."""
    strengths = unnormalised(scores)
    return strengths / strengths.mean(axis=-1, keepdims=True)


@softmax.mistake("divides by the sum of the scores")
def divided_by_the_scores(scores):
    """The exponentials are divided by the sum of the *scores*, which may be negative or close to zero. Divide them by
    their own sum, so that they add up to one."""
    return unnormalised(scores) / scores.sum(axis=-1, keepdims=True)


@softmax.mistake("subtracts the maximum in the denominator only")
def shifted_below_only(scores):
    """The maximum is subtracted in the denominator, and not in the numerator. So it does not cancel, and each row is
    too large by the factor exp(its maximum). Compute the exponentials once, and use them in both places."""
    return np.exp(scores) / unnormalised(scores).sum(axis=-1, keepdims=True)


@softmax.mistake("returns the logarithms of the weights")
def logarithms(scores):
    """These are the logarithms of the weights: none is positive, and no row adds up to one. A loss needs the
    logarithms, but an average needs the weights: return those."""
    return scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)


@softmax.mistake("divides the scores by their sum, without the exponential")
def plain_shares(scores):
    """Scores may be negative, so their plain shares may be negative, and their sum may be almost zero. The exponential
    comes first: it makes every score positive, and turns differences of scores into ratios of weights."""
    return scores / scores.sum(axis=-1, keepdims=True)


@softmax.mistake("writes into the caller's scores")
def in_place(scores):
    """The caller's array has changed: `scores -= ...` writes into it. Backward passes need the forward's inputs as they
    were, so make a new array: `scores - ...`."""
    scores -= scores.max(axis=-1, keepdims=True)
    return reference.softmax(scores)


@softmax.mistake("returns float64 whatever the dtype is")
def always_double(scores):
    """float32 came back as float64, which doubles the memory of everything after it. A NumPy float64 scalar or an
    astype promotes the whole array; Python's own numbers do not."""
    return reference.softmax(scores.astype(np.float64))


@softmax.mistake("applies the softmax twice")
def applied_twice(scores):
    """The weights go through the softmax once more. They lie between 0 and 1, so they come out nearly even. Divide the
    exponentials by their sum, once."""
    return reference.softmax(reference.softmax(scores))


@softmax.equivalent
def row_by_row(scores):
    weights = np.zeros_like(scores)
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
