import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import attention as reference

softmax = Exercise(reference.softmax, outputs={"weights": "... n"}, section="From scores to weights: the softmax")
wrong = short_mistakes(softmax)


def moderate(draw, *shape):
    """Draw scores whose exponentials add up to between 1.5 and 5 in each row. So the draw does not decide whether a
    small number that a student adds to the sum shows.
    """
    scores = draw.normal(*shape)
    total = draw.rng.uniform(1.5, 5, size=(*shape[:-1], 1))
    return scores + np.log(total / np.exp(scores).sum(axis=-1, keepdims=True))


@softmax.cases("the idea", points=1)
def _(draw):
    yield "one row", {"scores": moderate(draw, draw.size())}
    yield "several rows", {"scores": moderate(draw, *draw.sizes(2))}
    n = draw.size(3)
    yield "as many rows as scores", {"scores": moderate(draw, n, n)}


@softmax.cases("batches", points=1)
def _(draw):
    yield "one batch axis", {"scores": moderate(draw, *draw.sizes(3))}
    yield "two batch axes", {"scores": moderate(draw, *draw.sizes(4))}


@softmax.cases("stability", points=1)
def _(draw):
    yield "scores in the thousands", {"scores": 1000 + 10 * draw.normal(*draw.sizes(2))}
    yield "scores far below zero", {"scores": -1e6 + 10 * draw.normal(*draw.sizes(2))}
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
    # Without a maximum, the sum of such a row is far below 1, so a small number that a student adds to it shows.
    yield "rows of one score", {"scores": np.tanh(draw.normal(draw.size(), 1)) - 4}
    yield "equal scores", {"scores": np.full(draw.sizes(2), 3.0)}


def shares(scores, maximum_along=-1, sum_along=-1, keep_maximum=True, keep_sum=True):
    """Return a softmax; you choose the axes of its maximum and its sum, and whether to keep them."""
    strengths = np.exp(scores - scores.max(axis=maximum_along, keepdims=keep_maximum))
    return strengths / strengths.sum(axis=sum_along, keepdims=keep_sum)


@softmax.mistake("normalises over the rows' axis")
def over_the_queries(scores):
    """Your weights add up to one down each column, not along each row. A row belongs to a query, which distributes a
    weight of one among the keys. The keys are the last axis, -1."""
    axis = max(-2, -scores.ndim)
    return shares(scores, axis, axis)


wrong("over_the_batch", lambda scores: shares(scores, 0, 0))("""
    normalises over the batch
    Your weights add up to one along the first axis. With a single row this is the right axis, so the mistake does not
    show. With a batch, the sentences compete with each other. Count axes from the end: -1 is the keys' axis, whatever
    comes before it.""")
wrong("over_axis_one", lambda scores: shares(scores, 1, 1))("""
    normalises along axis 1
    Axis 1 is the keys' axis only in a matrix. With a batch axis in front, axis 1 is the queries' axis, and a single row
    has no axis 1 at all. Count axes from the end: -1 is the keys' axis, whatever comes before it.""")
wrong("sum_of_the_column", lambda scores: shares(scores, sum_along=max(-2, -scores.ndim)))("""
    takes the maximum of each row, and the sum of each column
    You subtract each row's own maximum, but then divide every entry by the sum of its *column*, so the rows do not add
    up to one. Take the maximum and the sum of the same row: axis=-1 in both.""")
wrong("maximum_of_the_column", lambda scores: shares(scores, maximum_along=max(-2, -scores.ndim)))("""
    takes the maximum of each column, and the sum of each row
    You subtract the largest score of each *column*, a different number for each entry of a row. Only a shift that a
    whole row shares cancels in the quotient: the row's own maximum, axis=-1.""")
wrong("without_keepdims", shares, keep_maximum=False, keep_sum=False)("""
    loses the axis of the maximum and of the sum
    Without keepdims=True, the maxima and the sums of the rows are one row of numbers, and NumPy aligns it with the
    *columns*. You get an error, or wrong numbers if there are as many rows as scores.""")
wrong("sum_without_keepdims", shares, keep_sum=False)("""
    loses the axis of the sum
    The maximum keeps its axis, but the sum does not: without keepdims=True, NumPy aligns the rows' sums with the
    *columns*. You get an error, or wrong numbers if there are as many rows as scores.""")
wrong("maximum_without_keepdims", shares, keep_maximum=False)("""
    loses the axis of the maximum
    The sum keeps its axis, but the maximum does not: without keepdims=True, NumPy aligns the rows' maxima with the
    *columns*. You get an error, or wrong numbers if there are as many rows as scores.""")
wrong("over_everything", lambda scores: shares(scores, None, None))("""
    normalises over all axes at once
    All weights of the array together add up to one, so that each row gets only a share of it. A sum without an axis
    runs over everything; each row needs its own sum: axis=-1 with keepdims=True.""")
wrong("one_sum_for_all", shares, sum_along=None)("""
    divides all rows by one sum
    You subtract each row's own maximum, but divide the exponentials by one sum for the whole array. keepdims keeps the
    axes, but does not choose one. Each row needs its own sum: axis=-1 with keepdims=True.""")


def divided(scores, *, strengths):
    """Divide what a function of the scores returns by the sum of its row."""
    numbers = strengths(scores)
    return numbers / numbers.sum(axis=-1, keepdims=True)


def shifted(scores, *, by):
    """Return a softmax that subtracts a function of the scores from them."""
    return divided(scores, strengths=lambda scores: np.exp(scores - by(scores)))


overflowing = wrong("overflowing", divided, strengths=np.exp)("""
    does not subtract the maximum
    Your formula is right on paper, but gives NaN as soon as a score is large: exp(710) is infinite in float64, exp(89)
    in float32, and infinity divided by infinity is NaN. (If all scores are far below zero, all exponentials vanish, and
    0/0 is NaN as well.) Subtract each row's maximum first; the quotient does not change.""")


@softmax.mistake(
    "adds a small number such as {number} to the sum, and subtracts no maximum",
    number=(1e-12, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9),
)
def small_number_against_zero(scores, *, number):
    """A small number in the denominator, such as {number}, prevents 0/0, but a row of scores far below zero becomes a
    row of zeros, which does not add up to one. Large scores still overflow to infinity over infinity, which is NaN.
    Subtract each row's maximum first: then one exponential is 1, and no sum is near zero."""
    exponentials = np.exp(scores)
    return exponentials / (exponentials.sum(axis=-1, keepdims=True) + number)


@softmax.mistake("adds {number} to the sum", number=(1e-8, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9))
def a_little_more(scores, *, number):
    """You subtract each row's maximum, which is right, but you add {number} to each sum, so no row quite adds up to
    one. You need no such number: after you subtract the maximum, one exponential is exp(0) = 1, so no sum is below
    1."""
    strengths = unnormalised(scores)
    return strengths / (strengths.sum(axis=-1, keepdims=True) + number)


wrong("one_maximum_for_all", shifted, by=np.max)("""
    subtracts one maximum for the whole array
    Nothing overflows now, but a row that lies far below the array's maximum underflows: all of its exponentials become
    0, and 0/0 is NaN. Each row needs its own maximum: axis=-1 with keepdims=True.""")
wrong("not_the_maximum", shifted, by=lambda scores: scores.mean(axis=-1, keepdims=True))("""
    subtracts a number other than the row's maximum
    You subtract a number from each row, but not its maximum: its mean, its median, its smallest or its first entry, for
    example. This changes no weight, but a score that is far above the rest of its row is still large afterwards, and
    its exponential is infinite. Subtract the maximum: then every exponent is at most 0.""")
wrong("zero_or_the_maximum", shifted, by=lambda scores: np.maximum(scores.max(axis=-1, keepdims=True), 0))("""
    does not raise rows far below zero
    The number that you subtract is never below 0. It is the larger of 0 and the row's maximum, for example, or the
    largest absolute value. Large scores are safe now, but in a row far below zero all exponentials become 0, and 0/0 is
    NaN. Subtract the maximum itself, whatever its sign.""")
wrong("scores_subtracted", divided, strengths=lambda scores: np.exp(scores.max(axis=-1, keepdims=True) - scores))("""
    gives the scores a minus sign
    The scores have the wrong sign in the exponential, as in exp(maximum - scores) or exp(-scores), so the largest score
    gets the smallest weight. Compute exp(scores - maximum).""")
wrong("maximum_outside_exp", divided, strengths=lambda scores: np.exp(scores) - scores.max(axis=-1, keepdims=True))("""
    subtracts the maximum from the exponentials
    A parenthesis closes too early: you compute exp(scores) - maximum instead of exp(scores - maximum). Subtracted from
    the exponentials, the maximum does not cancel in the quotient, and large scores have already overflowed.""")


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


wrong("scores_clipped", lambda scores: overflowing(np.clip(scores, -80, 80)))("""
    cuts large scores off
    No exponential overflows, because you cut off scores at a bound such as 80. But then all scores above the bound
    count alike, and a row that has only such scores gets even weights. Subtract each row's maximum instead: no score is
    then above 0.""")
wrong("nan_patched", lambda scores: np.nan_to_num(overflowing(scores), nan=0))("""
    replaces NaN after the division
    Large scores overflow, infinity over infinity is NaN, and you replace it by 0. So no NaN is left, but the largest
    score of such a row gets no weight, although it should get nearly all of it. An overflow loses the number, so
    subtract each row's maximum first: then nothing overflows.""")
wrong("nan_patched_by_one", lambda scores: np.where(np.isnan(w := overflowing(scores)), np.ones_like(w), w))("""
    replaces NaN by 1 after the division
    Large scores overflow, infinity over infinity is NaN, and you replace it by 1. That is right if a single exponential
    of a row is infinite. If several are infinite, each of them becomes 1, and so does every entry of a row far below
    zero, where 0/0 is NaN. Subtract each row's maximum first: then nothing overflows.""")
wrong("infinity_patched", divided, strengths=lambda scores: np.nan_to_num(np.exp(scores)))("""
    replaces infinite exponentials by the largest number
    You replace an infinite exponential by the largest number of the dtype. Then all large scores of a row count alike,
    and their sum is infinite again, so they get 0. (In a row far below zero, 0/0 is still NaN.) Subtract each row's
    maximum first: then no exponential is above 1.""")


@softmax.mistake("does not divide by the sum")
def unnormalised(scores):
    """You return the exponentials, which do not add up to one. Divide each row by its own sum."""
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


wrong(
    "divided_by_the_mean", lambda scores: (strengths := unnormalised(scores)) / strengths.mean(axis=-1, keepdims=True)
)("""
    divides by the mean, not by the sum
    You divide the exponentials by their mean, so a row of n weights adds up to n, not to one. Divide by the row's
    sum.""")
wrong("divided_by_the_scores", lambda scores: unnormalised(scores) / scores.sum(axis=-1, keepdims=True))("""
    divides by the sum of the scores
    You divide the exponentials by the sum of the *scores*, which may be negative or close to zero. Divide the
    exponentials by their own sum, so that they add up to one.""")
wrong("shifted_below_only", lambda scores: np.exp(scores) / unnormalised(scores).sum(axis=-1, keepdims=True))("""
    subtracts the maximum in the denominator only
    You subtract the maximum in the denominator but not in the numerator. So it does not cancel, and each row is too
    large by the factor exp(maximum). Compute the exponentials once, and use them in both places.""")
wrong("logarithms", lambda scores: scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))("""
    returns the logarithms of the weights
    These are the logarithms of the weights: none is positive, and no row adds up to one. A loss needs the logarithms,
    but an average needs the weights: return those.""")
wrong("plain_shares", lambda scores: scores / scores.sum(axis=-1, keepdims=True))("""
    divides the scores by their sum, without the exponential
    Scores may be negative, so their plain shares may be negative, and their sum may be almost zero. Apply the
    exponential first: it makes every number positive, and turns differences of scores into ratios of weights.""")


@softmax.mistake("writes into the caller's scores")
def in_place(scores):
    """The caller's array has changed: `scores -= ...` writes into it. Backward passes need the inputs of the forward
    pass unchanged, so make a new array: `scores - ...`."""
    scores -= scores.max(axis=-1, keepdims=True)
    return reference.softmax(scores)


wrong("always_double", lambda scores: reference.softmax(scores.astype(np.float64)))("""
    returns float64 whatever the dtype is
    float32 came back as float64, which doubles the memory of everything after it. A NumPy float64 scalar or an astype
    promotes the whole array; Python's own numbers do not.""")
wrong("applied_twice", lambda scores: reference.softmax(reference.softmax(scores)))("""
    applies the softmax twice
    The weights go through the softmax once more. They lie between 0 and 1, so they come out nearly even. Divide the
    exponentials by their sum, once.""")


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
