"""softmax_backward: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import attention as forward
from solutions import backward as reference

softmax_backward = Exercise(
    reference.softmax_backward,
    outputs={"grad_scores": "... n"},
    section="The softmax Jacobian, and why one never builds it",
)


def rows_of_weights(draw, *shape, dtype=np.float64):
    """A random cotangent, and weights as softmax makes them."""
    weights = forward.softmax(draw.normal(*shape, dtype=dtype))
    return {"grad_weights": draw.normal(*shape, dtype=dtype), "weights": weights}


@softmax_backward.cases("the idea", points=2)
def _(draw):
    yield "one row", rows_of_weights(draw, draw.size(3))
    yield "several rows", rows_of_weights(draw, *draw.sizes(2))
    n = draw.size(3)
    yield "as many rows as weights", rows_of_weights(draw, n, n)


@softmax_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", rows_of_weights(draw, *draw.sizes(3))
    yield "two batch axes", rows_of_weights(draw, *draw.sizes(4))


@softmax_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", rows_of_weights(draw, *draw.sizes(2), dtype=np.float32)
    n_rows, n = draw.sizes(2, low=3)
    yield "rows of one weight", rows_of_weights(draw, n_rows, 1)
    certain = np.eye(n)[draw.rng.integers(n, size=n_rows)]
    yield "one weight has everything", {"grad_weights": draw.normal(n_rows, n), "weights": certain}
    inputs = rows_of_weights(draw, n_rows, n)
    yield "a row that attends to nothing", inputs | {"weights": inputs["weights"] * (np.arange(n_rows) > 0)[:, None]}
    halved = np.array([draw.rng.permutation([0.5, 0.25, 0.125, 0.125]) for _ in range(n_rows)])  # so that 0 is exact
    yield "a cotangent of ones", {"grad_weights": np.ones((n_rows, 4)), "weights": halved}


@softmax_backward.mistake("treats the Jacobian as diagonal")
def diagonal_jacobian(grad_weights, weights):
    """s(1 - s) is the derivative of each weight by its *own* score. But softmax mixes a whole row: a score that rises
    takes weight away from all others, so every entry of the gradient needs the whole row of grad_weights."""
    return grad_weights * weights * (1 - weights)


@softmax_backward.mistake("leaves out the outer product")
def without_the_outer_product(grad_weights, weights):
    """You multiply by diag(s) alone, as if the sum in softmax's denominator did not depend on the scores. It does, and
    that is the second term of the Jacobian, - s s^T. The rows of the result should add up to zero; do yours?"""
    return grad_weights * weights


@softmax_backward.mistake("leaves out diag(s)")
def without_the_diagonal(grad_weights, weights):
    """Only the outer product is there, - s (s . g). The other term of the Jacobian, diag(s), gives s * g: together they
    are s * (g - s . g)."""
    return -weights * (weights * grad_weights).sum(axis=-1, keepdims=True)


@softmax_backward.mistake("forgets the weights in front")
def without_the_weights_in_front(grad_weights, weights):
    """You subtract the weighted average from each entry, as you should, but the weights in front are missing: s * (g -
    s . g). Without them even an entry with no weight at all gets a gradient."""
    return grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True)


@softmax_backward.mistake("returns the slope alone, without the cotangent")
def slope_alone(grad_weights, weights):
    """s(1 - s) is how steeply each weight rises with its own score, and it does not contain grad_weights. The exercise
    asks how the *loss* changes: the whole Jacobian, times the gradient that arrives."""
    return weights * (1 - weights)


@softmax_backward.mistake("subtracts, as after a cross-entropy")
def as_after_cross_entropy(grad_weights, weights):
    """weights - grad_weights looks like probabilities minus targets: that is the gradient of softmax *and*
    cross-entropy together. Here no loss is built in, and what arrives are slopes, not targets: s * (g - s . g)."""
    return weights - grad_weights


@softmax_backward.mistake("takes the slopes for the weights, and the weights for the slopes")
def arguments_exchanged(grad_weights, weights):
    """The two arguments are swapped: s * (g - s . g) with g where s belongs, and s where g belongs. Both have the same
    shape, so there is no error. grad_weights is what arrives, and weights is what softmax returned."""
    return reference.softmax_backward(weights, grad_weights)


@softmax_backward.mistake("divides by the number of rows")
def divided_by_the_rows(grad_weights, weights):
    """You divide your result by the length of the first axis. If the loss is a mean, that division is already in
    grad_weights; softmax adds none."""
    return reference.softmax_backward(grad_weights, weights) / len(weights)


@softmax_backward.mistake("takes the mean of the products, not their sum")
def mean_of_the_products(grad_weights, weights):
    """s . g is a *sum* of products: the weights have done the averaging already, since they add up to one. You divide
    it by the length of the row once more."""
    return weights * (grad_weights - (weights * grad_weights).mean(axis=-1, keepdims=True))


@softmax_backward.mistake("loses the axis of the sum")
def sum_without_keepdims(grad_weights, weights):
    """Without keepdims=True, NumPy aligns the rows' sums with the *columns*. That is an error, or wrong numbers if
    there are as many rows as weights."""
    return weights * (grad_weights - (weights * grad_weights).sum(axis=-1))


@softmax_backward.mistake("adds the outer product instead of subtracting it")
def wrong_sign(grad_weights, weights):
    """The sign of the outer product is wrong: the Jacobian is diag(a) - a a^T. If one score rises, the other weights
    *fall*."""
    return weights * (grad_weights + (weights * grad_weights).sum(axis=-1, keepdims=True))


@softmax_backward.mistake("subtracts the plain sum, not the weighted one")
def unweighted_sum(grad_weights, weights):
    """Subtract the row's *weighted* sum from each entry: s . g, the average of g with the weights s. You subtract the
    plain sum of g."""
    return weights * (grad_weights - grad_weights.sum(axis=-1, keepdims=True))


@softmax_backward.mistake("subtracts the plain mean, not the weighted one")
def unweighted_mean(grad_weights, weights):
    """You subtract the plain mean of g from each entry. Subtract the mean *with the weights s*, s . g. The two agree
    only where all weights are equal."""
    return weights * (grad_weights - grad_weights.mean(axis=-1, keepdims=True))


@softmax_backward.mistake("adds up over the whole array")
def one_sum_for_all(grad_weights, weights):
    """You use one sum for the whole array, so each row depends on all others. Each row has its own softmax, and so its
    own sum: axis=-1 with keepdims=True. With a single row the two are the same."""
    return weights * (grad_weights - (weights * grad_weights).sum())


@softmax_backward.mistake("adds up over the queries")
def over_the_rows(grad_weights, weights):
    """The sum runs down the columns. Softmax ran along each row, the last axis, so that is where its backward adds
    up."""
    axis = max(-2, -weights.ndim)
    return weights * (grad_weights - (weights * grad_weights).sum(axis=axis, keepdims=True))


@softmax_backward.mistake("adds up over the first axis")
def over_the_first_axis(grad_weights, weights):
    """The sum runs along axis 0. With a single row that is the right axis, but with a batch it mixes sentences. Count
    from the end: axis=-1."""
    return weights * (grad_weights - (weights * grad_weights).sum(axis=0, keepdims=True))


@softmax_backward.mistake("applies softmax to the weights once more")
def softmax_twice(grad_weights, weights):
    """`weights` is what softmax returned, and you put it through softmax again before you use it. The Jacobian is
    written in terms of the weights themselves."""
    return reference.softmax_backward(grad_weights, forward.softmax(weights))


@softmax_backward.mistake("returns zeros", reread="Why ones test nothing")
def always_zero(grad_weights, weights):
    """Zero is right for exactly one kind of cotangent, the same number all along a row. A check that sums the outputs
    uses just that one, so your function passes such a check, but a network with it never learns what to attend to."""
    return np.zeros_like(weights)


@softmax_backward.mistake("returns the cotangent as it came")
def softmax_skipped(grad_weights, weights):
    """The gradient goes through unchanged, as if softmax were not there."""
    return grad_weights.copy()


@softmax_backward.mistake("writes into the caller's cotangent")
def cotangent_changed(grad_weights, weights):
    """grad_weights has changed: `grad_weights -= ...` writes into the caller's array, which other paths of the network
    may still need. Make a new one: `grad_weights - ...`."""
    grad_weights -= (weights * grad_weights).sum(axis=-1, keepdims=True)
    return weights * grad_weights


@softmax_backward.mistake("returns float64 whatever the dtype is")
def always_double(grad_weights, weights):
    """float32 came back as float64, which doubles the memory of everything after it. Nothing here needs a float64
    scalar or an astype."""
    return reference.softmax_backward(grad_weights.astype(np.float64), weights)


@softmax_backward.equivalent
def with_the_jacobian(grad_weights, weights):
    grad_weights, weights = np.asarray(grad_weights), np.asarray(weights)
    jacobian = weights[..., :, None] * (np.eye(weights.shape[-1], dtype=weights.dtype) - weights[..., None, :])
    return np.squeeze(jacobian @ grad_weights[..., None], -1)


@softmax_backward.equivalent
def both_terms_multiplied_out(grad_weights, weights):
    share = weights * grad_weights
    return share - weights * share.sum(axis=-1, keepdims=True)


@softmax_backward.equivalent
def row_by_row(grad_weights, weights):
    grad_weights, weights = np.asarray(grad_weights), np.asarray(weights)
    grad_scores = np.zeros(weights.shape, np.result_type(weights, np.float16))  # also of integers
    for index in np.ndindex(*weights.shape[:-1]):
        s, g = weights[index], grad_weights[index]
        for j in range(len(s)):
            grad_scores[index][j] = sum(g[i] * s[i] * ((i == j) - s[j]) for i in range(len(s)))
    return grad_scores


@softmax_backward.equivalent
def by_pairwise_differences(grad_weights, weights):
    """s_j sum_i s_i (g_j - g_i): the same as long as a row adds up to one, or to nothing."""
    grad_weights = np.asarray(grad_weights)
    pairs = grad_weights[..., :, None] - grad_weights[..., None, :]
    return weights * np.einsum("...ji,...i->...j", pairs, weights)
