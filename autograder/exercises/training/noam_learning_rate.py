"""noam_learning_rate: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.training.shared import checked
from solutions import training as reference

noam_learning_rate = Exercise(reference.noam_learning_rate, outputs={"rate": ""}, section="The learning-rate schedule")


def at(draw, low, high, **others):
    warmup = draw.size(50, 500)
    return {"step": int(warmup * draw.rng.uniform(low, high)), "d_model": draw.size(20, 700), "warmup": warmup} | others


@noam_learning_rate.cases("the climb", points=1)
def _(draw):
    yield "during warm-up", at(draw, 0.2, 0.8)
    yield "the first step", at(draw, 0.2, 0.8, step=1)


@noam_learning_rate.cases("the corner and the descent", points=1)
def _(draw):
    yield "after warm-up", at(draw, 2, 6)
    inputs = at(draw, 1, 2)
    yield "at the corner", inputs | {"step": inputs["warmup"]}
    yield "no warm-up", at(draw, 1, 2, warmup=1)


@noam_learning_rate.cases("errors", points=1)
def _(draw):
    yield "step 0", at(draw, 1, 2, step=0)
    yield "a step below 0", at(draw, 1, 2, step=-draw.size())


@noam_learning_rate.mistake("takes the larger branch")
def larger_branch(step, d_model, warmup=4000):
    """max where min belongs: the rate begins at its largest, falls to the corner, and then climbs for ever. The smaller
    branch wins: first the climb, then the root."""
    return d_model**-0.5 * max(checked(step) ** -0.5, step * warmup**-1.5)


@noam_learning_rate.mistake("has -0.5 for -1.5 at the warm-up")
def wrong_exponent(step, d_model, warmup=4000):
    """warmup**-0.5 where warmup**-1.5 belongs: the branches then meet at step warmup**(1/3), after a handful of steps,
    and at a far higher rate. Set the branches equal: they meet at s = w."""
    return d_model**-0.5 * min(checked(step) ** -0.5, step * warmup**-0.5)


@noam_learning_rate.mistake("loses the step in the climb")
def no_step(step, d_model, warmup=4000):
    """The climbing branch lacks its factor `step`, so it is a constant and nothing climbs: at step 1000 the rate is a
    thousandth of what it should be."""
    return d_model**-0.5 * min(checked(step) ** -0.5, warmup**-1.5)


@noam_learning_rate.mistake("does not scale with d_model")
def any_width(step, d_model, warmup=4000):
    """The factor d_model**-0.5 is missing, so a wide model learns as fast as a narrow one; at width 512 that is 23
    times too fast."""
    return min(checked(step) ** -0.5, step * warmup**-1.5)


@noam_learning_rate.mistake("grows with d_model")
def grows_with_width(step, d_model, warmup=4000):
    """You multiply by the root of d_model; wider models want *smaller* rates: d_model**-0.5."""
    return d_model**0.5 * min(checked(step) ** -0.5, step * warmup**-1.5)


@noam_learning_rate.mistake("counts steps from 0")
def from_zero(step, d_model, warmup=4000):
    """You add 1 to the step. In this book steps count from 1, so yours is one step ahead all the way, and step 0 is
    accepted. (PyTorch's LambdaLR counts from 0: add 1 there, not here.)"""
    if step < 0:
        raise ValueError("steps count from 0")
    return d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup**-1.5)


@noam_learning_rate.mistake("lets step 0 through as step 1")
def at_least_one(step, d_model, warmup=4000):
    """The formula is right, and a step below 1 is quietly taken for step 1: then two first steps share a rate, and
    nobody hears of the wrong count. Raise a ValueError."""
    return reference.noam_learning_rate(max(1, step), d_model, warmup)


@noam_learning_rate.mistake("does not check the step")
def unchecked(step, d_model, warmup=4000):
    """Step 0 divides by zero, and for a negative step Python's root is a complex number. Raise a ValueError if the
    step is smaller than 1."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@noam_learning_rate.mistake("has the width's peak, whatever the warm-up")
def peak_of_the_width(step, d_model, warmup=4000):
    """The shape is right, and all of it is too high by the root of `warmup`: at the corner the rate is d_model**-0.5.
    It is (d_model * warmup)**-0.5 there; a longer climb ends lower."""
    return d_model**-0.5 * warmup**0.5 * min(checked(step) ** -0.5, step * warmup**-1.5)


@noam_learning_rate.mistake("climbs to one")
def peak_of_one(step, d_model, warmup=4000):
    """The rate is 1 at the corner: the schedule of libraries that multiply it by a rate of one's own. The paper's is
    d_model**-0.5 times the smaller branch, with no factor warmup**0.5."""
    return warmup**0.5 * min(checked(step) ** -0.5, step * warmup**-1.5)


@noam_learning_rate.mistake("has -1 for -1.5 at the warm-up")
def minus_one(step, d_model, warmup=4000):
    """The climb is step / warmup, which reaches 1 where the other branch is warmup**-0.5: they meet long before the
    warm-up is over. Set the branches equal: they meet at s = w."""
    return d_model**-0.5 * min(checked(step) ** -0.5, step * warmup**-1.0)


@noam_learning_rate.mistake("divides by d_model, not its root")
def by_whole_width(step, d_model, warmup=4000):
    """The factor is 1/d_model. It is one over its *root*: d_model**-0.5."""
    return min(checked(step) ** -0.5, step * warmup**-1.5) / d_model


@noam_learning_rate.mistake("falls as one over the step")
def falls_too_fast(step, d_model, warmup=4000):
    """The descending branch is 1/step; it is one over the *root* of the step. The branches then meet before the warm-up
    is over, and the rate dies away too soon."""
    return d_model**-0.5 * min(checked(step) ** -1.0, step * warmup**-1.5)


@noam_learning_rate.mistake("never comes down")
def never_down(step, d_model, warmup=4000):
    """The descending branch is `step**0.5`: it has lost its minus and climbs, so the smaller branch is the straight
    climb for ever. It is `step**-0.5`."""
    return d_model**-0.5 * min(checked(step) ** 0.5, step * warmup**-1.5)


@noam_learning_rate.mistake("never climbs")
def never_up(step, d_model, warmup=4000):
    """The rate is highest at the first step and falls from there on: the climbing branch is never the smaller one, as
    with `warmup**1.5`, where the minus is missing. It is step * warmup**-1.5."""
    return d_model**-0.5 * min(checked(step) ** -0.5, step * warmup**1.5)


@noam_learning_rate.mistake("has no minus in either exponent")
def no_minus(step, d_model, warmup=4000):
    """The rate is d_model**-0.5 times the root of the step, and climbs for ever: both exponents have lost their minus,
    or the branch with `warmup` is divided by a power that is negative already. The branches are `step**-0.5` and
    `step * warmup**-1.5`."""
    return d_model**-0.5 * min(checked(step) ** 0.5, step * warmup**1.5)


@noam_learning_rate.mistake("is one step late")
def one_step_late(step, d_model, warmup=4000):
    """Your rate is that of the step before, and the first step gets 0: it changes nothing. In this book steps count
    from 1, so use `step` as it is."""
    earlier = checked(step) - 1
    return reference.noam_learning_rate(earlier, d_model, warmup) if earlier else 0.0


@noam_learning_rate.mistake("is one step early")
def one_step_early(step, d_model, warmup=4000):
    """Your rate is that of the next step: you add 1 to the step. In this book steps count from 1, so use `step` as it
    is. (PyTorch's LambdaLR counts from 0: add 1 there, not here.)"""
    return reference.noam_learning_rate(checked(step) + 1, d_model, warmup)


@noam_learning_rate.equivalent
def by_branches(step, d_model, warmup=4000):
    checked(step)
    return 1 / math.sqrt(d_model * step) if step > warmup else step / math.sqrt(d_model * warmup**3)


@noam_learning_rate.equivalent
def from_the_corner(step, d_model, warmup=4000):
    ratio = checked(step) / warmup
    return (d_model * warmup) ** -0.5 * min(ratio, 1 / math.sqrt(ratio))


@noam_learning_rate.equivalent
def in_numpy(step, d_model, warmup=4000):
    s = float(checked(step))
    return float(np.minimum(s**-0.5, s * float(warmup) ** -1.5) / np.sqrt(d_model))
