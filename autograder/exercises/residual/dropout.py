"""dropout: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.residual.shared import generator
from solutions import residual as reference

dropout = Exercise(
    reference.dropout,
    outputs={"output": "...", "cache": UNJUDGED},
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
    yield "rate zero", {"x": draw.normal(*draw.sizes(2)), "rate": 0.0, "rng": generator(draw)}


def dropped(x, kept, factor):
    return x * (kept * factor).astype(x.dtype), None


@dropout.mistake("does not enlarge what it keeps")
def not_rescaled(x, rate, rng=None):
    """The kept entries stay as they are, so the average of the output shrinks by 1 - rate in training and jumps back
    afterwards. Divide what is kept by 1 - rate. Reread 'Dropout'."""
    return (x.copy(), None) if rng is None else dropped(x, rng.random(x.shape) >= rate, 1)


@dropout.mistake("shrinks when it does not train, instead of enlarging when it does")
def classical(x, rate, rng=None):
    """This is dropout as it was first published: nothing is enlarged in training, everything is shrunk afterwards.
    Here it is inverted: enlarge in training, so that the finished model has nothing to do. Reread 'Dropout'."""
    return (x * (1 - rate), None) if rng is None else dropped(x, rng.random(x.shape) >= rate, 1)


@dropout.mistake("divides by the rate")
def divided_by_rate(x, rate, rng=None):
    """You divide by `rate`, the share that is forgotten. What makes up for the loss is the share that is *kept*, 1 -
    rate. At rate 0.5 nobody sees the difference, at rate 0 it is a division by zero. Reread 'Dropout'."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.divide(1.0, rate)
        return (x.copy(), None) if rng is None else dropped(x, rng.random(x.shape) >= rate, factor)


@dropout.mistake("keeps with probability rate")
def keeps_the_rate(x, rate, rng=None):
    """`rng.random() < rate` is true with probability `rate`; you keep there, so that with rate 0.1 nine tenths are
    forgotten. Keep where the random number is at least the rate. Reread 'Dropout'."""
    return (x.copy(), None) if rng is None else dropped(x, rng.random(x.shape) < rate, 1 / (1 - rate))


@dropout.mistake("forgets whole features")
def whole_features(x, rate, rng=None):
    """One random number per feature, used for all positions: a feature is forgotten in the whole batch or nowhere.
    Each entry is decided by itself: `rng.random(x.shape)`. Reread 'Dropout'."""
    return (x.copy(), None) if rng is None else dropped(x, rng.random(x.shape[-1]) >= rate, 1 / (1 - rate))


@dropout.mistake("draws from a generator of its own")
def own_generator(x, rate, rng=None):
    """You draw from a generator of your own in place of the one you were given. A run could then not be repeated, and
    two layers seeded alike would forget alike. Draw from `rng`. Reread 'Dropout'."""
    own = np.random.default_rng(0)
    return (x.copy(), None) if rng is None else dropped(x, own.random(x.shape) >= rate, 1 / (1 - rate))


@dropout.mistake("forgets even when it does not train")
def always_training(x, rate, rng=None):
    """Without a generator nothing may be forgotten: the finished model should use all it has learnt. You drop all the
    same. Reread 'Dropout'."""
    rng = np.random.default_rng(0) if rng is None else rng
    return dropped(x, rng.random(x.shape) >= rate, 1 / (1 - rate))


@dropout.equivalent
def with_where(x, rate, rng=None):
    if rng is None:
        return x.copy(), None
    forgotten = rng.random(x.shape) < rate
    return np.where(forgotten, 0, x / (1 - rate)).astype(x.dtype), forgotten


@dropout.equivalent
def one_number_at_a_time(x, rate, rng=None):
    output = x.copy()
    if rng is not None:
        for index in np.ndindex(x.shape):
            output[index] = x[index] / (1 - rate) if rng.random() >= rate else 0
    return output, None


@dropout.equivalent
def rescaled_twice(x, rate, rng=None):
    uniform = 1.0 if rng is None else rng.uniform(size=x.size).reshape(x.shape)
    factor = 1 if rng is None else 1 / (1 - rate)
    return (x * (uniform >= rate) * factor).astype(x.dtype), None
