"""linear_backward: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.backward.shared import as_rows, turned
from solutions import backward as reference

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


def gradients(grad_output, cache, **wrong):
    """The right three gradients, with some replaced."""
    names = ("grad_x", "grad_weight", "grad_bias")
    right = dict(zip(names, reference.linear_backward(grad_output, cache), strict=True))
    return tuple((right | wrong).values())


@linear_backward.mistake("does not transpose the weight")
def weight_not_turned(grad_output, cache):
    """`grad_output @ weight` fits only if the weight is square, and then gives wrong numbers without an error. In the
    backward pass, entry (i, j) of the weight carries the gradient from output j to input i: that is the transpose."""
    return gradients(grad_output, cache, grad_x=grad_output @ cache[1])


@linear_backward.mistake("transposes the weight's gradient")
def weight_gradient_turned(grad_output, cache):
    """Your `grad_weight` is the transpose of what it should be: grad_output^T x is (d_out, d_in). A gradient has the
    shape of its array, (d_in, d_out), and that is x^T grad_output. Only a square weight hides the slip."""
    return gradients(grad_output, cache, grad_weight=as_rows(grad_output).T @ as_rows(cache[0]))


@linear_backward.mistake("averages over the rows instead of adding them up", reread="One weight, many rows")
def averaged(grad_output, cache):
    """Your gradients of weight and bias are divided by the number of rows. Every row used the same weight, and where
    paths meet their gradients *add*. If the loss is a mean, that division is already inside grad_output."""
    _, grad_weight, grad_bias = reference.linear_backward(grad_output, cache)
    n_rows = math.prod(grad_output.shape[:-1])
    return gradients(grad_output, cache, grad_weight=grad_weight / n_rows, grad_bias=grad_bias / n_rows)


@linear_backward.mistake("averages the bias's gradient over the rows", reread="One weight, many rows")
def bias_averaged(grad_output, cache):
    """`grad_weight` is right, and `grad_bias` is the *mean* of the rows. The bias was added to every row, so its
    gradients from all rows add up: take the sum, not the mean."""
    return gradients(grad_output, cache, grad_bias=as_rows(grad_output).mean(axis=0))


@linear_backward.mistake("adds the bias's gradient up to a single number", reread="One weight, many rows")
def bias_over_everything(grad_output, cache):
    """A sum without an axis runs over the outputs, too, and gives one number for the whole bias, so all of its entries
    would move alike. Each output has an entry of its own; add up over the rows alone."""
    return gradients(grad_output, cache, grad_bias=grad_output.sum())


@linear_backward.mistake(
    "leaves axes of length 1 on the bias's gradient", reread="A gradient has the shape of its array"
)
def bias_keeps_its_axes(grad_output, cache):
    """The numbers of `grad_bias` are right, but its shape is (1, ..., d_out): keepdims leaves the axes that were summed
    over. The bias is (d_out,), and its gradient has the same shape."""
    leading = tuple(range(grad_output.ndim - 1))
    return gradients(grad_output, cache, grad_bias=grad_output.sum(axis=leading, keepdims=True))


@linear_backward.mistake("takes the bias's gradient from that of the weight", reread="One weight, many rows")
def bias_from_the_weight(grad_output, cache):
    """You add up the rows of `grad_weight`. That gradient is already multiplied by x. The bias was added without x, so
    its gradient is the sum of the rows of grad_output."""
    _, grad_weight, _ = reference.linear_backward(grad_output, cache)
    return gradients(grad_output, cache, grad_bias=grad_weight.sum(axis=0))


@linear_backward.mistake("adds up in float64 whatever the dtype is")
def float64_sums(grad_output, cache):
    """For float32 inputs the gradients of weight and bias came back as float64, which is what `np.zeros(shape)` makes.
    `np.zeros_like(weight)` keeps the dtype, and a matrix product needs no zeros to begin with."""
    _, grad_weight, grad_bias = reference.linear_backward(grad_output, cache)
    doubles = {"grad_weight": grad_weight.astype(np.float64), "grad_bias": grad_bias.astype(np.float64)}
    return gradients(grad_output, cache, **doubles)


@linear_backward.mistake("averages over the batch", reread="One weight, many rows")
def batch_averaged(grad_output, cache):
    """Your gradients of weight and bias are divided by the first axis, as if they were averages over sentences. They
    *add up* over the batch: each sentence used the same weight. A mean belongs in the loss, and is already inside
    grad_output."""
    _, grad_weight, grad_bias = reference.linear_backward(grad_output, cache)
    n = grad_output.shape[0] if grad_output.ndim > 2 else 1
    return gradients(grad_output, cache, grad_weight=grad_weight / n, grad_bias=grad_bias / n)


@linear_backward.mistake("keeps only the last item of the batch", reread="One weight, many rows")
def last_item_only(grad_output, cache):
    """`grad_weight` and `grad_bias` contain the last item's share alone, as from a loop over the batch that assigns
    (`=`) where it should add (`+=`). Every item used the same weight, so the shares add up."""
    x, weight = cache
    last = reference.linear_backward(grad_output[-1], (x[-1], weight)) if grad_output.ndim > 2 else None
    return gradients(grad_output, cache, **(dict(grad_weight=last[1], grad_bias=last[2]) if last else {}))


@linear_backward.mistake("leaves the batch axes on the weight's gradient", reread="One weight, many rows")
def one_weight_gradient_each(grad_output, cache):
    """There is one `grad_weight` for each item of the batch. But there is only one weight, and its gradient has its
    shape, (d_in, d_out): add up over all leading axes."""
    each = turned(np.atleast_2d(cache[0])) @ np.atleast_2d(grad_output)
    return gradients(grad_output, cache, grad_weight=each)


@linear_backward.mistake("adds the bias's gradient up over one axis only", reread="One weight, many rows")
def bias_over_one_axis(grad_output, cache):
    """`grad_output.sum(axis=0)` is the whole sum only while there is one leading axis; with a batch, an axis is left.
    The bias was added to every row of every sentence, so its gradient is the sum over *all* leading axes."""
    return gradients(grad_output, cache, grad_bias=grad_output.sum(axis=0))


@linear_backward.mistake("adds the bias's gradient up over the positions only", reread="One weight, many rows")
def bias_over_positions(grad_output, cache):
    """`grad_output.sum(axis=-2)` adds up the positions of each sentence, and leaves one gradient for each sentence. One
    bias serves all sentences, so its gradient is the sum over *all* leading axes."""
    axis = max(-2, -grad_output.ndim)
    return gradients(grad_output, cache, grad_bias=grad_output.sum(axis=axis))


@linear_backward.mistake("adds the weight's gradient up over one batch axis only", reread="One weight, many rows")
def weight_over_one_batch_axis(grad_output, cache):
    """The shares of the sentences are added up along the first axis only: that is enough for one batch axis, but with
    two, an axis is left. One weight serves them all: add up over *all* leading axes."""
    each = turned(np.atleast_2d(cache[0])) @ np.atleast_2d(grad_output)
    return gradients(grad_output, cache, grad_weight=each.sum(axis=0) if each.ndim > 2 else each)


@linear_backward.mistake("gives the bias the gradient of every row", reread="One weight, many rows")
def bias_not_summed(grad_output, cache):
    """`grad_bias` has a row for each position. The bias is one vector, stretched over all rows by broadcasting; what
    the forward pass stretches, the backward pass adds up."""
    return gradients(grad_output, cache, grad_bias=grad_output.copy())


@linear_backward.mistake("adds up before it multiplies", reread="One weight, many rows")
def summed_too_early(grad_output, cache):
    """You add up the rows of x and the rows of grad_output and then multiply the two sums. A product of sums is not the
    sum of products: each row of x belongs to *its own* row of grad_output. Multiply first, then add: x^T grad_output
    does both."""
    outer = np.outer(as_rows(cache[0]).sum(axis=0), as_rows(grad_output).sum(axis=0))
    return gradients(grad_output, cache, grad_weight=outer)


@linear_backward.mistake("takes the cotangent for ones", reread="The chain rule, path by path")
def ones_for_the_cotangent(grad_output, cache):
    """Your gradients are those of the plain sum of the outputs, whatever grad_output is. The loss comes after this
    layer, and grad_output tells you how it depends on each output."""
    return reference.linear_backward(np.ones_like(grad_output), cache)


@linear_backward.mistake("returns the gradients in the order of the derivation")
def derivation_order(grad_output, cache):
    """The three gradients are right, but in the wrong order: a backward function returns them in the order of the
    forward's arguments, x, weight, bias."""
    return reference.linear_backward(grad_output, cache)[::-1]


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
