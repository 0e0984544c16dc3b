import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from autograder.exercises.backward.shared import as_rows, turned
from solutions import backward as reference

linear_backward = Exercise(
    reference.linear_backward,
    outputs={"grad_x": "... d_in", "grad_weight": "d_in d_out", "grad_bias": "d_out"},
    order=("grad_bias", "grad_weight", "grad_x"),
    section="The gradients of a product",
)
wrong = short_mistakes(linear_backward)
changed = changing(reference.linear_backward)


def affine(draw, n_leading=1, dtype=np.float64, **sizes):
    """Return a cotangent and the cache of an affine map. All sizes differ, except those that you give."""
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


def gradients(grad_output, cache, **wrong):
    """Return the right three gradients, with some replaced by functions of grad_output, x and weight."""
    names = ("grad_x", "grad_weight", "grad_bias")
    right = dict(zip(names, reference.linear_backward(grad_output, cache), strict=True))
    return tuple((right | {name: gradient(grad_output, *cache) for name, gradient in wrong.items()}).values())


def divided(grad_output, cache, *, by, all_three=False):
    """Divide the right gradients, either all three or those of weight and bias, by a function of grad_output."""
    grad_x, grad_weight, grad_bias = reference.linear_backward(grad_output, cache)
    n = by(grad_output)
    return grad_x / n if all_three else grad_x, grad_weight / n, grad_bias / n


def n_rows(grad_output):
    return math.prod(grad_output.shape[:-1])


def one_each(grad_output, x, weight):
    """Return one gradient of the weight for each item of the batch."""
    return turned(np.atleast_2d(x)) @ np.atleast_2d(grad_output)


@linear_backward.mistake("does not transpose the weight")
def weight_not_turned(grad_output, cache):
    """`grad_output @ weight` fits only if the weight is square, and then gives wrong numbers without an error. In the
    backward pass, entry (i, j) of the weight carries the gradient from output j to input i, so use the transpose."""
    return gradients(grad_output, cache, grad_x=lambda grad_output, x, weight: grad_output @ weight)


wrong(
    "weight_gradient_turned", gradients, grad_weight=lambda grad_output, x, weight: as_rows(grad_output).T @ as_rows(x)
)("""
    transposes the weight's gradient
    Your `grad_weight` is the transpose of what it should be: grad_output^T x is (d_out, d_in). A gradient has the shape
    of its array, here (d_in, d_out): return x^T grad_output. Only a square weight hides the slip.""")
wrong("averaged", divided, by=n_rows)("""
    averages over the rows instead of adding them up -> One weight, many rows
    You divide the gradients of weight and bias by the number of rows. Every row used the same weight, and if several
    paths lead to an array, their gradients *add up*. If the loss is a mean, that division is already inside
    grad_output.""")
wrong("all_averaged", divided, by=n_rows, all_three=True)("""
    divides all gradients by the number of rows -> One weight, many rows
    You divide all three gradients by the number of rows. If the loss is a mean, that division is already in
    grad_output, so do not divide here.""")
wrong("bias_averaged", gradients, grad_bias=lambda grad_output, *_: as_rows(grad_output).mean(axis=0))("""
    averages the bias's gradient over the rows -> One weight, many rows
    `grad_weight` is right, but `grad_bias` is the *mean* of the rows. The forward pass adds the bias to every row, so
    its gradients from all rows add up: take the sum, not the mean.""")
wrong("bias_over_everything", gradients, grad_bias=lambda grad_output, *_: grad_output.sum())("""
    adds the bias's gradient up to a single number -> One weight, many rows
    A sum without an axis runs over the outputs, too, and gives one number for the whole bias, so all of its entries
    would move alike. Each output feature has its own bias: sum over the rows only.""")
wrong("bias_one_sum_everywhere", gradients, grad_bias=lambda g, x, weight: np.full_like(weight[0], g.sum()))("""
    gives every entry of the bias's gradient the same sum -> One weight, many rows
    Every entry of `grad_bias` is the same number, the sum of all of grad_output, so all entries of the bias would move
    alike. Each output feature has its own bias: sum over the rows only.""")
wrong("bias_keeps_its_axes", gradients, grad_bias=lambda g, *_: g.sum(axis=tuple(range(g.ndim - 1)), keepdims=True))("""
    leaves axes of length 1 on the bias's gradient -> A gradient has the shape of its array
    The numbers of `grad_bias` are right, but its shape is (1, ..., d_out): keepdims leaves the axes that were summed
    over. The bias is (d_out,), and its gradient has the same shape.""")
wrong(
    "bias_from_the_weight",
    changed,
    change=lambda grad_x, grad_weight, _: (grad_x, grad_weight, grad_weight.sum(axis=0)),
)("""
    takes the bias's gradient from that of the weight -> One weight, many rows
    You add up the rows of `grad_weight`. That gradient already contains the factor x. The forward pass adds the bias
    without x, so its gradient is the sum of the rows of grad_output.""")
wrong(
    "float64_sums", changed, change=lambda grad_x, *others: (grad_x, *(grad.astype(np.float64) for grad in others))
)("""
    adds up in float64 whatever the dtype is
    For float32 inputs the gradients of weight and bias came back as float64, which is what `np.zeros(shape)` makes.
    `np.zeros_like(weight)` keeps the dtype, and a matrix product needs no zeros to begin with.""")
wrong("batch_averaged", divided, by=lambda grad_output: len(grad_output) if grad_output.ndim > 2 else 1)("""
    averages over the batch -> One weight, many rows
    You divide the gradients of weight and bias by the length of the first axis, as if they were averages over
    sentences. They *add up* over the batch, because each sentence used the same weight. If the loss is a mean, that
    division is already inside grad_output.""")


@linear_backward.mistake("keeps only the last item of the batch", reread="One weight, many rows")
def last_item_only(grad_output, cache):
    """`grad_weight` and `grad_bias` contain only the last item's share, as from a loop over the batch that assigns
    (`=`) instead of adding (`+=`). Every item used the same weight, so the shares add up."""
    (x, weight), right = cache, reference.linear_backward(grad_output, cache)
    last = reference.linear_backward(grad_output[-1], (x[-1], weight)) if grad_output.ndim > 2 else right
    return right[0], *last[1:]


wrong("one_weight_gradient_each", gradients, grad_weight=one_each)("""
    leaves the batch axes on the weight's gradient -> One weight, many rows
    You return a `grad_weight` for each item of the batch. But there is only one weight, and its gradient has its shape,
    (d_in, d_out): add up over all leading axes.""")
wrong("bias_over_one_axis", gradients, grad_bias=lambda grad_output, *_: grad_output.sum(axis=0))("""
    adds the bias's gradient up over one axis only -> One weight, many rows
    `grad_output.sum(axis=0)` is the whole sum only while there is one leading axis. With a batch, an axis is left. The
    forward pass adds the bias to every row of every sentence, so its gradient is the sum over *all* leading axes.""")
wrong("bias_over_positions", gradients, grad_bias=lambda g, *_: g.sum(axis=max(-2, -g.ndim)))("""
    adds the bias's gradient up over the positions only -> One weight, many rows
    `grad_output.sum(axis=-2)` adds up the positions of each sentence, and leaves one gradient for each sentence. One
    bias serves all sentences, so its gradient is the sum over *all* leading axes.""")
wrong(
    "weight_over_one_batch_axis",
    gradients,
    grad_weight=lambda g, *c: one_each(g, *c).sum(axis=0) if g.ndim > 2 else one_each(g, *c),
)("""
    adds the weight's gradient up over one batch axis only -> One weight, many rows
    You add up the shares of the sentences only along the first axis. That is enough for one batch axis, but with two,
    an axis is left. One weight serves all sentences: add up over *all* leading axes.""")
wrong("bias_not_summed", gradients, grad_bias=lambda grad_output, *_: grad_output.copy())("""
    gives the bias the gradient of every row -> One weight, many rows
    `grad_bias` has a row for each position. The bias is one vector, which broadcasting repeats for all rows. The
    backward pass adds up what the forward pass repeats.""")
wrong(
    "summed_too_early",
    gradients,
    grad_weight=lambda g, x, weight: np.outer(as_rows(x).sum(axis=0), as_rows(g).sum(axis=0)),
)("""
    adds up before it multiplies -> One weight, many rows
    You add up the rows of x and the rows of grad_output and then multiply the two sums. A product of sums is not the
    sum of products: each row of x belongs to *its own* row of grad_output. Multiply first, then add: x^T grad_output
    does both.""")
wrong(
    "ones_for_the_cotangent", lambda grad_output, cache: reference.linear_backward(np.ones_like(grad_output), cache)
)("""
    takes the cotangent for ones -> The chain rule, path by path
    Your gradients are those of the plain sum of the outputs, whatever grad_output is. The loss comes after this layer,
    and grad_output tells you how the loss depends on each output.""")
wrong("derivation_order", lambda grad_output, cache: reference.linear_backward(grad_output, cache)[::-1])("""
    returns the gradients in the order of the derivation
    The three gradients are right, but in the wrong order. A backward function returns them in the order of the forward
    pass's arguments: x, weight, bias.""")
wrong("inverse_for_transpose", gradients, grad_x=lambda g, x, weight: g @ np.linalg.pinv(weight).astype(g.dtype))("""
    multiplies by the inverse where the transpose belongs
    grad_x is grad_output times an inverse of the weight, as if you solved for x. A gradient goes back through the
    *transpose*: entry (i, j) of the weight says how much output j grows with input i.""")


@linear_backward.equivalent
def by_einsum(grad_output, cache):
    rows, grad_rows = as_rows(cache[0]), as_rows(grad_output)
    grad_x = np.einsum("...o,io->...i", grad_output, cache[1])
    return grad_x, np.einsum("ni,no->io", rows, grad_rows), np.einsum("no->o", grad_rows)


@linear_backward.equivalent
def position_by_position(grad_output, cache):
    x, weight = cache
    grad_x, grad_weight = np.zeros_like(x), np.zeros_like(weight)
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
