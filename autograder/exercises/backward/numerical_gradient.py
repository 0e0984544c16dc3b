import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from check.input_functions import Waves, log_sum_exp, sum_of_cubes, sum_of_squares, weighted_sines
from solutions import backward as reference


def neighbours(f, x, h=1e-5):
    """Yield, for each entry, x with this entry one step ahead and one step behind."""
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
wrong = short_mistakes(numerical_gradient)


def drawn(draw, *shape):
    """Draw a function that no table of known functions contains, and a point at which to measure its slopes."""
    return {"f": Waves(1 + draw.normal(*shape) / 2), "x": draw.normal(*shape)}


# No table of known slopes passes an aspect, because each aspect draws a new function.
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
    """You compare f at x + h with f at x itself. The error of this difference shrinks only like h. With a point on each
    side, the terms in h cancel, and the error shrinks like h squared. Use both sides: f(x + h) - f(x - h)."""
    return slopes(lambda e: (f(x + h * e) - f(x)) / h, x)


@numerical_gradient.mistake("takes backward differences")
def backward_differences(f, x, h=1e-5):
    """You compare f at x with f at x - h. The error of such a one-sided difference shrinks like h, but that of a
    two-sided difference like h squared. Use both sides: f(x + h) - f(x - h)."""
    return slopes(lambda e: (f(x) - f(x - h * e)) / h, x)


wrong("twice_too_steep", lambda f, x, h=1e-5: slopes(lambda e: (f(x + h * e) - f(x - h * e)) / h, x))("""
    divides by h, not by 2h
    Every slope is exactly twice as steep as it should be. The distance from x - h to x + h is 2h: divide the rise by
    it.""")
wrong("half_too_flat", lambda f, x, h=1e-5: forward_differences(f, x, h) / 2)("""
    divides a one-sided rise by 2h
    The distance from x to x + h is h, but you divide the rise by 2h, so every slope is half of what it should be.
    Either start at x - h, which is far more accurate, or divide by h.""")
wrong("divided_by_the_count", lambda f, x, h=1e-5: reference.numerical_gradient(f, x, h) / x.size)("""
    divides by the number of entries, too
    You divide every slope by the number of entries of x. Each entry has its own slope, so there is nothing to average:
    divide the rise only by 2h.""")
wrong("precedence", lambda f, x, h=1e-5: slopes(lambda e: (f(x + h * e) - f(x - h * e)) / 2 * h, x))("""
    divides by 2, then multiplies by h
    Python reads `rise / 2 * h` from the left: half the rise, times h. Your slopes are too small by the factor h
    squared. The whole distance belongs in the denominator, in brackets: `rise / (2 * h)`.""")
wrong("rise_alone", lambda f, x, h=1e-5: slopes(lambda e: f(x + h * e) - f(x - h * e), x))("""
    does not divide by the distance
    This is the rise of f from x - h to x + h, not its slope: the slope is the rise divided by the distance, 2h.""")
wrong("sides_exchanged", lambda f, x, h=1e-5: -reference.numerical_gradient(f, x, h))("""
    takes the two sides the wrong way round
    Every slope has the wrong sign: you subtract f(x + h) from f(x - h). The rise is f(x + h) - f(x - h).""")
wrong("sides_added", lambda f, x, h=1e-5: slopes(lambda e: (f(x + h * e) + f(x - h * e)) / (2 * h), x))("""
    adds the two sides
    For a small step, f(x + h) + f(x - h) is nearly 2 f(x), whichever entry moves, so it says nothing about a slope. The
    slope is in their *difference*.""")


@numerical_gradient.mistake("puts h in the entry's place")
def entry_replaced(f, x, h=1e-5):
    """You set the entry to h and then to -h, instead of adding h to it and subtracting h from it. So you measure the
    slope at a point where the entry is 0."""
    return slopes(lambda e: (f(x * (1 - e) + h * e) - f(x * (1 - e) - h * e)) / (2 * h), x)


wrong("asks_the_original", lambda f, x, h=1e-5: np.zeros_like(x))("""
    gives slopes of zero
    Every slope is zero. Either f gets the same array both times, for example if you nudge a copy and pass x itself to
    f, or the slopes never reach the array that you return.""")


def in_place(f, x, h=1e-5, *, put_back):
    """Nudge the entries of x itself, and perhaps nudge them back."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        x[index] += h
        above = f(x)
        x[index] -= 2 * h
        gradient[index] = (above - f(x)) / (2 * h)
        x[index] += h if put_back else 0
    return gradient


wrong("residue_left", in_place, put_back=True)("""
    leaves x changed
    x is not what it was before the call. Even after + h, - 2h, + h an entry is back only up to rounding, and a network
    checked like this drifts away from its own weights. Work on a copy, or keep the old entry and put it back.""")
wrong("never_put_back", in_place, put_back=False)("""
    never puts the nudged entry back
    Each entry stays nudged, so you measure the slopes of the later entries at another point, and the caller's x has
    changed at the end. Give each entry its old value before you go on to the next.""")
wrong("copy_drifts", lambda f, x, h=1e-5: in_place(f, x.copy(), h, put_back=False))("""
    forgets to nudge a fresh copy for each entry
    You work on a copy, so the caller's x is safe. But the copy keeps every nudge, so you measure the slopes of the
    later entries at another point. Give each entry its old value back before you nudge the next.""")


@numerical_gradient.mistake("takes a second name for a copy")
def second_name(f, x, h=1e-5):
    """`nudged = x` makes no copy, only a second name for the same array. So x[index] has already moved when you
    subtract h from it, and the result is the old x. Your slopes are half as steep as they should be. `x.copy()` makes a
    copy."""
    gradient = np.zeros_like(x)
    nudged = x
    for index in np.ndindex(x.shape):
        nudged[index] = x[index] + h
        above = f(nudged)
        nudged[index] = x[index] - h
        gradient[index] = (above - f(nudged)) / (2 * h)
    return gradient


wrong("all_at_once", lambda f, x, h=1e-5: np.full_like(x, (f(x + h) - f(x - h)) / (2 * h)))("""
    nudges all entries at once
    All entries of x move together, so all entries of your gradient are the same number: the slope along (1, 1, ..., 1),
    which is the sum of all partial derivatives. Move one entry at a time.""")


@numerical_gradient.mistake("walks along the first axis only")
def first_axis_only(f, x, h=1e-5):
    """`x[0]`, `x[1]`, ... are entries of a vector, but whole rows of a matrix: you nudge a whole row and give all of
    its entries the row's slope. Visit every index of every axis: `np.ndindex(x.shape)`."""
    gradient = np.zeros_like(x)
    for i in range(len(x)):
        nudge = np.zeros_like(x)
        nudge[i] = h
        gradient[i] = (f(x + nudge) - f(x - nudge)) / (2 * h)
    return gradient


wrong("flattened", lambda f, x, h=1e-5: reference.numerical_gradient(f, x, h).reshape(-1))("""
    flattens the gradient -> A gradient has the shape of its array
    The slopes are right, but in one long row. A gradient has the shape of its array, so that you can compare the two
    entry by entry.""")
wrong("own_step", lambda f, x, h=1e-5: reference.numerical_gradient(f, x))("""
    does not use the step it is given -> Which step
    Your step is 1e-5, whatever h is. That is right for the default, but the best step depends on the function and on
    the precision, so h is an argument.""")


def slopes(slope, x):
    """Return `slope(e)` for the unit vector e of each entry, in the shape of x."""
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
