import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import attention as forward
from solutions import backward as reference

softmax_backward = Exercise(
    reference.softmax_backward,
    outputs={"grad_scores": "... n"},
    section="The softmax Jacobian, and why one never builds it",
)
wrong = short_mistakes(softmax_backward)


def rows_of_weights(draw, *shape, dtype=np.float64):
    """Draw a random cotangent, and weights that softmax returns."""
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
    """s(1 - s) is the derivative of each weight with respect to its *own* score. But softmax mixes a whole row: a score
    that rises takes weight away from all others, so every entry of the gradient needs the whole row of grad_weights."""
    return grad_weights * weights * (1 - weights)


wrong("without_the_outer_product", lambda grad_weights, weights: grad_weights * weights)("""
    leaves out the outer product
    You multiply only by diag(s), as if the sum in softmax's denominator did not depend on the scores. It does, and that
    is the second term of the Jacobian, - s s^T. The rows of the result should add up to zero. Do yours?""")


@softmax_backward.mistake("leaves out diag(s)")
def without_the_diagonal(grad_weights, weights):
    """You return only the outer product's term, - s (s . g). The other term of the Jacobian, diag(s), gives s * g:
    together they are s * (g - s . g)."""
    return -weights * (weights * grad_weights).sum(axis=-1, keepdims=True)


@softmax_backward.mistake("forgets the weights in front")
def without_the_weights_in_front(grad_weights, weights):
    """You subtract the weighted average from each entry, as you should, but the weights in front are missing: s * (g -
    s . g). Without them even an entry with no weight at all gets a gradient."""
    return grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True)


wrong("slope_alone", lambda grad_weights, weights: weights * (1 - weights))("""
    returns the slope alone, without the cotangent
    s(1 - s) is the slope of each weight with respect to its own score, and does not contain grad_weights. The exercise
    asks how the *loss* changes: multiply the whole Jacobian by the gradient that arrives.""")
wrong("as_after_cross_entropy", lambda grad_weights, weights: weights - grad_weights)("""
    subtracts, as after a cross-entropy
    weights - grad_weights looks like probabilities minus targets, the gradient of softmax *and* cross-entropy together.
    This function contains no loss, and grad_weights holds slopes, not targets: return s * (g - s . g).""")
wrong("arguments_exchanged", lambda grad_weights, weights: reference.softmax_backward(weights, grad_weights))("""
    takes the slopes for the weights, and the weights for the slopes
    You swap the two arguments: in s * (g - s . g), you use g for s and s for g. Both have the same shape, so there is
    no error. grad_weights is what arrives, and weights is what softmax returned.""")


@softmax_backward.mistake("divides by the number of rows")
def divided_by_the_rows(grad_weights, weights):
    """You divide your result by the length of the first axis. If the loss is a mean, that division is already in
    grad_weights, so do not divide here."""
    return reference.softmax_backward(grad_weights, weights) / len(weights)


@softmax_backward.mistake("divides by the length of the rows")
def divided_by_the_length(grad_weights, weights):
    """You divide your result by the number of weights in a row. If the loss is a mean, that division is already in
    grad_weights, so do not divide here."""
    return reference.softmax_backward(grad_weights, weights) / weights.shape[-1]


@softmax_backward.mistake("returns one sum in every entry")
def one_sum_in_every_entry(grad_weights, weights):
    """All entries of a row are the same number, s . g. You still have to subtract this sum from each entry of g, and
    then to multiply by the weights: s * (g - s . g)."""
    return np.broadcast_to((weights * grad_weights).sum(axis=-1, keepdims=True), weights.shape).copy()


def centred(grad_weights, weights, *, centre):
    """Return the weights times the difference between their gradient and a function of both."""
    return weights * (grad_weights - centre(grad_weights, weights))


wrong("mean_of_the_products", centred, centre=lambda g, s: (s * g).mean(axis=-1, keepdims=True))("""
    takes the mean of the products, not their sum
    s . g is a *sum* of products, and already an average, because the weights add up to one. You divide it by the length
    of the row as well.""")
wrong("sum_without_keepdims", centred, centre=lambda g, s: (s * g).sum(axis=-1))("""
    loses the axis of the sum
    Without keepdims=True, NumPy aligns the rows' sums with the *columns*. You get an error, or wrong numbers if there
    are as many rows as weights.""")
wrong("wrong_sign", centred, centre=lambda g, s: -(s * g).sum(axis=-1, keepdims=True))("""
    adds the outer product instead of subtracting it
    The sign of the outer product is wrong: the Jacobian is diag(a) - a a^T. If one score rises, the other weights
    *fall*.""")
wrong("unweighted_sum", centred, centre=lambda g, s: g.sum(axis=-1, keepdims=True))("""
    subtracts the plain sum, not the weighted one
    Subtract the row's *weighted* sum from each entry: s . g, the average of g with the weights s. You subtract the
    plain sum of g.""")
wrong("unweighted_mean", centred, centre=lambda g, s: g.mean(axis=-1, keepdims=True))("""
    subtracts the plain mean, not the weighted one
    You subtract the plain mean of g from each entry. Subtract the mean *with the weights s*, s . g. The two agree only
    if all weights are equal.""")
wrong("one_sum_for_all", centred, centre=lambda g, s: (s * g).sum())("""
    adds up over the whole array
    You use one sum for the whole array, so each row depends on all others. Each row has its own softmax, and therefore
    its own sum: axis=-1 with keepdims=True. With a single row the two are the same.""")
wrong("over_the_rows", centred, centre=lambda g, s: (s * g).sum(axis=max(-2, -s.ndim), keepdims=True))("""
    adds up over the queries
    Your sum runs down the columns. Softmax ran along each row, the last axis, so its backward pass adds up along the
    last axis, too.""")
wrong("over_the_first_axis", centred, centre=lambda g, s: (s * g).sum(axis=0, keepdims=True))("""
    adds up over the first axis
    Your sum runs along axis 0. With a single row that is the right axis, but with a batch it mixes sentences. Count
    from the end: axis=-1.""")
wrong(
    "softmax_twice", lambda grad_weights, weights: reference.softmax_backward(grad_weights, forward.softmax(weights))
)("""
    applies softmax to the weights once more
    `weights` is what softmax returned, but you apply softmax to it again before you use it. The formula of the Jacobian
    contains the weights themselves.""")
wrong("always_zero", lambda grad_weights, weights: np.zeros_like(weights))("""
    returns zeros -> Why ones test nothing
    Zero is right only for a cotangent that has the same number all along a row. A check that sums the outputs uses such
    a cotangent, so your function passes it, but a network with this function never learns what to attend to.""")
wrong("softmax_skipped", lambda grad_weights, weights: grad_weights.copy())("""
    returns the cotangent as it came
    The gradient goes through unchanged, as if softmax were not there.""")


@softmax_backward.mistake("writes into the caller's cotangent")
def cotangent_changed(grad_weights, weights):
    """grad_weights has changed: `grad_weights -= ...` writes into the caller's array, which other paths of the network
    may still need. Make a new array: `grad_weights - ...`."""
    grad_weights -= (weights * grad_weights).sum(axis=-1, keepdims=True)
    return weights * grad_weights


wrong(
    "always_double", lambda grad_weights, weights: reference.softmax_backward(grad_weights.astype(np.float64), weights)
)("""
    returns float64 whatever the dtype is
    float32 came back as float64, which doubles the memory of everything after it. Nothing here needs a float64 scalar
    or an astype.""")


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
    grad_scores = np.zeros(weights.shape, np.result_type(weights, np.float16))  # also for integers
    for index in np.ndindex(*weights.shape[:-1]):
        s = weights[index]
        grad_scores[index] = (np.diag(s) - np.outer(s, s)) @ grad_weights[index]
    return grad_scores


@softmax_backward.equivalent
def by_pairwise_differences(grad_weights, weights):
    """Compute s_j sum_i s_i (g_j - g_i), which is the same if each row adds up to one or to zero."""
    grad_weights = np.asarray(grad_weights)
    pairs = grad_weights[..., :, None] - grad_weights[..., None, :]
    return weights * np.einsum("...ji,...i->...j", pairs, weights)
