"""dropout: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.residual.shared import generator
from solutions import residual as reference

dropout = Exercise(
    reference.dropout,
    outputs={"output": "...", "cache": "..."},  # a cache that is one array, and that the docstring writes down
    section="Dropout",
)


@dropout.cases("training", points=1)
def _(draw):
    yield "one sentence", {"x": draw.normal(4, 7), "rate": 0.4, "rng": generator(draw)}
    yield "a tenth is forgotten", {"x": draw.normal(8, 9), "rate": 0.1, "rng": generator(draw)}


@dropout.cases("batches and float32", points=1)
def _(draw):
    shape = 3, 4, 6
    yield "a batch", {"x": draw.normal(*shape), "rate": 0.3, "rng": generator(draw)}
    yield "float32", {"x": draw.normal(*shape, dtype=np.float32), "rate": 0.6, "rng": generator(draw)}


@dropout.cases("not training", points=1)
def _(draw):
    yield "no generator", {"x": draw.normal(*draw.sizes(2)), "rate": 0.3}
    # Not zero: whoever gives x back at once, with the cache 1.0, is right too.
    yield "a rate of nearly zero", {"x": draw.normal(*draw.sizes(2)), "rate": 1e-6, "rng": generator(draw)}


def dropped(x, kept, factor):
    scale = (kept * factor).astype(x.dtype)
    return x * scale, scale


@dropout.mistake("does not enlarge what it keeps")
def not_rescaled(x, rate, rng=None):
    """The kept entries stay as they are, so the average of the output shrinks by 1 - rate in training and jumps back
    afterwards. Divide what is kept by 1 - rate."""
    return (x.copy(), 1.0) if rng is None else dropped(x, rng.random(x.shape) >= rate, 1)


@dropout.mistake("shrinks when it does not train, instead of enlarging when it does")
def classical(x, rate, rng=None):
    """This is dropout as it was first published: nothing is enlarged in training, everything is shrunk afterwards.
    Here it is inverted: enlarge in training, so that the finished model has nothing to do."""
    return (x * (1 - rate), 1 - rate) if rng is None else dropped(x, rng.random(x.shape) >= rate, 1)


@dropout.mistake("divides by the rate")
def divided_by_rate(x, rate, rng=None):
    """You divide by `rate`, the share that is forgotten. What makes up for the loss is the share that is *kept*, 1 -
    rate. At rate 0.5 nobody sees the difference, at rate 0 it is a division by zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.divide(1.0, rate)
        return (x.copy(), 1.0) if rng is None else dropped(x, rng.random(x.shape) >= rate, factor)


@dropout.mistake("keeps with probability rate")
def keeps_the_rate(x, rate, rng=None):
    """`rng.random() < rate` is true with probability `rate`; you keep there, so that with rate 0.1 nine tenths are
    forgotten. Keep where the random number is at least the rate."""
    return (x.copy(), 1.0) if rng is None else dropped(x, rng.random(x.shape) < rate, 1 / (1 - rate))


@dropout.mistake("forgets whole features")
def whole_features(x, rate, rng=None):
    """One random number per feature, used for all positions: a feature is forgotten in the whole batch or nowhere.
    Each entry is decided by itself: `rng.random(x.shape)`."""
    return (x.copy(), 1.0) if rng is None else dropped(x, rng.random(x.shape[-1]) >= rate, 1 / (1 - rate))


@dropout.mistake("draws from a generator of its own")
def own_generator(x, rate, rng=None):
    """You draw from a generator of your own in place of the one you were given. A run could then not be repeated, and
    two layers seeded alike would forget alike. Draw from `rng`."""
    own = np.random.default_rng(0)
    return (x.copy(), 1.0) if rng is None else dropped(x, own.random(x.shape) >= rate, 1 / (1 - rate))


@dropout.mistake("forgets even when it does not train")
def always_training(x, rate, rng=None):
    """Without a generator nothing may be forgotten: the finished model should use all it has learnt. You drop all the
    same."""
    rng = np.random.default_rng(0) if rng is None else rng
    return dropped(x, rng.random(x.shape) >= rate, 1 / (1 - rate))


@dropout.mistake("shrinks what it keeps")
def shrunk(x, rate, rng=None):
    """What is kept is multiplied by 1 - rate, so the average of the output falls twice: entries are missing, and the
    others are smaller. *Divide* by 1 - rate, to make up for what is missing."""
    return (x.copy(), 1.0) if rng is None else dropped(x, rng.random(x.shape) >= rate, 1 - rate)


@dropout.mistake("enlarges twice")
def enlarged_twice(x, rate, rng=None):
    """What is kept is divided by 1 - rate twice: once in the scale, and once more in the product. The average of the
    output then grows in training. Divide once."""
    return (x.copy(), 1.0) if rng is None else dropped(x, rng.random(x.shape) >= rate, 1 / (1 - rate) ** 2)


@dropout.mistake("enlarges the output once more than the cache says")
def output_enlarged_twice(x, rate, rng=None):
    """The scale in the cache is right, and the output is divided by 1 - rate once more, so its average grows in
    training. The output is x times the scale, and nothing else."""
    output, scale = reference.dropout(x, rate, rng)
    return (output, scale) if rng is None else (output / (1 - rate), scale)


@dropout.mistake("forgets half, whatever the rate")
def always_half(x, rate, rng=None):
    """An entry is kept where its random number is at least 0.5, whatever `rate` is; only the factor knows the rate."""
    return (x.copy(), 1.0) if rng is None else dropped(x, rng.random(x.shape) >= 0.5, 1 / (1 - rate))


@dropout.mistake("draws normal numbers")
def normal_numbers(x, rate, rng=None):
    """The numbers that decide are normal ones, of which half are negative and few lie between 0 and 1. A number that
    is below `rate` with probability `rate` is uniform from 0 to 1: rng.random."""
    return (x.copy(), 1.0) if rng is None else dropped(x, rng.normal(size=x.shape) >= rate, 1 / (1 - rate))


@dropout.mistake("forgets whole positions")
def whole_positions(x, rate, rng=None):
    """One random number per position, used for all its features: a position is forgotten whole, or not at all. Each
    entry is decided by itself: `rng.random(x.shape)`."""
    if rng is None:
        return x.copy(), 1.0
    return dropped(x, np.broadcast_to(rng.random((*x.shape[:-1], 1)), x.shape) >= rate, 1 / (1 - rate))


@dropout.mistake("enlarges even when it does not train")
def always_enlarged(x, rate, rng=None):
    """Without a generator nothing is forgotten, so there is nothing to make up for: give x back as it is. You divide by
    1 - rate all the same."""
    return (x / (1 - rate), 1 / (1 - rate)) if rng is None else reference.dropout(x, rate, rng)


@dropout.mistake("writes into the caller's x")
def in_place(x, rate, rng=None):
    """The caller's array has changed: `x *= ...` writes into it. Make a new array: `x * scale`."""
    output, scale = reference.dropout(x, rate, rng)
    x *= scale
    return output.copy(), scale


@dropout.mistake("leaves out the cache when it does not train")
def no_cache(x, rate, rng=None):
    """The output is right, and without a generator there is no cache: dropout_backward would multiply by None. What x
    was multiplied by is 1.0 there."""
    return (x, None) if rng is None else reference.dropout(x, rate, rng)


@dropout.mistake("keeps in the cache what was kept, and not its factor")
def mask_for_cache(x, rate, rng=None):
    """The output is right; the cache says *where* entries were kept, as True and False, and not what they were
    multiplied by. dropout_backward has the cache alone, and needs the factor: 0 or 1 / (1 - rate)."""
    output, scale = reference.dropout(x, rate, rng)
    return output, scale if rng is None else scale > 0


@dropout.equivalent
def with_where(x, rate, rng=None):
    if rng is None:
        return x.copy(), 1
    scale = np.where(rng.random(x.shape) < rate, 0, 1 / (1 - rate)).astype(x.dtype)
    return np.where(scale == 0, 0, x / (1 - rate)).astype(x.dtype), scale


@dropout.equivalent
def one_number_at_a_time(x, rate, rng=None):
    if rng is None:
        return x.copy(), np.float64(1)
    output, scale = np.zeros_like(x), np.zeros_like(x)
    for index in np.ndindex(x.shape):
        if rng.random() >= rate:
            output[index], scale[index] = x[index] / (1 - rate), 1 / (1 - rate)
    return output, scale


@dropout.equivalent
def rescaled_twice(x, rate, rng=None):
    kept = True if rng is None else rng.uniform(size=x.size).reshape(x.shape) >= rate
    factor = 1 if rng is None else 1 / (1 - rate)
    scale = 1.0 if rng is None else (kept * factor).astype(x.dtype)
    return (x * kept * factor).astype(x.dtype), scale
