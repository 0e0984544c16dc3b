import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.residual.layer_norm_backward import row_after_row, through_each_statistic, with_the_jacobian
from autograder.exercises.residual.shared import generator, to_add
from solutions import residual as reference
from solutions.dropout import dropout_backward

add_norm_backward = Exercise(
    reference.add_norm_backward,
    outputs={"grad_x": "... d_model", "grad_update": "... d_model", "grad_params": ""},
    order=("grad_params", "grad_x", "grad_update"),
    section="Add and norm",
)


def added(draw, n_axes=1, dtype=np.float64, rate=0.0):
    inputs = to_add(draw, n_axes, dtype)
    output, cache = reference.add_norm(**inputs, rate=rate, rng=generator(draw) if rate else None)
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@add_norm_backward.cases("the idea", points=1)
def _(draw):
    yield "one position", added(draw, 0)
    yield "one sentence", added(draw)


@add_norm_backward.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", added(draw, 2)
    yield "two batch axes", added(draw, 3)
    yield "float32", added(draw, 2, np.float32)


@add_norm_backward.cases("dropout", points=1)
def _(draw):
    yield "two fifths of the update were forgotten", added(draw, 2, rate=0.4)


@add_norm_backward.mistake("goes round the norm")
def round_the_norm(grad_output, cache):
    """grad_x is grad_output, unchanged. The sum does pass its gradient on unchanged, but in post-norm the norm comes
    *after* the sum, so the gradient must go through the norm first."""
    _, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_output.copy(), grad_update, grad_params


@add_norm_backward.mistake("shares the gradient between the two terms")
def halved(grad_output, cache):
    """Each term gets half of the gradient. A sum does not divide its gradient: if x grows by one, the sum grows by one,
    and the same is true of the update. Both get the whole gradient."""
    grad_x, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_x / 2, grad_update / 2, grad_params


@add_norm_backward.mistake("adds both terms' gradients into x's")
def twice_to_x(grad_output, cache):
    """grad_x contains the update's gradient as well. The gradient through the sub-layer is added later, after the
    sub-layer's own backward pass. Here x gets only the gradient of the residual path."""
    grad_x, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_x + grad_update, grad_update, grad_params


@add_norm_backward.mistake("drops the stream's gradient", reread="Dropout")
def stream_dropped(grad_output, cache):
    """grad_x is zero where the *update* was dropped. Dropout is on the update's path only; the stream gets the whole
    gradient."""
    _, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_update.copy(), grad_update, grad_params


@add_norm_backward.mistake("forgets dropout in the backward pass", reread="Dropout")
def dropout_forgotten(grad_output, cache):
    """grad_update is not zero where the update was dropped. Both passes multiply by the same scale. Without dropout
    this does not show."""
    grad_x, _, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_x, grad_x.copy(), grad_params


@add_norm_backward.mistake("exchanges the stream and the update")
def exchanged(grad_output, cache):
    """You swap the gradients of x and of the update. Without dropout they are equal. With dropout, only the update's
    gradient has zeros."""
    grad_x, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_update, grad_x, grad_params


def unfold_add_norm(norm_backward):
    """Return a right add_norm_backward that uses another right backward pass of the norm."""

    def backward(grad_output, cache):
        scale, norm_cache = cache
        grad_sum, grad_gain, grad_bias = norm_backward(grad_output, norm_cache)
        return grad_sum, grad_sum * scale, {"gain": grad_gain, "bias": grad_bias}

    return backward


@add_norm_backward.mistake("goes round the norm with both")
def both_round_the_norm(grad_output, cache):
    """Neither gradient has been through the norm: grad_x is grad_output, and grad_update is grad_output times dropout's
    scale. The norm comes after the sum, so grad_output goes through the norm first, and then to both."""
    _, _, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_output.copy(), dropout_backward(grad_output, cache[0]), grad_params


@add_norm_backward.mistake("adds a path that goes past the norm", reread="Before or after?")
def past_the_norm_too(grad_output, cache):
    """You add grad_output to grad_x. In pre-norm the stream does go past the norm, but here it only goes *through*
    it."""
    grad_x, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_x + grad_output, grad_update, grad_params


@add_norm_backward.mistake("goes back through dropout before the norm", reread="Dropout")
def dropout_first(grad_output, cache):
    """You multiply by dropout's scale before you go through the norm. The backward pass begins with the last step:
    first the norm, then the sum, then dropout on the update's path only. Without dropout this does not show."""
    return reference.add_norm_backward(dropout_backward(grad_output, cache[0]), (1.0, cache[1]))


@add_norm_backward.mistake("scales the gradient where dropout dropped", reread="Dropout")
def mask_not_applied(grad_output, cache):
    """You divide the update's gradient by 1 - rate, but do not set it to zero where dropout dropped an entry. A
    dropped entry has no influence on the output. Multiply by the scale in dropout's cache, which contains the zeros and
    the factor."""
    grad_x, _, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_x, grad_x * np.asarray(cache[0]).max().astype(grad_x.dtype), grad_params


@add_norm_backward.equivalent
def add_norm_by_jacobian(grad_output, cache):
    return unfold_add_norm(with_the_jacobian)(grad_output, cache)


@add_norm_backward.equivalent
def add_norm_by_rows(grad_output, cache):
    return unfold_add_norm(row_after_row)(grad_output, cache)


@add_norm_backward.equivalent
def add_norm_by_statistics(grad_output, cache):
    return unfold_add_norm(through_each_statistic)(grad_output, cache)
