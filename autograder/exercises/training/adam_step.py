import math
from operator import itemgetter

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.training.shared import adam, checked, of_the_first_step
from solutions import training as reference
from solutions.parameters import flatten, map_tree, unflatten

adam_step = Exercise(reference.adam_step, outputs={"parameters": "...", "moments": ""}, section="Adam", tolerance=1e-10)
wrong = short_mistakes(adam_step)


def to_move(draw, tree, step=None, least=1e-3, **others):
    """Draw the arguments of Adam for these parameters; gradients and moments have the same shapes.

    least: the size of the first gradient in each array. It is small, to show where eps stands.
    """

    def scaled(array, size):
        array.flat[0] *= size
        return array

    def another():
        return map_tree(lambda array: scaled(draw.normal(*array.shape, dtype=array.dtype), least), tree)

    def squares(array):
        return scaled((0.2 + draw.normal(*array.shape) ** 2).astype(array.dtype), least**2)

    return {
        "parameters": tree,
        "gradients": another(),
        "moments": (another(), map_tree(squares, tree)),
        "step": draw.size(3, 9) if step is None else step,  # at step 2, beta**step is the square of beta
        "learning_rate": float(draw.rng.uniform(0.1, 0.5)),
    } | others


def a_tree(draw):
    """Draw the parameters of two norms, each with two arrays of one shape, and a table."""
    n = draw.size(3, 8)
    norms = [{"gain": draw.normal(n), "bias": draw.normal(n)} for _ in range(2)]
    return {"table": draw.normal(*draw.sizes(2)), "norms": norms}


@adam_step.cases("the first step", points=1)
def _(draw):
    yield "moments of zero", of_the_first_step(to_move(draw, draw.normal(draw.size(3, 8))))


@adam_step.cases("later steps", points=2)
def _(draw):
    yield "a vector", to_move(draw, draw.normal(draw.size(3, 8)))
    yield "a matrix", to_move(draw, draw.normal(*draw.sizes(2)))
    yield "other constants", to_move(draw, draw.normal(*draw.sizes(2)), beta_1=0.7, beta_2=0.95, eps=0.05)


@adam_step.cases("trees", points=1)
def _(draw):
    yield "a dict of lists of dicts", to_move(draw, a_tree(draw))
    inputs = to_move(draw, a_tree(draw))
    yield "gradients in another order", inputs | {"gradients": turned_round(inputs["gradients"])}


@adam_step.cases("float32 and errors", points=1)
def _(draw):
    # At this rate a decay of 1e-4 is lost in float32, and one of 5e-4 is not.
    rate = float(draw.rng.uniform(0.09, 0.12))
    matrix = draw.normal(*draw.sizes(2, low=5, high=10), dtype=np.float32)
    yield "float32", to_move(draw, matrix, least=1, learning_rate=rate)
    yield "step 0", to_move(draw, draw.normal(3), step=0)
    yield "a step below 0", to_move(draw, draw.normal(3), step=-draw.size())


DECAYS = (0.01, 0.1, 0.05, 1e-3, 5e-4, 1e-4, 1e-5)  # usual in training scripts


def turned_round(tree):
    """Return the same tree with its names in the opposite order, the order of a backward pass."""
    if isinstance(tree, dict):
        return {name: turned_round(tree[name]) for name in reversed(tree)}
    return [turned_round(branch) for branch in tree] if isinstance(tree, list) else tree


uncorrected = wrong("uncorrected", adam, corrected=(False, False))("""
    does not correct the bias
    The averages start at zero, and you use them as they are: at first they are too small by the factor 1 - beta**step.
    With the paper's constants, the first step is only 0.71 times as long as it should be. Divide both before use.""")
wrong("only_the_mean", adam, corrected=(True, False))("""
    corrects the bias of the mean only
    You correct the mean, but not the mean of squares. The denominator is too small, so the first steps are several
    times too long. Both averages start at zero.""")
wrong("times_not_power", adam, root=lambda v, e: np.sqrt(np.abs(v)) + e, power=lambda b, s: b * s)("""
    corrects by beta times step
    Your correction has beta * step instead of beta**step. At step 1 they agree; later 1 - beta * step becomes negative.
    The weights of the average are a geometric series.""")
wrong("eps_inside", adam, root=lambda v, e: np.sqrt(v + e))("""
    puts eps under the root
    eps is under the root, where 1e-9 acts like 3e-5: parameters with small gradients hardly move. Add it to the
    root.""")
wrong("without_eps", adam, root=lambda v, e: np.sqrt(v))("""
    forgets eps
    You do not use eps. A parameter whose gradient has been zero so far divides 0 by 0. Add eps to the root.""")
wrong("without_root", adam, root=lambda v, e: v + e)("""
    does not take the root
    You divide by the mean of *squares*. The root of this mean is the usual size of a gradient. Without the root, a
    parameter with small gradients takes enormous steps.""")


@adam_step.mistake("goes uphill")
def uphill_step(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """You add the step. The gradient points to where the loss grows, so subtract."""
    return reference.adam_step(parameters, gradients, moments, step, -learning_rate, beta_1, beta_2, eps)


wrong("betas_reversed", adam, shares=lambda b: (1 - b, b))("""
    exchanges beta and 1 - beta
    beta says how much of the old average *stays*, but you keep 1 - beta of it. The averages then forget nearly
    everything that they have seen.""")


@adam_step.mistake("averages the gradients themselves instead of their squares")
def not_squared(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Your second average is that of the gradients' absolute values. Average their squares."""
    roots = map_tree(lambda g: np.sign(g) * np.sqrt(np.abs(g)), gradients)
    return reference.adam_step(parameters, roots, moments, step, learning_rate, beta_1, beta_2, eps)


@adam_step.mistake("returns the corrected averages")
def corrected_moments(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The step is right, but you return the *corrected* averages: the next step would correct them again. Return them
    as they were before the correction."""
    new, (m, v) = reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    corrected_m = map_tree(lambda m: m / (1 - beta_1**step), m)
    return new, (corrected_m, map_tree(lambda v: v / (1 - beta_2**step), v))


@adam_step.mistake("returns the old averages")
def old_moments(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The step is right, but you return the averages that you got, so the next step would not remember this one. Return
    the new averages."""
    return reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)[0], moments


@adam_step.mistake("updates the averages in place")
def in_place_moments(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The caller's averages have changed: `mean *= ...` writes into them. If several parameters share an array of zeros
    at the start, as they may, each then remembers the others' gradients. Make new arrays."""
    new, fresh = reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    for old, value in zip(moments, fresh, strict=True):
        map_tree(np.copyto, old, value)
    return new, moments


@adam_step.mistake("updates the parameters in place")
def in_place_parameters(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The caller's parameters have changed: `parameters -= ...` writes into them. Then the caller cannot keep or
    average an earlier checkpoint. Make a new array."""
    new, fresh = reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    map_tree(np.copyto, parameters, new)
    return parameters, fresh


@adam_step.mistake("does not check the step")
def step_zero(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """At step 0 the bias correction divides by 1 - beta**0 = 0, and everything becomes NaN or infinite. Raise a
    ValueError if the step is smaller than 1."""
    if step < 1:
        return map_tree(lambda array: np.full_like(array, np.nan), parameters), moments
    return reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)


@adam_step.mistake("pairs arrays by their order, not by their names")
def paired_by_order(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """You move each parameter by the gradient in the same *place*. A backward pass computes the gradients from the
    output to the input, so its dicts are in a different order from the parameters. Then a gain gets the gradient of a
    bias, which has the same shape. Pair them by their names, as `map_tree` does."""

    def renamed(like, tree):
        if isinstance(like, dict):
            return {name: renamed(like[name], branch) for name, branch in zip(like, tree.values(), strict=True)}
        return list(map(renamed, like, tree)) if isinstance(like, list) else tree

    gradients = renamed(parameters, gradients)
    return reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)


wrong("only_the_squares", adam, corrected=(False, True))("""
    corrects the bias of the mean of squares only
    The mean of squares is corrected, but the mean is not: the numerator is too small, so the first steps are far too
    short. Both averages start at zero.""")
wrong("correction_multiplied", adam, correct=lambda average, share: average * share)("""
    multiplies by the correction
    You multiply the averages by 1 - beta**step. This makes the averages even smaller. They are too small by this
    factor, so *divide* by it.""")
wrong("other_beta", adam, crossed=True)("""
    corrects each average with the other's beta
    You divide the mean by `1 - beta_2**step`, and the mean of squares by `1 - beta_1**step`. Correct each with its
    *own* beta.""")
wrong("without_power", adam, power=lambda b, s: b)("""
    corrects by 1 - beta at every step
    You divide by 1 - beta, whatever the step is. That is right at step 1. Later it corrects too much, and increasingly
    so as the averages fill. Divide by 1 - beta**step.""")
wrong("one_step_ahead", adam, power=lambda b, s: b ** (s + 1))("""
    is one step ahead
    Your correction has beta**(step + 1): you add 1 to `step`, which already counts from 1.""")
wrong("not_weighted", adam, shares=lambda b: (b, 1))("""
    adds the whole gradient to the averages
    The averages are beta * old + new. Without the factor 1 - beta on the new value they are sums, and grow to ten and
    fifty times the right size.""")


@adam_step.mistake("exchanges beta_1 and beta_2")
def betas_exchanged(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """You use beta_2 for the mean and beta_1 for the mean of squares. Swap them."""
    return reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_2, beta_1, eps)


@adam_step.mistake("lets the parameters decay, by {number}", number=DECAYS)
def weight_decay(parameters, gradients, moments, step, learning_rate, *, number, **constants):
    """Each step also subtracts the learning rate times {number} times the parameter itself. That is AdamW's weight
    decay. The paper's Adam has none: move the parameters by the corrected quotient only."""
    new, moments = reference.adam_step(parameters, gradients, moments, step, learning_rate, **constants)
    return map_tree(lambda new, old: new - old.dtype.type(number * learning_rate) * old, new, parameters), moments


@adam_step.mistake("adds the parameters to their gradients, times {number}", number=DECAYS)
def penalty_on_the_parameters(parameters, gradients, moments, step, learning_rate, *, number, **constants):
    """You add {number} times its parameter to each gradient, as a penalty on large parameters does. Then the averages
    remember the penalty, too. The paper's Adam has none: average the gradients as they come."""
    gradients = map_tree(lambda gradient, p: gradient + p.dtype.type(number) * p, gradients, parameters)
    return reference.adam_step(parameters, gradients, moments, step, learning_rate, **constants)


wrong("eps_subtracted", adam, root=lambda v, e: np.sqrt(v) - e)("""
    subtracts eps from the root
    You divide by the root *minus* eps, so a parameter whose gradients are as small as eps divides by zero. Eps is there
    to keep the divisor away from zero: add it.""")


@adam_step.mistake("adds eps before the correction")
def eps_hat(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """You add eps to the root of the *uncorrected* average, and correct both together, so eps is too large in the first
    steps. The original paper mentions this order because it is faster, and calls its constant "epsilon hat". In this
    book, you add eps to the root of the corrected average."""
    root = math.sqrt(abs(1 - beta_2**step)) or 1.0
    return reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps / root)


wrong("corrected_by_a_root", adam, correct=lambda average, share: average / np.sqrt(share))("""
    corrects by the root of the factor
    You divide each average by the *root* of `1 - beta**step`. The average is too small by the factor `1 - beta**step`
    itself, so divide by that. (The root of the factor is right only after you have taken the root of the average.)""")


@adam_step.mistake("corrects the mean by the root of the factor")
def mean_corrected_by_a_root(step, learning_rate, beta_1=0.9, **asked):
    """You divide the mean by the *root* of `1 - beta_1**step`. The mean is too small by the factor `1 - beta_1**step`
    itself. Only the mean of squares is under a root."""
    too_long = learning_rate / math.sqrt(1 - beta_1 ** checked(step))
    return adam(**asked, step=step, beta_1=beta_1, learning_rate=too_long, corrected=(False, True))


@adam_step.mistake("corrects the mean of squares by the root of the factor")
def squares_corrected_by_a_root(step, beta_2=0.98, **asked):
    """You divide the mean of squares by the *root* of `1 - beta_2**step`, and take the root of the quotient. Divide by
    `1 - beta_2**step` itself before you take the root."""
    return adam(
        **asked,
        beta_2=beta_2,
        step=step,
        corrected=(True, False),
        root=lambda v, e: np.sqrt(v / math.sqrt(1 - beta_2**step)) + e,
    )


@adam_step.mistake("corrects the root without taking the factor's root")
def corrected_after_the_root(step, beta_2=0.98, **asked):
    """You take the root first and then divide it by 1 - beta_2**step. The average *under* the root is too small by this
    factor: correct before you take the root."""
    return adam(
        **asked,
        beta_2=beta_2,
        step=step,
        corrected=(True, False),
        root=lambda v, e: np.sqrt(v) / (1 - beta_2**step) + e,
    )


wrong("squared_betas", adam, power=lambda b, s: b**2)("""
    corrects by the square of beta
    Your correction has `beta**2` instead of `beta**step`. At step 2 they agree, but yours does not change with the
    step. Use the step as the exponent.""")


@adam_step.equivalent
def by_differences(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    checked(step)
    m = map_tree(lambda m, g: m + (1 - beta_1) * (g - m), moments[0], gradients)
    v = map_tree(lambda v, g: v + (1 - beta_2) * (g * g - v), moments[1], gradients)

    def update(m, v):
        return learning_rate * (m / (1 - beta_1**step)) / (np.sqrt(v / (1 - beta_2**step)) + eps)

    return map_tree(np.subtract, parameters, map_tree(update, m, v)), (m, v)


@adam_step.equivalent
def as_pytorch_orders_it(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    checked(step)

    def all_three(parameter, gradient, m, v):
        m = m * beta_1 + gradient * (1 - beta_1)
        v = v * beta_2 + np.square(gradient) * (1 - beta_2)
        root = np.sqrt(v) / math.sqrt(1 - beta_2**step) + eps
        return parameter - (learning_rate / (1 - beta_1**step)) * (m / root), m, v

    moved = map_tree(all_three, parameters, gradients, *moments)
    new, m, v = (map_tree(itemgetter(i), moved) for i in range(3))
    return new, (m, v)


@adam_step.equivalent
def number_by_number(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    checked(step)
    old, grad, old_mean, old_squares = map(flatten, (parameters, gradients, *moments))
    new, mean, squares = (np.zeros_like(old) for _ in range(3))
    for i in range(old.size):
        mean[i] = beta_1 * old_mean[i] + (1 - beta_1) * grad[i]
        squares[i] = beta_2 * old_squares[i] + (1 - beta_2) * grad[i] ** 2
        down = math.sqrt(squares[i] / (1 - beta_2**step)) + eps
        new[i] = old[i] - learning_rate * mean[i] / (1 - beta_1**step) / down
    new, mean, squares = (unflatten(vector, parameters) for vector in (new, mean, squares))
    return new, (mean, squares)
