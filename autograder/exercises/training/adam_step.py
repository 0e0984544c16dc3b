"""adam_step: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.training.shared import checked
from solutions import training as reference

adam_step = Exercise(reference.adam_step, outputs={"parameters": "...", "moments": ""}, section="Adam", tolerance=1e-10)


def to_move(draw, *shape, step=None, dtype=np.float64, **constants):
    return {
        "parameters": draw.normal(*shape, dtype=dtype),
        "gradients": draw.normal(*shape, dtype=dtype),
        "moments": (draw.normal(*shape, dtype=dtype), (0.2 + draw.normal(*shape) ** 2).astype(dtype)),
        "step": draw.size(2, 9) if step is None else step,
        "learning_rate": float(draw.rng.uniform(0.1, 0.5)),
    } | constants


@adam_step.cases("the first step", points=1)
def _(draw):
    inputs = to_move(draw, draw.size(3, 8), step=1)
    yield "moments of zero", inputs | {"moments": tuple(np.zeros_like(m) for m in inputs["moments"])}


@adam_step.cases("later steps", points=2)
def _(draw):
    yield "a vector", to_move(draw, draw.size(3, 8))
    yield "a matrix", to_move(draw, *draw.sizes(2))
    yield "other constants", to_move(draw, *draw.sizes(2), beta_1=0.7, beta_2=0.95, eps=0.05)


@adam_step.cases("float32 and errors", points=2)
def _(draw):
    yield "float32", to_move(draw, *draw.sizes(2), dtype=np.float32)
    yield "step 0", to_move(draw, 3, step=0)


def adam(inputs, corrected=(True, True), root=lambda v, eps: np.sqrt(v) + eps, power=lambda b, s: b**s, complement=0):
    """Adam with some of its parts exchanged."""
    parameters, gradients, (m, v), step, rate, b1, b2, eps = inputs
    checked(step)
    old_1, old_2 = (1 - b1, 1 - b2) if complement else (b1, b2)
    m = old_1 * m + (1 - old_1) * gradients
    v = old_2 * v + (1 - old_2) * gradients**2
    m_hat = m / (1 - power(b1, step)) if corrected[0] else m
    v_hat = v / (1 - power(b2, step)) if corrected[1] else v
    return parameters - rate * m_hat / root(v_hat, eps), (m, v)


@adam_step.mistake("does not correct the bias")
def uncorrected(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The averages start at zero and are used as they are: too small at first, by 1 - beta**step. With the paper's
    constants the first step has 0.71 of its length. Divide both before use. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, corrected=(False, False))


@adam_step.mistake("corrects the bias of the mean only")
def only_the_mean(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The mean is corrected, the mean of squares is not: too small below the line, so the first steps are several
    times too long. Both averages start at zero. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, corrected=(True, False))


@adam_step.mistake("corrects by beta times step")
def times_not_power(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The correction has beta * step where beta**step belongs; at step 1 they agree, later yours changes its sign. The
    weights of the average are a geometric series. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, root=lambda v, e: np.sqrt(np.abs(v)) + e, power=lambda b, s: b * s)


@adam_step.mistake("puts eps under the root")
def eps_inside(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """eps stands under the root, where 1e-9 acts like 3e-5: parameters with small gradients hardly move. It is added to
    the root. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, root=lambda v, e: np.sqrt(v + e))


@adam_step.mistake("forgets eps")
def without_eps(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """eps is not used. A parameter whose gradient has been zero so far divides 0 by 0. Add eps to the root. Reread
    'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, 0.0)
    return adam(inputs)


@adam_step.mistake("does not take the root")
def without_root(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """You divide by the mean of *squares*. Its root is the usual size of a gradient; without it a parameter with small
    gradients takes enormous steps. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, root=lambda v, e: v + e)


@adam_step.mistake("goes uphill")
def uphill_step(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The step is added. The gradient points to where the loss grows, so subtract. Reread 'Adam'."""
    return reference.adam_step(parameters, gradients, moments, step, -learning_rate, beta_1, beta_2, eps)


@adam_step.mistake("exchanges beta and 1 - beta")
def betas_reversed(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """beta says how much of the old average *stays*; you keep 1 - beta of it. The averages then forget nearly all they
    have seen. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, complement=1)


@adam_step.mistake("averages the gradients themselves in place of their squares")
def not_squared(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The second average is of the gradients' absolute values; it should be of their squares. Reread 'Adam'."""
    return reference.adam_step(
        parameters, np.sign(gradients) * np.sqrt(np.abs(gradients)), moments, step, learning_rate, beta_1, beta_2, eps
    )


@adam_step.mistake("hands back the corrected averages")
def corrected_moments(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The step is right, and the averages returned are the *corrected* ones: the next step would correct them again.
    Return them as they were before the correction. Reread 'Adam'."""
    new, (m, v) = reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return new, (m / (1 - beta_1**step), v / (1 - beta_2**step))


@adam_step.mistake("hands back the old averages")
def old_moments(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The step is right, and the averages returned are those that came in: nothing would be remembered from one step
    to the next. Return the new ones. Reread 'Adam'."""
    return reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)[0], moments


@adam_step.mistake("updates the averages in place")
def in_place_moments(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The numbers are right, and the caller's averages have changed: `mean *= ...` writes into them. If several
    parameters share an array of zeros at the start, as they may, each then remembers the others' gradients. Make new
    arrays. Reread 'Adam'."""
    new, fresh = reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    for array, value in zip(moments, fresh, strict=True):
        array[...] = value
    return new, moments


@adam_step.mistake("updates the parameters in place")
def in_place_parameters(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The numbers are right, and the caller's parameters have changed: `parameters -= ...` writes into them. Then no
    earlier checkpoint can be kept or averaged. Make a new array. Reread 'Adam'."""
    new, fresh = reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    parameters[...] = new
    return parameters, fresh


@adam_step.mistake("does not check the step")
def step_zero(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """At step 0 the bias correction divides by 1 - beta**0 = 0, and everything becomes NaN or infinite. Raise a
    ValueError if the step is smaller than 1. Reread 'Adam'."""
    if step < 1:
        return np.full_like(parameters, np.nan), moments
    return reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)


@adam_step.equivalent
def by_differences(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    checked(step)
    m, v = moments
    m, v = m + (1 - beta_1) * (gradients - m), v + (1 - beta_2) * (gradients * gradients - v)
    return parameters - learning_rate * (m / (1 - beta_1**step)) / (np.sqrt(v / (1 - beta_2**step)) + eps), (m, v)


@adam_step.equivalent
def as_pytorch_orders_it(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    checked(step)
    m = moments[0] * beta_1 + gradients * (1 - beta_1)
    v = moments[1] * beta_2 + np.square(gradients) * (1 - beta_2)
    root = np.sqrt(v) / math.sqrt(1 - beta_2**step) + eps
    return parameters - (learning_rate / (1 - beta_1**step)) * (m / root), (m, v)


@adam_step.equivalent
def number_by_number(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    checked(step)
    new, mean, squares = (np.empty_like(parameters) for _ in range(3))
    for i in np.ndindex(*parameters.shape):
        mean[i] = beta_1 * moments[0][i] + (1 - beta_1) * gradients[i]
        squares[i] = beta_2 * moments[1][i] + (1 - beta_2) * gradients[i] ** 2
        down = math.sqrt(squares[i] / (1 - beta_2**step)) + eps
        new[i] = parameters[i] - learning_rate * mean[i] / (1 - beta_1**step) / down
    return new, (mean, squares)
