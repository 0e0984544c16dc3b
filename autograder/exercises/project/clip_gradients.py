"""clip_gradients: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import project as reference
from solutions.parameters import flatten, leaves, map_tree, unflatten

clip_gradients = Exercise(
    reference.clip_gradients, outputs={"clipped": "", "length": ""}, section="One length for all gradients"
)


def gradients_of(draw, size=1.0):
    """A tree with arrays of different sizes and scales."""
    a, b, c = draw.sizes(3)
    tree = {
        "embeddings": {"shared": 3 * draw.normal(a, b)},
        "layers": [{"gain": draw.normal(c)}, {"gain": 0.1 * draw.normal(c), "bias": draw.normal(b, c)}],
    }
    return map_tree(lambda array: size * array, tree)


def of_exact_length(draw):
    """A tree in float32 whose length is a whole number, exact in any dtype in which it is computed."""
    entries = draw.rng.permutation([2, 3, 6, 0]) * draw.rng.choice([-1, 1], size=4)  # 4 + 9 + 36 = 49
    entries = entries.astype(np.float32)
    return {"bias": entries[:1], "weight": entries[1:].reshape(1, 3)}


@clip_gradients.cases("long gradients", points=1)
def _(draw):
    yield "a tree", {"gradients": gradients_of(draw, 4), "longest": float(draw.rng.uniform(0.5, 1.5))}
    yield "one array", {"gradients": 9 * draw.normal(*draw.sizes(2)), "longest": float(draw.rng.uniform(1.5, 2.5))}
    yield "single precision", {"gradients": of_exact_length(draw), "longest": float(draw.rng.uniform(1, 2))}


@clip_gradients.cases("short gradients", points=1)
def _(draw):
    yield "shorter than the bound", {"gradients": gradients_of(draw, 0.05), "longest": float(draw.rng.uniform(6, 9))}
    yield "nothing but zeros", {"gradients": map_tree(np.zeros_like, gradients_of(draw)), "longest": 1.0}


def scaled(gradients, longest, length_of):
    length = length_of(gradients)
    return map_tree(lambda g: longest / max(length, longest) * g, gradients), length


@clip_gradients.mistake("clips each array by itself")
def each_array(gradients, longest):
    """You shorten each array by a factor of its own. Then the arrays no longer have the proportions of the gradient,
    and the step points elsewhere. Compute one length over all arrays, and one factor from it."""
    clipped = map_tree(lambda g: scaled(g, longest, np.linalg.norm)[0], gradients)
    return clipped, float(np.linalg.norm(flatten(gradients)))


@clip_gradients.mistake("cuts off each number")
def each_number(gradients, longest):
    """You limit every number to the range from -longest to longest. That changes the direction: the large entries
    shrink, and the small ones stay. Multiply all of them by the same factor."""
    clipped = map_tree(lambda g: np.clip(g, -longest, longest), gradients)
    return clipped, float(np.linalg.norm(flatten(gradients)))


@clip_gradients.mistake("stretches short gradients")
def always(gradients, longest):
    """Short gradients come out as long as the bound. Clipping only shortens: the factor is at most 1. Without this
    limit, the tiny gradient of a model that has learnt everything is stretched to the bound."""
    length = float(np.linalg.norm(flatten(gradients)))
    return map_tree(lambda g: longest / length * g if length else g, gradients), length


@clip_gradients.mistake("adds up the lengths of the arrays")
def sum_of_lengths(gradients, longest):
    """You add up the lengths of the arrays. Lengths add up as in Pythagoras: the root of the sum of all squares. Your
    length is too large, and the gradients are clipped too early and too much."""
    return scaled(gradients, longest, lambda tree: float(sum(np.linalg.norm(g) for g in leaves(tree))))


@clip_gradients.mistake("forgets the root")
def squared(gradients, longest):
    """Your length is the sum of the squares. Take its root: a gradient that is twice as long has four times that
    sum."""
    return scaled(gradients, longest, lambda tree: float(np.sum(flatten(tree) ** 2)))


@clip_gradients.mistake("takes the largest entry as the length")
def largest_entry(gradients, longest):
    """Your length is the absolute value of the largest entry. A gradient with many medium-sized entries is much longer
    than that, and would pass unclipped. Take the root of the sum of all squares."""
    return scaled(gradients, longest, lambda tree: float(np.abs(flatten(tree)).max()))


@clip_gradients.mistake("adds up the absolute values")
def absolute_values(gradients, longest):
    """Your length is the sum of the absolute values. It grows with the number of parameters, so a large model would be
    clipped in every step. Take the root of the sum of all squares."""
    return scaled(gradients, longest, lambda tree: float(np.abs(flatten(tree)).sum()))


@clip_gradients.mistake("takes the mean of the squares")
def mean_of_squares(gradients, longest):
    """You take the root of the *mean* of the squares. The bound applies to the length, which is the root of their
    *sum*."""
    return scaled(gradients, longest, lambda tree: float(np.sqrt(np.mean(flatten(tree) ** 2))))


@clip_gradients.mistake("returns the length after clipping")
def length_after(gradients, longest):
    """You return the length of the clipped gradients. A log needs the length before clipping: afterwards it is never
    above the bound, and the log cannot show a wild batch."""
    clipped, length = reference.clip_gradients(gradients, longest)
    return clipped, min(length, longest)


@clip_gradients.mistake("divides by zero when nothing is left to learn")
def zero_over_zero(gradients, longest):
    """Where all gradients are zero, you divide zero by zero, and every parameter becomes NaN. Compare the length with
    the bound before you divide, or divide by the larger of the two."""
    length = np.linalg.norm(flatten(gradients))
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.minimum(1, longest / length) if length else np.nan
    return map_tree(lambda g: (factor * g).astype(g.dtype), gradients), float(length)


@clip_gradients.mistake("leaves the gradients as they are")
def unclipped(gradients, longest):
    """Your gradients come back unchanged, even where they are longer than the bound. Multiply each array by the bound
    over the length if the length is larger."""
    return gradients, float(np.linalg.norm(flatten(gradients)))


@clip_gradients.mistake("adds {number} to the length before it divides", number=(1e-6, 1e-5, 1e-4))
def a_little_longer(gradients, longest, *, number):
    """You add a small number such as {number} to the length, to avoid a division by zero, so long gradients come out a
    little shorter than `longest`. You need no such number: divide only if the length exceeds the bound, or by the
    larger of the two."""
    length = float(np.linalg.norm(flatten(gradients)))
    factor = longest / max(length + number, longest)
    return map_tree(lambda g: factor * g, gradients), length


@clip_gradients.mistake("returns a length that is {number} too large", number=(1e-6, 1e-8, 1e-5))
def length_enlarged(gradients, longest, *, number):
    """You add a small number such as {number}, to avoid a division by zero, and it is in the length that you return,
    too. You need no such number: divide only if the length exceeds the bound, or by the larger of the two."""
    return scaled(gradients, longest, lambda tree: float(np.linalg.norm(flatten(tree))) + number)


@clip_gradients.mistake("adds {number} under the root", number=(1e-6, 1e-8, 1e-12))
def enlarged_under_the_root(gradients, longest, *, number):
    """You add a small number such as {number} to the sum of the squares, under the root. Gradients of zero then have a
    length that is not zero. You need no such number: divide only if the length exceeds the bound."""
    return scaled(gradients, longest, lambda tree: float(np.sqrt(np.sum(np.square(flatten(tree))) + number)))


@clip_gradients.equivalent
def with_a_branch(gradients, longest):
    length = math.sqrt(sum(float(np.sum(np.square(g))) for g in leaves(gradients)))
    if length <= longest:
        return gradients, length
    return map_tree(lambda g: g * (longest / length), gradients), length


@clip_gradients.equivalent
def by_the_vector(gradients, longest):
    vector = flatten(gradients)
    length = np.sqrt(vector @ vector)
    if length > longest:
        vector = vector * vector.dtype.type(longest / length)
    return unflatten(vector, gradients), length


@clip_gradients.equivalent
def by_dividing(gradients, longest):
    length = np.hypot.reduce([np.linalg.norm(g) for g in leaves(gradients)])
    return map_tree(lambda g: g / np.maximum(1, length / longest).astype(g.dtype), gradients), float(length)
