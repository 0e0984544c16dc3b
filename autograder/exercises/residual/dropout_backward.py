"""dropout_backward: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.residual.shared import generator
from solutions import residual as reference

dropout_backward = Exercise(reference.dropout_backward, outputs={"grad_x": "..."}, section="Dropout")


def forgotten(draw, *shape, rate=0.4, dtype=np.float64):
    _, cache = reference.dropout(draw.normal(*shape, dtype=dtype), rate, generator(draw))
    return {"grad_output": draw.normal(*shape, dtype=dtype), "cache": cache}


@dropout_backward.cases("training", points=1)
def _(draw):
    yield "one sentence", forgotten(draw, 4, 7)
    yield "a batch", forgotten(draw, 3, 4, 6, rate=0.3)


@dropout_backward.cases("not training, and float32", points=1)
def _(draw):
    yield "not training", {"grad_output": draw.normal(*draw.sizes(2)), "cache": 1.0}
    yield "float32", forgotten(draw, 3, 5, dtype=np.float32)


@dropout_backward.mistake("lets everything through")
def all_through(grad_output, cache):
    """The gradient comes back as it was. What was forgotten had no part in the output, so it gets no gradient; what
    was enlarged gets an enlarged one."""
    return grad_output.copy()


@dropout_backward.mistake("does not enlarge the gradient")
def gradient_not_rescaled(grad_output, cache):
    """The zeros are in their places, but the rest is not enlarged. A constant factor of the forward pass is the same
    factor in the backward pass."""
    return grad_output * (np.asarray(cache) > 0)


@dropout_backward.mistake("enlarges twice")
def enlarged_twice(grad_output, cache):
    """The factor 1 / (1 - rate) is in the cache already, and you apply it once more."""
    return grad_output * cache * cache


@dropout_backward.mistake("divides by the scale")
def divided_by_scale(grad_output, cache):
    """A backward pass does not undo the forward pass: the gradient is multiplied by the same factor, not divided by it
    (which gives infinity wherever something was forgotten)."""
    with np.errstate(divide="ignore"):
        return grad_output / cache


@dropout_backward.mistake("forgets what was kept")
def other_way_round(grad_output, cache):
    """The gradient goes to the entries that were forgotten, and those that were kept get none."""
    return grad_output * (np.asarray(cache) == 0)


@dropout_backward.mistake("shrinks the gradient")
def gradient_shrunk(grad_output, cache):
    """The zeros are in their places, and the rest is divided by the factor that the forward pass multiplied by: it is
    made smaller by 1 - rate. A constant factor of the forward pass is the same factor in the backward pass."""
    cache = np.asarray(cache)
    return grad_output * np.divide(1, cache, out=np.zeros_like(cache), where=cache > 0)


@dropout_backward.mistake("writes into grad_output")
def in_place(grad_output, cache):
    """The caller's grad_output has changed: `grad_output *= cache` writes into it. The stream needs the same array
    whole. Make a new one: `grad_output * cache`."""
    grad_output *= cache
    return grad_output.copy()


@dropout_backward.equivalent
def scaled_by_where(grad_output, cache):
    return np.where(np.asarray(cache) == 0, 0, grad_output * cache)


@dropout_backward.equivalent
def diagonal_jacobian(grad_output, cache):
    scale = np.broadcast_to(np.asarray(cache, grad_output.dtype), grad_output.shape)
    return (np.diag(scale.ravel()) @ grad_output.ravel()).reshape(grad_output.shape)


@dropout_backward.equivalent
def scaled_one_by_one(grad_output, cache):
    grad_x = np.zeros_like(grad_output)
    scale = np.broadcast_to(cache, grad_output.shape)
    for index in np.ndindex(grad_x.shape):
        grad_x[index] = grad_output[index] * scale[index]
    return grad_x
