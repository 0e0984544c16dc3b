"""Chapter 2, the backward pass: the cases, the known mistakes and the right rewrites of its exercises."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.check.given_functions import log_sum_exp, sum_of_cubes, sum_of_squares, weighted_sines
from solutions import attention as forward
from solutions import backward as reference


def turned(array):
    """The last two axes exchanged."""
    return array.swapaxes(-1, -2)


def as_rows(array):
    """All leading axes folded into one: (..., d) to (n, d)."""
    return array.reshape(-1, array.shape[-1])


def shifted(array):
    """The array with its first axis moved on by one place: item b holds what belongs to item b - 1."""
    return np.roll(array, 1, axis=0)


# ------------------------------------------------------------------------------------- numerical_gradient

numerical_gradient = Exercise(
    reference.numerical_gradient,
    outputs={"gradient": "..."},
    section="Measuring a gradient",
    tolerance=1e-7,  # the rounding error of f, divided by a small h
)


@numerical_gradient.cases("the idea", points=1)
def _(draw):
    yield "a sum of squares", {"f": sum_of_squares, "x": draw.normal(draw.size())}
    yield "a sum of sines", {"f": weighted_sines, "x": draw.normal(draw.size())}
    yield "a function that ties all entries together", {"f": log_sum_exp, "x": draw.normal(draw.size(3))}


@numerical_gradient.cases("any shape", points=1)
def _(draw):
    yield "a matrix", {"f": weighted_sines, "x": draw.normal(*draw.sizes(2))}
    yield "three axes", {"f": log_sum_exp, "x": draw.normal(*draw.sizes(3, high=6))}
    yield "one entry", {"f": sum_of_cubes, "x": draw.normal(1, 1)}
    yield "no axis at all", {"f": weighted_sines, "x": draw.normal()}


@numerical_gradient.cases("the step", points=1)
def _(draw):
    yield "a large step", {"f": sum_of_cubes, "x": draw.normal(*draw.sizes(2)), "h": 0.5}
    yield "a small step", {"f": weighted_sines, "x": draw.normal(draw.size()), "h": 1e-3}
    yield "a step for a curved function", {"f": log_sum_exp, "x": draw.normal(*draw.sizes(2)), "h": 0.1}


@numerical_gradient.mistake("takes forward differences")
def forward_differences(f, x, h=1e-5):
    """You compare f ahead of x with f at x itself. That is off by a term that shrinks only like h; with one point on
    each side the terms in h cancel, and the error shrinks like h squared. Go both ways: f(x + h) - f(x - h). Reread
    'Measuring a gradient'."""
    return slopes(lambda e: (f(x + h * e) - f(x)) / h, x)


@numerical_gradient.mistake("takes backward differences")
def backward_differences(f, x, h=1e-5):
    """You compare f at x with f behind it, a difference to one side only: its error shrinks like h, where that of two
    sides shrinks like h squared. Go both ways: f(x + h) - f(x - h). Reread 'Measuring a gradient'."""
    return slopes(lambda e: (f(x) - f(x - h * e)) / h, x)


@numerical_gradient.mistake("divides by h, not by 2h")
def twice_too_steep(f, x, h=1e-5):
    """Every slope is exactly twice too steep. From x - h to x + h the way is 2h long, and that is what the rise is to
    be divided by. Reread 'Measuring a gradient'."""
    return slopes(lambda e: (f(x + h * e) - f(x - h * e)) / h, x)


@numerical_gradient.mistake("leaves x not quite as it was")
def residue_left(f, x, h=1e-5):
    """The slopes are right, but x has changed: after + h, - 2h, + h an entry is back only up to rounding. A network
    checked like this drifts away from its own weights. Work on a copy, or keep the old entry and put that back.
    Reread 'Measuring a gradient'."""
    gradient = np.empty_like(x)
    for index in np.ndindex(x.shape):
        x[index] += h
        above = f(x)
        x[index] -= 2 * h
        below = f(x)
        x[index] += h
        gradient[index] = (above - below) / (2 * h)
    return gradient


@numerical_gradient.mistake("never puts the nudged entry back")
def never_put_back(f, x, h=1e-5):
    """Each entry is nudged and stays nudged, so the slopes of the later entries are taken somewhere else, and the
    caller's x is changed at the end. Give each entry its old value before you go on to the next. Reread 'Measuring a
    gradient'."""
    gradient = np.empty_like(x)
    for index in np.ndindex(x.shape):
        x[index] += h
        above = f(x)
        x[index] -= 2 * h
        gradient[index] = (above - f(x)) / (2 * h)
    return gradient


@numerical_gradient.mistake("forgets to nudge a fresh copy for each entry")
def copy_drifts(f, x, h=1e-5):
    """You do work on a copy, and the caller's x is safe. But the copy keeps every nudge, so the slopes of the later
    entries are taken somewhere else. Give each entry its old value back before the next. Reread 'Measuring a
    gradient'."""
    return never_put_back(f, x.copy(), h)


@numerical_gradient.mistake("nudges all entries at once")
def all_at_once(f, x, h=1e-5):
    """Every entry of x moves together, so every entry of your gradient is the same number: the slope along (1, 1, ...,
    1), which is the sum of all partial derivatives. Move one entry at a time. Reread 'Measuring a gradient'."""
    return np.full_like(x, (f(x + h) - f(x - h)) / (2 * h))


@numerical_gradient.mistake("walks along the first axis only")
def first_axis_only(f, x, h=1e-5):
    """`x[0]`, `x[1]`, ... are entries of a vector, but whole rows of a matrix: you nudge a row at a time and give all
    of its entries the row's slope. Visit every index of every axis: `np.ndindex(x.shape)`. Reread 'Measuring a
    gradient'."""
    gradient = np.empty_like(x)
    for i in range(len(x)):
        nudge = np.zeros_like(x)
        nudge[i] = h
        gradient[i] = (f(x + nudge) - f(x - nudge)) / (2 * h)
    return gradient


@numerical_gradient.mistake("flattens the gradient")
def flattened(f, x, h=1e-5):
    """The slopes are right, in one long row. A gradient has the shape of its array, so that the two can be laid over
    each other. Reread 'A gradient has the shape of its array'."""
    return reference.numerical_gradient(f, x, h).reshape(-1)


@numerical_gradient.mistake("does not use the step it is given")
def own_step(f, x, h=1e-5):
    """The step is 1e-5 whatever the caller asks. Right where the default is meant; but the best step depends on the
    function and on the precision, so h is an argument. Reread 'Which step'."""
    return reference.numerical_gradient(f, x)


def slopes(slope, x):
    """`slope(e)` for the unit vector e of each entry, in the shape of x."""
    units = np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([slope(unit) for unit in units]).reshape(x.shape)


@numerical_gradient.equivalent
def along_unit_vectors(f, x, h=1e-5):
    return slopes(lambda e: (f(x + h * e) - f(x - h * e)) / (2 * h), x)


@numerical_gradient.equivalent
def in_place_and_restored(f, x, h=1e-5):
    gradient = np.zeros(x.shape)
    for i in range(x.size):
        kept = x.flat[i]
        x.flat[i] = kept + h
        above = f(x)
        x.flat[i] = kept - h
        gradient.flat[i] = (above - f(x)) / h / 2
        x.flat[i] = kept
    return gradient


@numerical_gradient.equivalent
def mean_of_both_sides(f, x, h=1e-5):
    return (forward_differences(f, x, h) + backward_differences(f, x, h)) / 2


# ---------------------------------------------------------------------------------------- linear_backward

linear_backward = Exercise(
    reference.linear_backward,
    outputs={"grad_x": "... d_in", "grad_weight": "d_in d_out", "grad_bias": "d_out"},
    order=("grad_bias", "grad_weight", "grad_x"),
    section="The gradients of a product",
)


def affine(draw, n_leading=1, dtype=np.float64, **sizes):
    """A cotangent and the cache of an affine map, no two sizes alike unless given."""
    d_in, d_out, *leading = draw.sizes(2 + n_leading)
    d_in, d_out = sizes.get("d_in", d_in), sizes.get("d_out", d_out)
    x, weight = draw.normal(*leading, d_in, dtype=dtype), draw.normal(d_in, d_out, dtype=dtype)
    return {"grad_output": draw.normal(*leading, d_out, dtype=dtype), "cache": (x, weight)}


@linear_backward.cases("the idea", points=2)
def _(draw):
    yield "one sentence", affine(draw)
    yield "a square weight", affine(draw, d_in=3, d_out=3)


@linear_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", affine(draw, 2)
    yield "two batch axes", affine(draw, 3)
    yield "one batch axis, a square weight", affine(draw, 2, d_in=3, d_out=3)


@linear_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", affine(draw, 2, dtype=np.float32)
    yield "one position, no axis in front", affine(draw, 0)
    yield "d_in = 1", affine(draw, d_in=1)
    yield "d_out = 1", affine(draw, 2, d_out=1)


def linear_gradients(grad_output, cache, **wrong):
    """The right three gradients, with some replaced."""
    names = ("grad_x", "grad_weight", "grad_bias")
    right = dict(zip(names, reference.linear_backward(grad_output, cache), strict=True))
    return tuple((right | wrong).values())


@linear_backward.mistake("does not transpose the weight")
def weight_not_turned(grad_output, cache):
    """`grad_output @ weight` fits only if the weight is square, and then gives wrong numbers without a word. On the
    way back, entry (i, j) of the weight carries the gradient from output j to input i: that is the transpose. Reread
    'The gradients of a product'."""
    return linear_gradients(grad_output, cache, grad_x=grad_output @ cache[1])


@linear_backward.mistake("transposes the weight's gradient")
def weight_gradient_turned(grad_output, cache):
    """Your `grad_weight` is the transpose of what it should be: grad_output^T x is (d_out, d_in). A gradient has the
    shape of its array, (d_in, d_out), and that is x^T grad_output. Only a square weight hides the slip. Reread 'The
    gradients of a product'."""
    return linear_gradients(grad_output, cache, grad_weight=as_rows(grad_output).T @ as_rows(cache[0]))


@linear_backward.mistake("averages over the rows instead of adding them up")
def averaged(grad_output, cache):
    """Your gradients of weight and bias are divided by the number of rows. Every row used the same weight, and where
    paths meet their gradients *add*. If the loss is a mean, its own gradient has brought that division along already:
    it is inside grad_output. Reread 'One weight, many rows'."""
    _, grad_weight, grad_bias = reference.linear_backward(grad_output, cache)
    n_rows = math.prod(grad_output.shape[:-1])
    return linear_gradients(grad_output, cache, grad_weight=grad_weight / n_rows, grad_bias=grad_bias / n_rows)


@linear_backward.mistake("averages over the batch")
def batch_averaged(grad_output, cache):
    """Your gradients of weight and bias are divided by the first axis, as if every sentence had a vote. They *add up*
    over the batch: each sentence used the same weight. A mean belongs into the loss, and comes along with
    grad_output. Reread 'One weight, many rows'."""
    _, grad_weight, grad_bias = reference.linear_backward(grad_output, cache)
    n = grad_output.shape[0] if grad_output.ndim > 2 else 1
    return linear_gradients(grad_output, cache, grad_weight=grad_weight / n, grad_bias=grad_bias / n)


@linear_backward.mistake("keeps only the last item of the batch")
def last_item_only(grad_output, cache):
    """What arrives in `grad_weight` and `grad_bias` is the last item's share alone: a loop over the batch that assigns
    (`=`) where it should add (`+=`). Every item used the same weight, so the shares add up. Reread 'One weight, many
    rows'."""
    x, weight = cache
    last = reference.linear_backward(grad_output[-1], (x[-1], weight)) if grad_output.ndim > 2 else None
    return linear_gradients(grad_output, cache, **(dict(grad_weight=last[1], grad_bias=last[2]) if last else {}))


@linear_backward.mistake("leaves the batch axes on the weight's gradient")
def one_weight_gradient_each(grad_output, cache):
    """There is one `grad_weight` for each item of the batch. But there is only one weight, and its gradient has its
    shape, (d_in, d_out): add up over all leading axes. Reread 'One weight, many rows'."""
    each = turned(np.atleast_2d(cache[0])) @ np.atleast_2d(grad_output)
    return linear_gradients(grad_output, cache, grad_weight=each)


@linear_backward.mistake("adds the bias's gradient up over one axis only")
def bias_over_one_axis(grad_output, cache):
    """`grad_output.sum(axis=0)` is the whole sum only while there is one leading axis; with a batch it leaves an axis
    over. The bias was added to every row of every sentence, so its gradient is the sum over *all* leading axes.
    Reread 'One weight, many rows'."""
    return linear_gradients(grad_output, cache, grad_bias=grad_output.sum(axis=0))


@linear_backward.mistake("hands the bias the gradient of every row")
def bias_not_summed(grad_output, cache):
    """`grad_bias` has a row for each position. The bias is one vector, stretched over all rows by broadcasting; what
    was stretched on the way forward is added up on the way back. Reread 'One weight, many rows'."""
    return linear_gradients(grad_output, cache, grad_bias=grad_output.copy())


@linear_backward.mistake("adds up before it multiplies")
def summed_too_early(grad_output, cache):
    """You add up the rows of x and the rows of grad_output and then multiply the two sums. A product of sums is not the
    sum of products: each row of x belongs to *its own* row of grad_output. Multiply first, then add: x^T grad_output
    does both. Reread 'One weight, many rows'."""
    outer = np.outer(as_rows(cache[0]).sum(axis=0), as_rows(grad_output).sum(axis=0))
    return linear_gradients(grad_output, cache, grad_weight=outer)


@linear_backward.mistake("takes the cotangent for ones")
def ones_for_the_cotangent(grad_output, cache):
    """Your gradients are those of the plain sum of the outputs, whatever grad_output says. The loss comes after this
    layer, and how it depends on each output is what grad_output tells you. Reread 'The chain rule, path by path'."""
    return reference.linear_backward(np.ones_like(grad_output), cache)


@linear_backward.mistake("returns the gradients in the order of the derivation")
def derivation_order(grad_output, cache):
    """The three gradients are right, in another order than asked: a backward function returns them in the order of the
    forward's arguments, x, weight, bias. Reread 'The gradients of a product'."""
    return reference.linear_backward(grad_output, cache)[::-1]


@linear_backward.equivalent
def by_einsum(grad_output, cache):
    rows, grad_rows = as_rows(cache[0]), as_rows(grad_output)
    grad_x = np.einsum("...o,io->...i", grad_output, cache[1])
    return grad_x, np.einsum("ni,no->io", rows, grad_rows), np.einsum("no->o", grad_rows)


@linear_backward.equivalent
def position_by_position(grad_output, cache):
    x, weight = cache
    grad_x, grad_weight = np.empty_like(x), np.zeros_like(weight)
    grad_bias = np.zeros_like(weight[0])
    for index in np.ndindex(x.shape[:-1]):
        grad_x[index] = weight @ grad_output[index]
        grad_weight += np.outer(x[index], grad_output[index])
        grad_bias += grad_output[index]
    return grad_x, grad_weight, grad_bias


@linear_backward.equivalent
def with_tensordot(grad_output, cache):
    x, weight = cache
    leading = list(range(x.ndim - 1))
    grad_weight = np.tensordot(x, grad_output, axes=(leading, leading))
    return [grad_output @ weight.T, grad_weight, grad_output.sum(axis=tuple(leading))]


# --------------------------------------------------------------------------------------- softmax_backward

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
    takes weight away from all others, so every entry of the gradient needs the whole row of grad_weights. (A published
    tutorial makes this mistake.) Reread 'The softmax Jacobian, and why one never builds it'."""
    return grad_weights * weights * (1 - weights)


@softmax_backward.mistake("leaves out the outer product")
def without_the_outer_product(grad_weights, weights):
    """You multiply by diag(s) alone, as if the sum in softmax's denominator did not depend on the scores. It does, and
    that is the second term of the Jacobian, - s s^T. The rows of the result should add up to zero; do yours? Reread
    'The softmax Jacobian, and why one never builds it'."""
    return grad_weights * weights


@softmax_backward.mistake("adds the outer product instead of taking it away")
def wrong_sign(grad_weights, weights):
    """The sign of the outer product is wrong: the Jacobian is diag(s) - s s^T. If one score rises, the other weights
    *fall*. Reread 'The softmax Jacobian, and why one never builds it'."""
    return weights * (grad_weights + (weights * grad_weights).sum(axis=-1, keepdims=True))


@softmax_backward.mistake("takes away the plain sum, not the weighted one")
def unweighted_sum(grad_weights, weights):
    """What is taken from each entry is the row's *weighted* sum, s . g, the average of g with the weights s. You take
    the plain sum of g. Reread 'The softmax Jacobian, and why one never builds it'."""
    return weights * (grad_weights - grad_weights.sum(axis=-1, keepdims=True))


@softmax_backward.mistake("takes away the plain mean, not the weighted one")
def unweighted_mean(grad_weights, weights):
    """You take the plain mean of g from each entry. It is the mean *with the weights s*, s . g; the two agree only
    where all weights are equal. Reread 'The softmax Jacobian, and why one never builds it'."""
    return weights * (grad_weights - grad_weights.mean(axis=-1, keepdims=True))


@softmax_backward.mistake("adds up over the whole array")
def one_sum_for_all(grad_weights, weights):
    """One sum for the whole array ties rows together that never met: each row has its own softmax, and so its own sum,
    axis=-1 with keepdims=True. With a single row the two are the same. Reread 'The softmax Jacobian, and why one never
    builds it'."""
    return weights * (grad_weights - (weights * grad_weights).sum())


@softmax_backward.mistake("adds up over the queries")
def over_the_rows(grad_weights, weights):
    """The sum runs down the columns. Softmax ran along each row, the last axis, so that is where its backward adds up.
    Reread 'The softmax Jacobian, and why one never builds it'."""
    axis = max(-2, -weights.ndim)
    return weights * (grad_weights - (weights * grad_weights).sum(axis=axis, keepdims=True))


@softmax_backward.mistake("adds up over the first axis")
def over_the_first_axis(grad_weights, weights):
    """The sum runs along axis 0: with a single row that is the right one, with a batch it ties sentences together.
    Count from the end, axis=-1. Reread 'The softmax Jacobian, and why one never builds it'."""
    return weights * (grad_weights - (weights * grad_weights).sum(axis=0, keepdims=True))


@softmax_backward.mistake("applies softmax to the weights once more")
def softmax_twice(grad_weights, weights):
    """`weights` is what softmax returned, and you put it through softmax again before you use it. The Jacobian is
    written in terms of the weights themselves. Reread 'The softmax Jacobian, and why one never builds it'."""
    return reference.softmax_backward(grad_weights, forward.softmax(weights))


@softmax_backward.mistake("returns zeros")
def always_zero(grad_weights, weights):
    """Zero is right for exactly one kind of cotangent, the same number all along a row. A check that sums the outputs
    uses just that one, so this passes it, and a network with it never learns whom to attend to. Reread 'Why ones test
    nothing'."""
    return np.zeros_like(weights)


@softmax_backward.mistake("returns the cotangent as it came")
def softmax_skipped(grad_weights, weights):
    """The gradient goes through unchanged, as if softmax were not there. Reread 'The softmax Jacobian, and why one
    never builds it'."""
    return grad_weights.copy()


@softmax_backward.mistake("writes into the caller's cotangent")
def cotangent_changed(grad_weights, weights):
    """The numbers are right, and grad_weights has changed: `grad_weights -= ...` writes into the caller's array, which
    other paths of the network may still need. Make a new one: `grad_weights - ...`."""
    grad_weights -= (weights * grad_weights).sum(axis=-1, keepdims=True)
    return weights * grad_weights


@softmax_backward.mistake("answers in float64 whatever was asked")
def always_double(grad_weights, weights):
    """The numbers are right, but float32 came back as float64, which doubles the memory of everything after it. Nothing
    here needs a float64 scalar or an astype."""
    return reference.softmax_backward(grad_weights.astype(np.float64), weights)


@softmax_backward.equivalent
def with_the_jacobian(grad_weights, weights):
    jacobian = weights[..., :, None] * (np.eye(weights.shape[-1], dtype=weights.dtype) - weights[..., None, :])
    return np.squeeze(jacobian @ grad_weights[..., None], -1)


@softmax_backward.equivalent
def both_terms_multiplied_out(grad_weights, weights):
    share = weights * grad_weights
    return share - weights * share.sum(axis=-1, keepdims=True)


@softmax_backward.equivalent
def row_by_row(grad_weights, weights):
    grad_scores = np.zeros_like(weights)
    for index in np.ndindex(*weights.shape[:-1]):
        s, g = weights[index], grad_weights[index]
        for j in range(len(s)):
            grad_scores[index][j] = sum(g[i] * s[i] * ((i == j) - s[j]) for i in range(len(s)))
    return grad_scores


@softmax_backward.equivalent
def by_pairwise_differences(grad_weights, weights):
    """s_j sum_i s_i (g_j - g_i): the same as long as a row adds up to one, or to nothing."""
    pairs = grad_weights[..., :, None] - grad_weights[..., None, :]
    return weights * np.einsum("...ji,...i->...j", pairs, weights)


# ------------------------------------------------------------------------------------- attention_backward

attention_backward = Exercise(
    reference.attention_backward,
    outputs={"grad_queries": "... T_query d_key", "grad_keys": "... T_key d_key", "grad_values": "... T_key d_value"},
    order=("grad_values", "grad_queries", "grad_keys"),
    section="Attention, walked backwards",
    uses=("softmax_backward",),
)


def attended(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """A random cotangent and the cache that attention left, no two sizes alike unless given."""
    names = ("T_query", "T_key", "d_key", "d_value")
    drawn = draw.sizes(4 + n_batch_axes)
    batch = drawn[4:]
    size = dict(zip(names, drawn, strict=False)) | sizes
    queries = draw.normal(*batch, size["T_query"], size["d_key"], dtype=dtype)
    keys = draw.normal(*batch, size["T_key"], size["d_key"], dtype=dtype)
    values = draw.normal(*batch, size["T_key"], size["d_value"], dtype=dtype)
    output, cache = forward.attention(queries, keys, values)
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@attention_backward.cases("the idea", points=3)
def _(draw):
    yield "one sentence", attended(draw)
    yield "all sizes agree", attended(draw, T_query=3, T_key=3, d_key=3, d_value=3)
    yield "as many queries as keys", attended(draw, T_query=4, T_key=4, d_key=3, d_value=2)


@attention_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", attended(draw, 1)
    yield "two batch axes", attended(draw, 2)
    yield "a batch where all sizes agree", attended(draw, 1, T_query=3, T_key=3, d_key=3, d_value=3)


@attention_backward.cases("weights that a mask has shaped", points=1)
def _(draw):
    inputs = attended(draw, 1)
    *roles, weights = inputs["cache"]
    allowed = draw.rng.random(weights.shape) < 0.7
    allowed[..., :2] = True, False
    allowed[0, 0] = False
    masked = weights * allowed
    total = masked.sum(axis=-1, keepdims=True)
    masked = np.divide(masked, total, out=np.zeros_like(masked), where=total > 0)
    yield "some keys hidden, one query that sees none", inputs | {"cache": (*roles, masked)}


@attention_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", attended(draw, 1, dtype=np.float32)
    for size in ("T_query", "T_key", "d_key", "d_value"):
        yield f"{size} = 1", attended(draw, 1, **{size: 1})


def down_to_the_scores(grad_output, cache, through_softmax=reference.softmax_backward):
    """grad_scores (by the scaled scores) and grad_values."""
    _, _, values, weights = cache
    return through_softmax(grad_output @ turned(values), weights), turned(weights) @ grad_output


def from_the_scores(gradients, cache, scale=None):
    """The three gradients, once those of scores and values are known."""
    grad_scores, grad_values = gradients
    queries, keys, _, _ = cache
    scale = 1 / math.sqrt(keys.shape[-1]) if scale is None else scale
    return grad_scores @ keys * scale, turned(grad_scores) @ queries * scale, grad_values


@attention_backward.mistake("forgets the scale")
def scale_forgotten(grad_output, cache):
    """The forward pass divided the scores by the square root of d_key, so the same factor stands in the gradients of
    queries and keys; without it both are too large by that root. (A published derivation leaves it out.) Reread
    'Attention, walked backwards'."""
    return from_the_scores(down_to_the_scores(grad_output, cache), cache, scale=1)


@attention_backward.mistake("multiplies by the root of d_key instead of dividing")
def scale_inverted(grad_output, cache):
    """A factor stays the same factor on the way back: what was divided by the root of d_key forwards is divided by it
    backwards too. You multiply. Reread 'Attention, walked backwards'."""
    return from_the_scores(down_to_the_scores(grad_output, cache), cache, scale=math.sqrt(cache[1].shape[-1]))


@attention_backward.mistake("applies the scale twice")
def scale_twice(grad_output, cache):
    """Your gradients of queries and keys are divided by d_key: the root of d_key once on the scores, and once more on
    the products. It stood in the forward pass once, so it stands here once. Reread 'Attention, walked backwards'."""
    return from_the_scores(down_to_the_scores(grad_output, cache), cache, scale=1 / cache[1].shape[-1])


@attention_backward.mistake("scales the queries' gradient only")
def keys_unscaled(grad_output, cache):
    """The queries' gradient has the factor 1 / sqrt(d_key), the keys' has not. The factor belongs to the scores, and
    both got their gradient through them. Reread 'Attention, walked backwards'."""
    right = reference.attention_backward(grad_output, cache)
    return right[0], right[1] * math.sqrt(cache[1].shape[-1]), right[2]


@attention_backward.mistake("treats the softmax's Jacobian as diagonal")
def attention_with_a_diagonal_jacobian(grad_output, cache):
    """Your softmax backward is s(1 - s) times the cotangent. The values' gradient does not notice; those of queries and
    keys are wrong, since a score moves *every* weight of its row. Reread 'The softmax Jacobian, and why one never
    builds it'."""
    return from_the_scores(down_to_the_scores(grad_output, cache, diagonal_jacobian), cache)


@attention_backward.mistake("leaves out the softmax")
def attention_without_the_softmax(grad_output, cache):
    """You take the gradient of the weights for the gradient of the scores. Between the two lies the softmax: call your
    `softmax_backward`. Reread 'Attention, walked backwards'."""
    return from_the_scores(down_to_the_scores(grad_output, cache, softmax_skipped), cache)


@attention_backward.mistake("goes back through the softmax along the wrong axis")
def attention_over_the_rows(grad_output, cache):
    """The row sum of the softmax's backward runs down the columns. Each query has its own softmax, along the keys, and
    so its own sum: the last axis. Reread 'The softmax Jacobian, and why one never builds it'."""
    return from_the_scores(down_to_the_scores(grad_output, cache, over_the_rows), cache)


@attention_backward.mistake("builds the keys' gradient with the scores' gradient not transposed")
def keys_from_rows(grad_output, cache):
    """The keys' gradient uses grad_scores where it needs its transpose. A key is a *column* of the scores: its gradient
    gathers from all queries, down that column. As long as there are as many queries as keys, only the numbers are
    wrong. Reread 'Attention, walked backwards'."""
    grad_scores, grad_values = down_to_the_scores(grad_output, cache)
    queries, keys, _, _ = cache
    scale = 1 / math.sqrt(keys.shape[-1])
    return grad_scores @ keys * scale, grad_scores @ queries * scale, grad_values


@attention_backward.mistake("leaves the keys' gradient transposed")
def keys_left_turned(grad_output, cache):
    """This is the gradient of keys^T, the matrix that stood in the product, not of the keys: turn it back. By the
    transpose rule, the gradient of a transpose is the transpose of the gradient. Reread 'The gradients of a
    product'."""
    grad_queries, grad_keys, grad_values = reference.attention_backward(grad_output, cache)
    return grad_queries, turned(grad_keys), grad_values


@attention_backward.mistake("builds the keys' gradient from the keys")
def keys_from_keys(grad_output, cache):
    """In scores = queries keys^T the gradient of each factor is made with the *other* one: keys in that of the queries,
    queries in that of the keys. You used the keys twice. Reread 'The gradients of a product'."""
    grad_scores, grad_values = down_to_the_scores(grad_output, cache)
    keys = cache[1]
    scale = 1 / math.sqrt(keys.shape[-1])
    return grad_scores @ keys * scale, turned(grad_scores) @ keys * scale, grad_values


@attention_backward.mistake("builds the keys' gradient from the values")
def keys_from_values(grad_output, cache):
    """Your keys' gradient multiplies by the values where the queries belong. Values take no part in a score, so they
    cannot stand there; a published formula for W_K has the same slip. Reread 'Attention, walked backwards'."""
    grad_scores, grad_values = down_to_the_scores(grad_output, cache)
    _, keys, values, _ = cache
    scale = 1 / math.sqrt(keys.shape[-1])
    return grad_scores @ keys * scale, turned(grad_scores) @ values * scale, grad_values


@attention_backward.mistake("does not transpose the weights for the values")
def values_from_rows(grad_output, cache):
    """The values' gradient uses the weights where it needs their transpose. A value is read by *all* queries, each with
    its own weight: it gathers down a column of the weights. Reread 'Attention, walked backwards'."""
    grad_queries, grad_keys, _ = reference.attention_backward(grad_output, cache)
    return grad_queries, grad_keys, cache[3] @ grad_output


@attention_backward.mistake("takes the loss for a plain sum")
def ones_for_the_loss(grad_output, cache):
    """Your gradients are those of the sum of all outputs, whatever grad_output says. It is what tells you how the loss
    depends on each output: start from it. Reread 'The chain rule, path by path'."""
    return reference.attention_backward(np.ones_like(grad_output), cache)


@attention_backward.mistake("computes the weights anew")
def weights_anew(grad_output, cache):
    """You compute the weights again from queries and keys instead of taking them from the cache. Today they are the
    same, at twice the cost. Once a mask has shaped the weights, as in chapter 3, they are not. Reread 'Attention,
    walked backwards'."""
    queries, keys, values, _ = cache
    again = forward.attention_weights(queries, keys)
    return reference.attention_backward(grad_output, (queries, keys, values, again))


@attention_backward.mistake("takes the weights from another item of the batch")
def weights_of_another(grad_output, cache):
    """Each sentence is walked back with the weights of another one. If all sentences of the batch are copies, as in a
    published gradient check, nobody can tell; with different ones everything is wrong. Reread 'A check that is
    blind'."""
    queries, keys, values, weights = cache
    other = shifted(weights) if weights.ndim > 2 else weights
    return reference.attention_backward(grad_output, (queries, keys, values, other))


@attention_backward.mistake("returns the gradients in the order of the derivation")
def values_first(grad_output, cache):
    """The gradients are right, in another order than asked: the values' comes first in the derivation, but a backward
    function returns in the order of the forward's arguments, queries, keys, values. Reread 'Attention, walked
    backwards'."""
    grad_queries, grad_keys, grad_values = reference.attention_backward(grad_output, cache)
    return grad_values, grad_queries, grad_keys


@attention_backward.mistake("answers in float64 whatever was asked")
def promoted(grad_output, cache):
    """float32 came back as float64. `np.sqrt(d_key)` is a float64 *NumPy* scalar and promotes every array it touches;
    `math.sqrt(d_key)` is a plain Python number and promotes nothing."""
    scale = np.float64(1 / math.sqrt(cache[1].shape[-1]))
    return from_the_scores(down_to_the_scores(grad_output, cache), cache, scale)


@attention_backward.equivalent
def attention_by_einsum(grad_output, cache):
    queries, keys, values, weights = cache
    grad_weights = np.einsum("...iv,...jv->...ij", grad_output, values)
    grad_scores = both_terms_multiplied_out(grad_weights, weights) * keys.shape[-1] ** -0.5
    return (
        np.einsum("...ij,...jk->...ik", grad_scores, keys),
        np.einsum("...ij,...ik->...jk", grad_scores, queries),
        np.einsum("...ij,...iv->...jv", weights, grad_output),
    )


@attention_backward.equivalent
def query_by_query(grad_output, cache):
    queries, keys, values, weights = cache
    grad_queries, grad_keys, grad_values = np.zeros_like(queries), np.zeros_like(keys), np.zeros_like(values)
    for i in range(queries.shape[-2]):
        a, g = weights[..., i, :, None], grad_output[..., i, None, :]
        grad_values += a * g
        towards = (g * values).sum(axis=-1, keepdims=True)
        slope = a * (towards - (a * towards).sum(axis=-2, keepdims=True)) / math.sqrt(keys.shape[-1])
        grad_queries[..., i, :] = (slope * keys).sum(axis=-2)
        grad_keys += slope * queries[..., i, None, :]
    return grad_queries, grad_keys, grad_values


@attention_backward.equivalent
def with_the_output(grad_output, cache):
    """The row sum of weights times their gradient is that of the output times its own: fused kernels use it."""
    _, _, values, weights = cache
    row_sum = (grad_output * (weights @ values)).sum(axis=-1, keepdims=True)
    grad_scores = weights * (grad_output @ turned(values) - row_sum)
    return list(from_the_scores((grad_scores, turned(weights) @ grad_output), cache))


@attention_backward.equivalent
def scaled_before_the_products(grad_output, cache):
    grad_scores, grad_values = down_to_the_scores(grad_output, cache, with_the_jacobian)
    return from_the_scores((grad_scores / math.sqrt(cache[0].shape[-1]), grad_values), cache, scale=1)


# -------------------------------------------------------------------------------- self_attention_backward

self_attention_backward = Exercise(
    reference.self_attention_backward,
    outputs={
        "grad_x": "... T d_model",
        "grad_w_query": "d_model d_key",
        "grad_w_key": "d_model d_key",
        "grad_w_value": "d_model d_value",
    },
    order=("grad_w_value", "grad_w_query", "grad_w_key", "grad_x"),
    section="Self-attention: three ways back to x",
    uses=("attention_backward", "linear_backward"),
)


def self_attended(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """A random cotangent and the cache that self-attention left, no two sizes alike unless given."""
    drawn = draw.sizes(4 + n_batch_axes)
    size = dict(zip(("T", "d_model", "d_key", "d_value"), drawn, strict=False)) | sizes
    x = draw.normal(*drawn[4:], size["T"], size["d_model"], dtype=dtype)
    widths = (size["d_key"], size["d_key"], size["d_value"])
    output, cache = forward.self_attention(x, *(draw.normal(size["d_model"], width, dtype=dtype) for width in widths))
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@self_attention_backward.cases("the idea", points=3)
def _(draw):
    yield "one sentence", self_attended(draw)
    yield "square projections", self_attended(draw, d_model=3, d_key=3, d_value=3)


@self_attention_backward.cases("batches", points=2)
def _(draw):
    yield "one batch axis", self_attended(draw, 1)
    yield "two batch axes", self_attended(draw, 2)
    yield "a batch where all sizes agree", self_attended(draw, 1, T=3, d_model=3, d_key=3, d_value=3)


@self_attention_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", self_attended(draw, 1, dtype=np.float32)
    for size in ("T", "d_key", "d_value"):
        yield f"{size} = 1", self_attended(draw, 1, **{size: 1})


def into_the_projections(grad_output, cache, through=reference.attention_backward):
    """The gradients of queries, keys and values, each with the weight that made it."""
    _, w_query, w_key, w_value, attention_cache = cache
    return list(zip(through(grad_output, attention_cache), (w_query, w_key, w_value), strict=True))


def assemble(x, parts, keep=("queries", "keys", "values")):
    """The four gradients from those of the three roles; `keep`: which of them find their way back to x."""
    names = ("queries", "keys", "values")
    back = [g @ w.T for name, (g, w) in zip(names, parts, strict=True) if name in keep]
    return (sum(back), *(as_rows(x).T @ as_rows(g) for g, _ in parts))


@self_attention_backward.mistake("loses the way through the queries")
def without_the_queries(grad_output, cache):
    """x is used three times, and two of the three ways back are there: the one through the queries is missing from
    grad_x. Reread 'Self-attention: three ways back to x'."""
    return assemble(cache[0], into_the_projections(grad_output, cache), keep=("keys", "values"))


@self_attention_backward.mistake("loses the way through the keys")
def without_the_keys(grad_output, cache):
    """x is used three times, and two of the three ways back are there: the one through the keys is missing from grad_x.
    Each word is also what the others find. Reread 'Self-attention: three ways back to x'."""
    return assemble(cache[0], into_the_projections(grad_output, cache), keep=("queries", "values"))


@self_attention_backward.mistake("loses the way through the values")
def without_the_values(grad_output, cache):
    """x is used three times, and two of the three ways back are there: the one through the values is missing from
    grad_x. Reread 'Self-attention: three ways back to x'."""
    return assemble(cache[0], into_the_projections(grad_output, cache), keep=("queries", "keys"))


@self_attention_backward.mistake("goes back to x through the values only")
def values_only(grad_output, cache):
    """grad_x holds the way through the values alone, as if the weights were constants. They depend on x too, through
    queries and keys: three ways back, and they add up. Reread 'Self-attention: three ways back to x'."""
    return assemble(cache[0], into_the_projections(grad_output, cache), keep=("values",))


@self_attention_backward.mistake("averages the three ways instead of adding them")
def three_ways_averaged(grad_output, cache):
    """Your grad_x is a third of what it should be. Where an array is used three times its gradients add up; nothing
    divides them. Reread 'Self-attention: three ways back to x'."""
    grad_x, *others = reference.self_attention_backward(grad_output, cache)
    return (grad_x / 3, *others)


@self_attention_backward.mistake("does not transpose the projections")
def projections_not_turned(grad_output, cache):
    """grad_queries @ w_query fits only if the projection is square, and is wrong even then: on the way back the
    projection is transposed. Reread 'The gradients of a product'."""
    parts = into_the_projections(grad_output, cache)
    _, *others = reference.self_attention_backward(grad_output, cache)
    return (sum(g @ w for g, w in parts), *others)


@self_attention_backward.mistake("transposes the gradients of the projections")
def projections_gradients_turned(grad_output, cache):
    """Each weight's gradient is transposed: grad_queries^T x is (d_key, d_model), and w_query is (d_model, d_key). In
    this book x stands on the left, so its transpose does too: x^T grad_queries. Reread 'The gradients of a
    product'."""
    grad_x, *others = reference.self_attention_backward(grad_output, cache)
    return (grad_x, *(grad.T.copy() for grad in others))


@self_attention_backward.mistake("exchanges the gradients of w_query and w_key")
def projections_exchanged(grad_output, cache):
    """The gradients of w_query and w_key are exchanged. Their shapes agree, so nothing complains; the weights would be
    trained in each other's place. Reread 'Self-attention: three ways back to x'."""
    grad_x, grad_w_query, grad_w_key, grad_w_value = reference.self_attention_backward(grad_output, cache)
    return grad_x, grad_w_key, grad_w_query, grad_w_value


@self_attention_backward.mistake("averages over the batch instead of adding up")
def weights_averaged(grad_output, cache):
    """The gradients of the projections are divided by the size of the batch. Every sentence used the same projection,
    so they add up; if the loss is a mean, that division is in grad_output already. Reread 'One weight, many rows'."""
    grad_x, *others = reference.self_attention_backward(grad_output, cache)
    n = math.prod(grad_x.shape[:-2])
    return (grad_x, *(grad / n for grad in others))


@self_attention_backward.mistake("keeps only the last sentence of the batch")
def last_sentence_only(grad_output, cache):
    """The gradients of the projections come from the last sentence alone: a loop that assigns (`=`) where it should add
    (`+=`). Every sentence used the same projection. Reread 'One weight, many rows'."""
    x, parts = cache[0], into_the_projections(grad_output, cache)
    grad_x, *_ = reference.self_attention_backward(grad_output, cache)
    flat = [g.reshape(-1, *g.shape[-2:])[-1] for g, _ in parts]
    return (grad_x, *(x.reshape(-1, *x.shape[-2:])[-1].T @ g for g in flat))


@self_attention_backward.mistake("leaves the batch axes on the gradients of the projections")
def weights_of_each_sentence(grad_output, cache):
    """There is one gradient for each sentence and each projection. But a projection is one matrix, shared by all
    sentences, and its gradient has its shape: add up over the batch. Reread 'One weight, many rows'."""
    x, parts = cache[0], into_the_projections(grad_output, cache)
    grad_x, *_ = reference.self_attention_backward(grad_output, cache)
    return (grad_x, *(turned(x) @ g for g, _ in parts))


@self_attention_backward.mistake("takes x from another item of the batch")
def x_of_another(grad_output, cache):
    """The gradients of the projections pair each sentence's gradient with *another* sentence's x. If the batch is made
    of copies, as in a published gradient check, nobody can tell; with different sentences all of it is wrong. Reread
    'A check that is blind'."""
    x, parts = cache[0], into_the_projections(grad_output, cache)
    grad_x, *_ = reference.self_attention_backward(grad_output, cache)
    return (grad_x, *assemble(shifted(x) if x.ndim > 2 else x, parts)[1:])


@self_attention_backward.mistake("forgets the scale")
def self_attention_without_scale(grad_output, cache):
    """The factor 1 / sqrt(d_key) is missing on the way through queries and keys: call your `attention_backward`, which
    has it. (A published derivation leaves it out.) Reread 'Attention, walked backwards'."""
    return assemble(cache[0], into_the_projections(grad_output, cache, scale_forgotten))


@self_attention_backward.mistake("treats the softmax's Jacobian as diagonal")
def self_attention_with_a_diagonal_jacobian(grad_output, cache):
    """The way through queries and keys uses s(1 - s) for the softmax; w_value's gradient is right, those of w_query and
    w_key and grad_x are not. Call your `attention_backward`. Reread 'The softmax Jacobian, and why one never builds
    it'."""
    return assemble(cache[0], into_the_projections(grad_output, cache, attention_with_a_diagonal_jacobian))


@self_attention_backward.mistake("builds the gradient of w_key from the values")
def w_key_from_values(grad_output, cache):
    """The gradient of w_key multiplies by the values where the queries belong; everything else is right. The same slip
    stands in a published formula. A score is a query times a key, and no value takes part in it. Reread 'Attention,
    walked backwards'."""
    x, attention_cache = cache[0], cache[4]
    grad_x, grad_w_query, _, grad_w_value = reference.self_attention_backward(grad_output, cache)
    _, grad_keys, _ = keys_from_values(grad_output, attention_cache)
    return grad_x, grad_w_query, as_rows(x).T @ as_rows(grad_keys), grad_w_value


@self_attention_backward.mistake("takes the loss for a plain sum")
def self_attention_of_ones(grad_output, cache):
    """Your gradients are those of the sum of all outputs, whatever grad_output says: start from grad_output. Reread
    'The chain rule, path by path'."""
    return reference.self_attention_backward(np.ones_like(grad_output), cache)


@self_attention_backward.equivalent
def by_plain_products(grad_output, cache):
    return assemble(cache[0], into_the_projections(grad_output, cache))


@self_attention_backward.equivalent
def by_einsum_throughout(grad_output, cache):
    x, parts = cache[0], into_the_projections(grad_output, cache, attention_by_einsum)
    grad_x = sum(np.einsum("...tk,dk->...td", g, w) for g, w in parts)
    rows = as_rows(x)
    return (grad_x, *(np.einsum("nd,nk->dk", rows, as_rows(g)) for g, _ in parts))


@self_attention_backward.equivalent
def one_fused_product(grad_output, cache):
    x, parts = cache[0], into_the_projections(grad_output, cache, with_the_output)
    fused, weight = np.concatenate([g for g, _ in parts], -1), np.concatenate([w for _, w in parts], -1)
    cuts = np.cumsum([w.shape[1] for _, w in parts])[:-1]
    grad_x, grad_weight, _ = reference.linear_backward(fused, (x, weight))
    return (grad_x, *np.split(grad_weight, cuts, axis=1))


@self_attention_backward.equivalent
def sentence_by_sentence(grad_output, cache):
    x, parts = cache[0], into_the_projections(grad_output, cache, query_by_query)
    grad_weights = [np.zeros_like(w) for _, w in parts]
    for index in np.ndindex(x.shape[:-2]):
        for grad_weight, (g, _) in zip(grad_weights, parts, strict=True):
            grad_weight += x[index].T @ g[index]
    return [assemble(x, parts)[0], *grad_weights]


# ----------------------------------------------------------------------------- predicted_backward_shapes

predicted_backward_shapes = Exercise(
    reference.predicted_backward_shapes,
    outputs={"shapes": "dict"},
    section="A ledger of shapes, both ways",
)

SIZES = ("n_batch", "T", "d_model", "d_key", "d_value")


@predicted_backward_shapes.cases("the shapes", points=2)
def _(draw):
    yield "five different sizes", dict(zip(SIZES, draw.sizes(5), strict=True))
    yield "five other sizes", dict(zip(SIZES, draw.sizes(5, low=8, high=40), strict=True))


@predicted_backward_shapes.cases("sizes of one", points=1)
def _(draw):
    for size in SIZES:
        yield f"{size} = 1", dict(zip(SIZES, draw.sizes(5), strict=True)) | {size: 1}


@predicted_backward_shapes.mistake("leaves the batch axis on the weight's gradient")
def batch_on_the_weight(**sizes):
    """There is one w_key for the whole batch, of shape (d_model, d_key), and its gradient has that shape: the
    contributions of the sentences are added up. Reread 'One weight, many rows'."""
    right = reference.predicted_backward_shapes(**sizes)
    return right | {"grad_w_key": right["grad_w_key_of_each_sentence"]}


@predicted_backward_shapes.mistake("adds up what each sentence contributes")
def contributions_added_up(**sizes):
    """The contributions are asked for *before* they are added up: one matrix of w_key's shape for each sentence, so the
    batch axis is still there. Reread 'One weight, many rows'."""
    right = reference.predicted_backward_shapes(**sizes)
    return right | {"grad_w_key_of_each_sentence": right["grad_w_key"]}


@predicted_backward_shapes.mistake("transposes the keys' gradient")
def keys_gradient_turned(**sizes):
    """The keys are transposed inside the product, but their gradient has the shape of the keys themselves, (n_batch, T,
    d_key). Reread 'A gradient has the shape of its array'."""
    wrong = (sizes["n_batch"], sizes["d_key"], sizes["T"])
    return reference.predicted_backward_shapes(**sizes) | {"grad_keys": wrong}


@predicted_backward_shapes.mistake("gives the weight's gradient PyTorch's layout")
def weight_gradient_as_in_torch(**sizes):
    """PyTorch keeps a linear layer's weight as (out, in). In this book a weight is (in, out), w_key is (d_model,
    d_key), and its gradient has the same shape. Reread 'A gradient has the shape of its array'."""
    return reference.predicted_backward_shapes(**sizes) | {"grad_w_key": (sizes["d_key"], sizes["d_model"])}


@predicted_backward_shapes.mistake("sets the three ways back to x side by side")
def three_ways_side_by_side(**sizes):
    """Three gradients come back to x, and they are *added*, not set side by side: each has the shape of x, and so has
    their sum. Reread 'Self-attention: three ways back to x'."""
    wrong = (sizes["n_batch"], sizes["T"], 3 * sizes["d_model"])
    return reference.predicted_backward_shapes(**sizes) | {"grad_x": wrong}


@predicted_backward_shapes.mistake("gives the output's gradient the width of x")
def output_as_wide_as_x(**sizes):
    """The output averages values, so it is d_value wide, and so is its gradient. Chapter 4 brings the width back to
    d_model, by one more projection. Reread 'A gradient has the shape of its array'."""
    wrong = (sizes["n_batch"], sizes["T"], sizes["d_model"])
    return reference.predicted_backward_shapes(**sizes) | {"grad_output": wrong}


@predicted_backward_shapes.mistake("counts one softmax for each sentence")
def one_jacobian_for_each_sentence(**sizes):
    """There is a softmax for each *row* of the scores, so for each query, and its Jacobian holds the slope of T weights
    by T scores: (n_batch, T, T, T). Three times T is why nobody builds them. Reread 'The softmax Jacobian, and why one
    never builds it'."""
    wrong = (sizes["n_batch"], sizes["T"], sizes["T"])
    return reference.predicted_backward_shapes(**sizes) | {"softmax_jacobians": wrong}


@predicted_backward_shapes.mistake("lets the rows of a softmax depend on each other")
def one_jacobian_for_all(**sizes):
    """A weight depends on the scores of its *own* row alone; those of other rows and other sentences have no effect,
    and the question asks for the own row only. One T by T matrix for each row is enough. Reread 'The softmax Jacobian,
    and why one never builds it'."""
    wrong = (sizes["n_batch"], sizes["T"], sizes["T"]) * 2
    return reference.predicted_backward_shapes(**sizes) | {"softmax_jacobians": wrong}


@predicted_backward_shapes.equivalent
def by_trying(n_batch, T, d_model, d_key, d_value):
    x = np.ones((n_batch, T, d_model))
    projections = [np.ones((d_model, width)) for width in (d_key, d_key, d_value)]
    output, cache = forward.self_attention(x, *projections)
    grad_x, _, grad_w_key, _ = reference.self_attention_backward(output, cache)
    _, keys, values, weights = cache[4]
    return {
        "grad_output": output.shape,
        "grad_values": values.shape,
        "grad_weights": (output @ turned(values)).shape,
        "grad_scores": weights.shape,
        "grad_keys": keys.shape,
        "grad_w_key": grad_w_key.shape,
        "grad_w_key_of_each_sentence": (turned(x) @ keys).shape,
        "grad_x": grad_x.shape,
        "softmax_jacobians": (weights[..., None] * np.eye(T)).shape,
    }


@predicted_backward_shapes.equivalent
def as_lists(**sizes):
    return {name: list(shape) for name, shape in reference.predicted_backward_shapes(**sizes).items()}


@predicted_backward_shapes.equivalent
def in_another_order(**sizes):
    return dict(reversed(reference.predicted_backward_shapes(**sizes).items()))


# ---------------------------------------------------------------------------- repaired_bilinear_backward

repaired_bilinear_backward = Exercise(
    reference.repaired_bilinear_backward,
    outputs={"grad_x": "... T d_model", "grad_a": "d_model d_model"},
    section="The proof, entry by entry",
)


def bilinear(draw, n_batch_axes=0, dtype=np.float64):
    """The cotangent of x a x^T, x and a, no two sizes alike."""
    T, d_model, *batch = draw.sizes(2 + n_batch_axes, low=3)
    return {
        "grad_scores": draw.normal(*batch, T, T, dtype=dtype),
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "a": draw.normal(d_model, d_model, dtype=dtype),
    }


@repaired_bilinear_backward.cases("every pair of positions", points=1)
def _(draw):
    inputs = bilinear(draw)
    yield "a symmetric cotangent", inputs | {"grad_scores": inputs["grad_scores"] + turned(inputs["grad_scores"])}
    yield "ones", inputs | {"grad_scores": np.ones_like(inputs["grad_scores"])}


@repaired_bilinear_backward.cases("rows and columns told apart", points=1)
def _(draw):
    yield "one sequence", bilinear(draw)
    inputs = bilinear(draw)
    yield "scores above the diagonal only", inputs | {"grad_scores": np.triu(inputs["grad_scores"], 1)}


@repaired_bilinear_backward.cases("a batch", points=1)
def _(draw):
    inputs = bilinear(draw, 1)
    diagonal = inputs["grad_scores"] * np.eye(inputs["grad_scores"].shape[-1])
    yield "one batch axis, the diagonal alone", inputs | {"grad_scores": diagonal}
    inputs = bilinear(draw, 2)
    diagonal = inputs["grad_scores"] * np.eye(inputs["grad_scores"].shape[-1])
    yield "two batch axes, the diagonal alone", inputs | {"grad_scores": diagonal}


@repaired_bilinear_backward.cases("all of it together", points=1)
def _(draw):
    yield "one batch axis", bilinear(draw, 1)
    yield "two batch axes", bilinear(draw, 2)
    yield "float32", bilinear(draw, 1, dtype=np.float32)


def pair_by_pair(
    grad_scores, x, a, *, diagonal_only=False, columns_as_rows=False, first_item=False, diagonal_once=False
):
    """The chapter's loop with any of its mistakes left in."""
    grad_x, grad_a = np.zeros_like(x), np.zeros_like(a)
    for i, j in np.ndindex(grad_scores.shape[-2:]):
        if diagonal_only and i != j:
            continue
        column = (i, j) if columns_as_rows else (j, i)
        grad_x[..., i, :] += grad_scores[..., i, j, None] * (x[..., j, :] @ a.T)
        if not (diagonal_once and i == j):
            grad_x[..., i, :] += grad_scores[..., *column, None] * (x[..., j, :] @ a)
    sequences = x.reshape(-1, *x.shape[-2:])
    for own, g in zip(sequences, grad_scores.reshape(-1, *grad_scores.shape[-2:]), strict=True):
        grad_a += (sequences[0] if first_item else own).T @ g @ own
    return grad_x, grad_a


@repaired_bilinear_backward.mistake("nothing that shows is mended yet")
def as_published(grad_scores, x, a):
    """Start with the condition: which entries of the scores hold x_i? All of row i and all of column i, not only the
    entry where they cross. While only that one counts, nothing else in grad_x can be seen. Reread 'The proof, entry by
    entry'."""
    return pair_by_pair(grad_scores, x, a, diagonal_only=True, columns_as_rows=True, first_item=True)


@repaired_bilinear_backward.mistake("one found: every pair counts; two to go")
def columns_and_item_left(grad_scores, x, a):
    """Every pair counts now. Next: x_i stands in S_ij as a row and in S_ji as a column, and these are two entries, with
    two gradients. Reread 'The proof, entry by entry'."""
    return pair_by_pair(grad_scores, x, a, columns_as_rows=True, first_item=True)


@repaired_bilinear_backward.mistake("grad_a is mended; in grad_x only the diagonal counts")
def diagonal_and_columns_left(grad_scores, x, a):
    """grad_a is right now. Next, in grad_x: which entries of the scores hold x_i? S_kl is free of it if k differs from
    i *and* l differs from i, so all of row i and all of column i hold it. Reread 'The proof, entry by entry'."""
    return pair_by_pair(grad_scores, x, a, diagonal_only=True, columns_as_rows=True)


@repaired_bilinear_backward.mistake("two found; the batch still leans on its first item")
def item_left(grad_scores, x, a):
    """One is left, in grad_a: an index that says the same for every item of the batch. With copies of one sequence
    nobody would notice. Reread 'A check that is blind'."""
    return pair_by_pair(grad_scores, x, a, first_item=True)


@repaired_bilinear_backward.mistake("two found; a column still reads the row's entry")
def columns_left(grad_scores, x, a):
    """One is left: the column term takes the gradient of S_ij, and x_i is the column of S_ji. While the cotangent is
    symmetric, as a cotangent of ones is, nobody would notice. Reread 'The proof, entry by entry'."""
    return pair_by_pair(grad_scores, x, a, columns_as_rows=True)


@repaired_bilinear_backward.mistake("counts the diagonal entry once")
def diagonal_counted_once(grad_scores, x, a):
    """You have taken care not to count S_ii twice. But it does hold x_i twice, as its row and as its column, and the
    product rule gives it two terms: one belongs to the row sum, one to the column sum. Nothing is counted twice.
    Reread 'The proof, entry by entry'."""
    return pair_by_pair(grad_scores, x, a, diagonal_once=True)


@repaired_bilinear_backward.mistake("takes a for symmetric")
def a_taken_for_symmetric(grad_scores, x, a):
    """The row term needs a^T and the column term a. You use the same in both, which is right only if a is symmetric;
    and W_Q W_K^T is not. Reread 'The proof, entry by entry'."""
    both = grad_scores + turned(grad_scores)
    return both @ x @ a, reference.repaired_bilinear_backward(grad_scores, x, a)[1]


@repaired_bilinear_backward.equivalent
def by_the_loop(grad_scores, x, a):
    return pair_by_pair(grad_scores, x, a)


@repaired_bilinear_backward.equivalent
def bilinear_by_einsum(grad_scores, x, a):
    rows = np.einsum("...kl,...lm,nm->...kn", grad_scores, x, a)
    columns = np.einsum("...kl,...km,mn->...ln", grad_scores, x, a)
    flat, g = x.reshape(-1, *x.shape[-2:]), grad_scores.reshape(-1, *grad_scores.shape[-2:])
    return rows + columns, np.einsum("bkm,bkl,bln->mn", flat, g, flat)


@repaired_bilinear_backward.equivalent
def as_two_products(grad_scores, x, a):
    """scores = (x a) x^T: first the outer product, then the inner one."""
    left = x @ a
    grad_left, grad_right = grad_scores @ x, turned(grad_scores) @ left
    through, grad_a, _ = reference.linear_backward(grad_left, (x, a))
    return [through + grad_right, grad_a]
