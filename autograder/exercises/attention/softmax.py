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


@softmax.mistake("subtracts something else than the row's maximum")
def not_the_maximum(scores):
    """A number is subtracted from each row, but not its largest: its mean, its median, its smallest or its first entry,
    say. No weight changes by that; yet a score that towers over the rest of its row is still large after it, and its
    exponential infinite. Only with the maximum gone is every exponent at most 0. Reread 'From scores to weights: the
    softmax'."""
    exponentials = np.exp(scores - scores.mean(axis=-1, keepdims=True))
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
