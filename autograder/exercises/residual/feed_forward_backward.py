import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.residual.shared import to_think_about
from solutions import residual as reference
from solutions.backward import linear_backward

feed_forward_backward = Exercise(
    reference.feed_forward_backward,
    outputs={"grad_x": "... d_model", "grad_params": ""},
    order=("grad_params", "grad_x"),
    section="The feed-forward, walked backwards",
)
wrong = short_mistakes(feed_forward_backward)


def thought(draw, n_axes=1, dtype=np.float64):
    inputs = to_think_about(draw, n_axes, dtype)
    output, cache = reference.feed_forward(**inputs)
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@feed_forward_backward.cases("the idea", points=2)
def _(draw):
    yield "one position", thought(draw, 0)
    yield "one sentence", thought(draw)


@feed_forward_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", thought(draw, 2)
    yield "two batch axes", thought(draw, 3)


@feed_forward_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", thought(draw, 2, np.float32)
    inputs = to_think_about(draw)
    inputs["params"]["b_in"] = inputs["params"]["b_in"] - 100
    output, cache = reference.feed_forward(**inputs)
    yield "nothing was positive", {"grad_output": draw.normal(*output.shape), "cache": cache}


def through_relu(grad_output, cache, gate):
    """Return the gradients, with gate(grad_active, active) instead of the relu's gate."""
    in_cache, out_cache = cache
    grad_active, grad_w_out, grad_b_out = linear_backward(grad_output, out_cache)
    grad_x, grad_w_in, grad_b_in = linear_backward(gate(grad_active, out_cache[0]), in_cache)
    return grad_x, {"w_in": grad_w_in, "b_in": grad_b_in, "w_out": grad_w_out, "b_out": grad_b_out}


wrong("no_gate", through_relu, gate=lambda grad, active: grad)("""
    lets everything through relu
    The gradient passes as if relu were not there (or your gate is `>= 0`, which is always true of relu's output). If a
    hidden value was negative, the relu passed nothing forwards, so no gradient comes back.""")
wrong("gate_of_the_gradient", through_relu, gate=lambda grad, active: np.maximum(grad, 0))("""
    gates by the sign of the gradient
    You keep the *positive gradients*, as if relu applied to what comes back. The forward pass set relu's gate, by the
    sign of its input. A negative gradient passes an open gate, and a positive gradient stops at a closed gate.""")
wrong("output_for_slope", through_relu, gate=lambda grad, active: grad * active)("""
    multiplies by relu's output
    You multiply by relu's *value*. The chain rule needs its *slope*, which is 1 where the value is positive and 0
    elsewhere.""")
wrong("gate_inverted", through_relu, gate=lambda grad, active: grad * (active <= 0))("""
    inverts relu's gate
    Your gate is open where it should be closed, and closed where it should be open. The gradient should pass only where
    the hidden value was *positive*.""")


@feed_forward_backward.mistake("uses the first sentence alone for the weights")
def first_only(grad_output, cache):
    """The parameters' gradients come from the first item of the leading axis only. All items used the same weights, so
    the gradients of all items add up."""
    grad_x, grad_params = reference.feed_forward_backward(grad_output, cache)
    if grad_output.ndim > 1:
        (x, w_in), (active, w_out) = cache
        first = reference.feed_forward_backward(grad_output[0], ((x[0], w_in), (active[0], w_out)))
        grad_params = first[1]
    return grad_x, grad_params


wrong("gated_output", lambda grad_output, cache: reference.feed_forward_backward(np.maximum(grad_output, 0), cache))("""
    applies relu's gate to the second layer, too
    The gradient of the second layer's bias lacks the negative entries of grad_output, but no relu follows that layer.
    The relu is between the layers, so the second layer is an ordinary linear layer.""")
wrong("slope_alone", through_relu, gate=lambda grad, active: (active > 0).astype(grad.dtype))("""
    takes relu's slope for the gradient
    Below the relu you pass on the gate itself, ones and zeros, and lose the gradient that arrived there. The chain rule
    *multiplies* this gradient by the slope.""")


@feed_forward_backward.mistake("gates the gradient of x alone")
def gate_for_x_alone(grad_output, cache):
    """grad_x is right, but you made the gradients of w_in and b_in from the gradient *above* the relu. They belong to
    the layer below it, so the gradient must go through the gate first."""
    grad_x, right = reference.feed_forward_backward(grad_output, cache)
    _, ungated = through_relu(grad_output, cache, lambda grad, active: grad)
    return grad_x, right | {name: ungated[name] for name in ("w_in", "b_in")}


@feed_forward_backward.mistake("already adds the residual path")
def with_straight_path(grad_output, cache):
    """You add grad_output to grad_x. That is the residual path, which belongs to the backward pass of Add & Norm. Here
    the gradient of x comes only from the first linear layer."""
    grad_x, grad_params = reference.feed_forward_backward(grad_output, cache)
    return grad_x + grad_output, grad_params


@feed_forward_backward.equivalent
def entry_by_entry(grad_output, cache):
    (x, w_in), (active, w_out) = cache
    grad_x = np.zeros_like(x)
    grads = [np.zeros_like(w_in), np.zeros_like(w_in[0]), np.zeros_like(w_out), np.zeros_like(w_out[0])]
    for index in np.ndindex(x.shape[:-1]):
        g = grad_output[index]
        gated = np.array([w_out[f] @ g if active[index][f] > 0 else 0 for f in range(len(w_out))], x.dtype)
        grad_x[index] = w_in @ gated
        for total, part in zip(grads, (np.outer(x[index], gated), gated, np.outer(active[index], g), g), strict=True):
            total += part
    return grad_x, dict(zip(("w_in", "b_in", "w_out", "b_out"), grads, strict=True))


@feed_forward_backward.equivalent
def gate_by_where(grad_output, cache):
    return through_relu(grad_output, cache, lambda grad, active: np.where(active == 0, 0, grad))


@feed_forward_backward.equivalent
def by_sign(grad_output, cache):
    (x, w_in), (active, w_out) = cache
    gated = (grad_output @ w_out.T) * np.sign(active)
    sums = tuple(range(x.ndim - 1))
    grad_params = {
        "b_out": grad_output.sum(axis=sums),
        "w_out": np.tensordot(active, grad_output, (sums, sums)),
        "b_in": gated.sum(axis=sums),
        "w_in": np.tensordot(x, gated, (sums, sums)),
    }
    return gated @ w_in.T, grad_params
