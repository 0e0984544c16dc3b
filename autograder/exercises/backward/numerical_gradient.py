"""numerical_gradient: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from check.given_functions import Waves, log_sum_exp, sum_of_cubes, sum_of_squares, weighted_sines
from solutions import backward as reference


def neighbours(f, x, h=1e-5):
    """For each entry, x with that entry one step ahead and one step behind."""
    for index in np.ndindex(x.shape):
        for step in (h, -h):
            moved = np.array(x)
            moved[index] += step
            yield moved


numerical_gradient = Exercise(
    reference.numerical_gradient,
    outputs={"gradient": "..."},
    section="Measuring a gradient",
    tolerance=1e-7,  # the rounding error of f, divided by a small h
    likely=neighbours,
)


def drawn(draw, *shape):
    """A function that no table of known ones has, and where to measure its slopes."""
    return {"f": Waves(1 + draw.normal(*shape) / 2), "x": draw.normal(*shape)}


# No table of slopes passes an aspect: each has a function drawn anew.
@numerical_gradient.cases("the idea", points=1)
def _(draw):
    yield "a sum of squares", {"f": sum_of_squares, "x": draw.normal(draw.size())}
    yield "a sum of sines", {"f": weighted_sines, "x": draw.normal(draw.size())}
    yield "a function that ties all entries together", {"f": log_sum_exp, "x": draw.normal(draw.size(3))}
    yield "a sum of waves", drawn(draw, draw.size(3))


@numerical_gradient.cases("any shape", points=1)
def _(draw):
    yield "a matrix", {"f": weighted_sines, "x": draw.normal(*draw.sizes(2))}
    yield "three axes", {"f": log_sum_exp, "x": draw.normal(*draw.sizes(3, high=6))}
    yield "one entry", {"f": sum_of_cubes, "x": draw.normal(1, 1)}
    yield "no axis at all", {"f": weighted_sines, "x": draw.normal()}
    yield "a sum of waves in a matrix", drawn(draw, *draw.sizes(2))


@numerical_gradient.cases("the step", points=1)
def _(draw):
    yield "a large step", {"f": sum_of_cubes, "x": draw.normal(*draw.sizes(2)), "h": 0.5}
    yield "a small step", {"f": weighted_sines, "x": draw.normal(draw.size()), "h": 1e-3}
    yield "a step for a curved function", {"f": log_sum_exp, "x": draw.normal(*draw.sizes(2)), "h": 0.1}
    yield "a step for a sum of waves", drawn(draw, *draw.sizes(2)) | {"h": 0.2}


@numerical_gradient.mistake("takes forward differences")
def forward_differences(f, x, h=1e-5):
    """You compare f ahead of x with f at x itself. The error of this difference shrinks only like h. With one point on
    each side the terms in h cancel, and the error shrinks like h squared. Go both ways: f(x + h) - f(x - h)."""
    return slopes(lambda e: (f(x + h * e) - f(x)) / h, x)


@numerical_gradient.mistake("takes backward differences")
def backward_differences(f, x, h=1e-5):
    """You compare f at x with f behind x, a difference to one side only: its error shrinks like h, but the error of a
    difference to both sides shrinks like h squared. Go both ways: f(x + h) - f(x - h)."""
    return slopes(lambda e: (f(x) - f(x - h * e)) / h, x)


@numerical_gradient.mistake("divides by h, not by 2h")
def twice_too_steep(f, x, h=1e-5):
    """Every slope is exactly twice as steep as it should be. The distance from x - h to x + h is 2h: divide the rise by
    it."""
    return slopes(lambda e: (f(x + h * e) - f(x - h * e)) / h, x)


@numerical_gradient.mistake("divides a one-sided rise by 2h")
def half_too_flat(f, x, h=1e-5):
    """The distance from x to x + h is h, and you divide the rise by 2h: every slope is half of what it should be.
    Either start at x - h, or divide by h; starting at x - h is far more accurate."""
    return forward_differences(f, x, h) / 2


@numerical_gradient.mistake("divides by 2, then multiplies by h")
def precedence(f, x, h=1e-5):
    """`rise / 2 * h` is read from the left: half the rise, times h. Your slopes are too small by the factor h squared.
    The whole distance belongs in the denominator, in brackets: `rise / (2 * h)`."""
    return slopes(lambda e: (f(x + h * e) - f(x - h * e)) / 2 * h, x)


@numerical_gradient.mistake("does not divide by the distance")
def rise_alone(f, x, h=1e-5):
    """This is the rise of f from x - h to x + h, not its slope: the slope is the rise divided by the distance, 2h."""
    return slopes(lambda e: f(x + h * e) - f(x - h * e), x)


@numerical_gradient.mistake("takes the two sides the wrong way round")
def sides_exchanged(f, x, h=1e-5):
    """Every slope has the wrong sign: you subtract f ahead of x from f behind it. The rise is f(x + h) - f(x - h)."""
    return -reference.numerical_gradient(f, x, h)


@numerical_gradient.mistake("adds the two sides")
def sides_added(f, x, h=1e-5):
    """For a small step, f(x + h) + f(x - h) is nearly 2 f(x), whichever entry moves, so it says nothing about a slope.
    The slope is in their *difference*."""
    return slopes(lambda e: (f(x + h * e) + f(x - h * e)) / (2 * h), x)


@numerical_gradient.mistake("puts h in the entry's place")
def entry_replaced(f, x, h=1e-5):
    """The entry becomes h and then -h, where it should become itself plus h and itself minus h: you measure the slope
    where the entry is 0."""
    return slopes(lambda e: (f(x * (1 - e) + h * e) - f(x * (1 - e) - h * e)) / (2 * h), x)


@numerical_gradient.mistake("gives slopes of zero")
def asks_the_original(f, x, h=1e-5):
    """Every slope is zero. Either f gets the same array both times, for example if you nudge a copy and pass x itself
    to f, or the slopes never reach the array that you return."""
    return np.zeros_like(x)


@numerical_gradient.mistake("leaves x changed")
def residue_left(f, x, h=1e-5):
    """x is not what it was before the call. Even after + h, - 2h, + h an entry is back only up to rounding, and a
    network checked like this drifts away from its own weights. Work on a copy, or keep the old entry and put it
    back."""
    gradient = np.zeros_like(x)
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
    caller's x is changed at the end. Give each entry its old value before you go on to the next."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        x[index] += h
        above = f(x)
        x[index] -= 2 * h
        gradient[index] = (above - f(x)) / (2 * h)
    return gradient


@numerical_gradient.mistake("forgets to nudge a fresh copy for each entry")
def copy_drifts(f, x, h=1e-5):
    """You do work on a copy, and the caller's x is safe. But the copy keeps every nudge, so the slopes of the later
    entries are taken somewhere else. Give each entry its old value back before the next."""
    return never_put_back(f, x.copy(), h)


@numerical_gradient.mistake("takes a second name for a copy")
def second_name(f, x, h=1e-5):
    """`nudged = x` makes no copy: it is a second name for the same array. So x[index] has moved already when you take
    the step back from it, and this step ends where x began. The slopes come out half as steep. `x.copy()` makes a
    copy."""
    gradient = np.zeros_like(x)
    nudged = x
    for index in np.ndindex(x.shape):
        nudged[index] = x[index] + h
        above = f(nudged)
        nudged[index] = x[index] - h
        gradient[index] = (above - f(nudged)) / (2 * h)
    return gradient


@numerical_gradient.mistake("nudges all entries at once")
def all_at_once(f, x, h=1e-5):
    """Every entry of x moves together, so every entry of your gradient is the same number: the slope along (1, 1, ...,
    1), which is the sum of all partial derivatives. Move one entry at a time."""
    return np.full_like(x, (f(x + h) - f(x - h)) / (2 * h))


@numerical_gradient.mistake("walks along the first axis only")
def first_axis_only(f, x, h=1e-5):
    """`x[0]`, `x[1]`, ... are entries of a vector, but whole rows of a matrix: you nudge a row at a time and give all
    of its entries the row's slope. Visit every index of every axis: `np.ndindex(x.shape)`."""
    gradient = np.zeros_like(x)
    for i in range(len(x)):
        nudge = np.zeros_like(x)
        nudge[i] = h
        gradient[i] = (f(x + nudge) - f(x - nudge)) / (2 * h)
    return gradient


@numerical_gradient.mistake("flattens the gradient", reread="A gradient has the shape of its array")
def flattened(f, x, h=1e-5):
    """The slopes are right, in one long row. A gradient has the shape of its array, so that the two can be compared
    entry by entry."""
    return reference.numerical_gradient(f, x, h).reshape(-1)


@numerical_gradient.mistake("does not use the step it is given", reread="Which step")
def own_step(f, x, h=1e-5):
    """Your step is 1e-5, whatever h is. That is right for the default, but the best step depends on the function and on
    the precision, so h is an argument."""
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
