"""layer_norm: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.residual.shared import norm_params, to_normalise
from solutions import residual as reference

layer_norm = Exercise(
    reference.layer_norm,
    outputs={"output": "... d_model", "cache": UNJUDGED},
    section="Layer normalisation",
)


@layer_norm.cases("the idea", points=1)
def _(draw):
    yield "one position", to_normalise(draw, 0)
    yield "one sentence", to_normalise(draw)


@layer_norm.cases("batches", points=1)
def _(draw):
    yield "one batch axis", to_normalise(draw, 2)
    yield "two batch axes", to_normalise(draw, 3)


@layer_norm.cases("eps", points=1)
def _(draw):
    yield "eps = 0.1", to_normalise(draw) | {"eps": 0.1}
    yield "eps = 2", to_normalise(draw, 2) | {"eps": 2.0}
    inputs = to_normalise(draw)
    yield "a position whose features are all equal", inputs | {"x": np.ones_like(inputs["x"])}


@layer_norm.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", to_normalise(draw, 2, np.float32)
    inputs = to_normalise(draw)
    yield "very small features", inputs | {"x": 0.01 * inputs["x"]}
    yield "a single feature", {"x": draw.normal(3, 1)} | norm_params(draw, 1)


def normed(x, gain, bias, eps, axis=-1, mean=None, spread=None):
    """The norm, with another mean, another spread or another axis."""
    centred = x - (x.mean(axis=axis, keepdims=True) if mean is None else mean)
    spread = np.sqrt((centred * centred).mean(axis=axis, keepdims=True) + eps) if spread is None else spread
    return centred / spread * gain + bias, None


def unbiased_variance(x):
    """Divide by d_model - 1. np.var would warn about a single feature."""
    return np.divide(np.sum((x - x.mean(axis=-1, keepdims=True)) ** 2, axis=-1, keepdims=True), x.shape[-1] - 1)


@layer_norm.mistake("divides by the unbiased standard deviation")
def unbiased(x, gain, bias, eps=1e-5):
    """Your variance divides the squares by d_model - 1. Layer normalisation estimates nothing: the features are all
    there is, so the mean of their squares divides by d_model (as np.var does; torch.std does not). At d_model = 512 the
    difference is one in a thousand, and no training run will show it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return normed(x, gain, bias, eps, spread=np.sqrt(unbiased_variance(x) + eps))


@layer_norm.mistake("adds eps outside the root")
def eps_outside(x, gain, bias, eps=1e-5):
    """eps is added to the standard deviation. It belongs to the *variance*, under the root. With eps = 1e-5 the two are
    almost equal, until a position has nearly equal features: then you divide by 0.00001, where you should divide by
    0.003."""
    return normed(x, gain, bias, eps, spread=x.std(axis=-1, keepdims=True) + eps)


@layer_norm.mistake("leaves eps out")
def without_eps(x, gain, bias, eps=1e-5):
    """Without eps a position whose features are all equal becomes 0/0, which is NaN, and the next attention spreads
    this NaN to the whole sentence. Add eps to the variance, inside the root."""
    return normed(x, gain, bias, 0)


@layer_norm.mistake("always takes eps = {number}", number=(1e-5, 1e-3, 1e-4, 1e-6, 1e-7, 1e-8))
def fixed_eps(x, gain, bias, eps=1e-5, *, number):
    """Right only if eps is {number}, because the argument is not used. Add `eps` to the variance."""
    return normed(x, gain, bias, number)


@layer_norm.mistake("adds the square of eps")
def eps_squared(x, gain, bias, eps=1e-5):
    """The number that you add to the variance is the square of `eps`. Add `eps` as it is."""
    return normed(x, gain, bias, eps**2)


@layer_norm.mistake("always takes an eps next to zero")
def fixed_tiny_eps(x, gain, bias, eps=1e-5):
    """A number next to zero, such as 1e-12, is added to the variance, and the argument is not used. Add `eps`."""
    return normed(x, gain, bias, 1e-12)


@layer_norm.mistake("normalises over all axes but the first")
def all_but_the_first(x, gain, bias, eps=1e-5):
    """You treat everything after the first axis as the features of one row. That is right for a matrix, but with a
    batch in front, all positions of a sentence share one mean and one variance. Only the last axis holds features."""
    return normed(x, gain, bias, eps, axis=tuple(range(1, x.ndim)) or -1)


@layer_norm.mistake("normalises over time")
def over_time(x, gain, bias, eps=1e-5):
    """Mean and variance are taken over the positions of a sentence, feature by feature. A position would then depend on
    what comes after it, and on the length of its sentence. Each position is normalised by its own features, axis=-1."""
    return normed(x, gain, bias, eps, axis=max(-2, -x.ndim))


@layer_norm.mistake("normalises over the batch")
def over_the_batch(x, gain, bias, eps=1e-5):
    """Mean and variance are taken along the first axis. With a single position that is the right axis; with a batch, it
    is *batch* normalisation, and a sentence's output depends on its neighbours. Count from the end: axis=-1."""
    return normed(x, gain, bias, eps, axis=0)


@layer_norm.mistake("is a batch norm")
def batch_norm(x, gain, bias, eps=1e-5):
    """Mean and variance are taken over all leading axes, feature by feature. That is *batch* normalisation: what a
    position gets depends on all other positions and sentences. Each position is normalised by its own features,
    axis=-1."""
    return normed(x, gain, bias, eps, axis=tuple(range(x.ndim - 1)))


@layer_norm.mistake("normalises the whole array at once")
def over_everything(x, gain, bias, eps=1e-5):
    """One mean and one variance for the whole array. Each position has its own: axis=-1 with keepdims=True. With a
    single position the two agree."""
    return normed(x, gain, bias, eps, axis=tuple(range(x.ndim)))


@layer_norm.mistake("divides by the variance, not by its root")
def by_variance(x, gain, bias, eps=1e-5):
    """You divide by the variance, which is measured in squares. Only its root has the unit of the features, so that
    doubling x changes nothing."""
    return normed(x, gain, bias, eps, spread=x.var(axis=-1, keepdims=True) + eps)


@layer_norm.mistake("does not subtract the mean")
def not_centred(x, gain, bias, eps=1e-5):
    """You divide by the spread and leave the mean in. First centre the rows: subtract from each row its own mean."""
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * gain + bias, None


@layer_norm.mistake("leaves out gain and bias")
def without_gain(x, gain, bias, eps=1e-5):
    """The normalised row is right, but gain and bias are not used. A fresh layer has gains of one and biases of zero,
    so this goes unnoticed until it is trained."""
    return normed(x, np.ones_like(gain), np.zeros_like(bias), eps)


@layer_norm.mistake("adds the bias before it multiplies by the gain")
def bias_first(x, gain, bias, eps=1e-5):
    """You compute gain * (normalised + bias). It is gain * normalised + bias: stretch first, then shift. On a fresh
    layer both are the same."""
    return normed(x, gain, gain * bias, eps)


@layer_norm.mistake("exchanges gain and bias")
def gain_for_bias(x, gain, bias, eps=1e-5):
    """You multiply by the bias and add the gain. Multiply by the gain, then add the bias."""
    return normed(x, bias, gain, eps)


@layer_norm.mistake("writes into the caller's x")
def in_place(x, gain, bias, eps=1e-5):
    """The caller's array has changed: `x -= ...` writes into it. The residual connection still needs x as it was. Make
    a new array: `x - ...`."""
    output = reference.layer_norm(x, gain, bias, eps)
    x -= x.mean(axis=-1, keepdims=True) + 1
    return output


@layer_norm.mistake("divides by the unbiased deviation, and adds eps outside the root")
def unbiased_eps_outside(x, gain, bias, eps=1e-5):
    """Two things at once, as in a much-copied tutorial: the squares are divided by d_model - 1, which torch.std does by
    default, and eps is added outside the root. Divide by d_model, add eps, then take the root."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return normed(x, gain, bias, eps, spread=np.sqrt(unbiased_variance(x)) + eps)


@layer_norm.mistake("adds up the squares where their mean belongs")
def sum_of_squares(x, gain, bias, eps=1e-5):
    """Your variance is the *sum* of the squares, d_model times too large, so the rows come out too small by its root.
    The variance is their mean."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return normed(x, gain, bias, eps, spread=np.sqrt(np.sum(centred * centred, axis=-1, keepdims=True) + eps))


@layer_norm.mistake("multiplies by the root")
def times_root(x, gain, bias, eps=1e-5):
    """You multiply by the root of the variance, which makes a wide row wider. Divide by it: every row should leave with
    variance one."""
    return normed(x, gain, bias, eps, spread=1 / np.sqrt(x.var(axis=-1, keepdims=True) + eps))


@layer_norm.mistake("takes the root of the standard deviation")
def root_of_root(x, gain, bias, eps=1e-5):
    """x.std is already the root of the variance, and you take the root once more. The variance plus eps is under the
    root."""
    return normed(x, gain, bias, eps, spread=np.sqrt(x.std(axis=-1, keepdims=True) + eps))


@layer_norm.mistake("squares where the root belongs")
def squared(x, gain, bias, eps=1e-5):
    """You square the variance: `** 2` for `** 0.5`. Only the root has the unit of the features."""
    return normed(x, gain, bias, eps, spread=(x.var(axis=-1, keepdims=True) + eps) ** 2)


@layer_norm.mistake("only subtracts the mean")
def only_centred(x, gain, bias, eps=1e-5):
    """You centre each row, but do not divide it by its spread: large rows stay large."""
    return normed(x, gain, bias, eps, spread=1)


@layer_norm.mistake("is RMSNorm")
def root_mean_square(x, gain, bias, eps=1e-5):
    """You divide x by the root of its mean square and subtract no mean. That is RMSNorm, as in LLaMA; layer
    normalisation subtracts the mean first, and divides by the spread *around* it."""
    return normed(x, gain, bias, eps, mean=0)


@layer_norm.mistake("leaves out the gain")
def without_the_gain(x, gain, bias, eps=1e-5):
    """You add the bias, but do not use the gain: the layer cannot say which features matter. A fresh layer has gains of
    one, so this goes unnoticed until it is trained."""
    return normed(x, np.ones_like(gain), bias, eps)


@layer_norm.mistake("leaves out the bias")
def without_the_bias(x, gain, bias, eps=1e-5):
    """You use the gain, but do not add the bias. A fresh layer has biases of zero, so this goes unnoticed until it is
    trained."""
    return normed(x, gain, np.zeros_like(bias), eps)


@layer_norm.mistake("normalises each sentence at once")
def over_the_sentence(x, gain, bias, eps=1e-5):
    """One mean and one variance for all positions of a sentence, axis=(-2, -1): a position's output then depends on
    what comes after it. Each position has its own: axis=-1."""
    return normed(x, gain, bias, eps, axis=tuple(range(-min(2, x.ndim), 0)))


@layer_norm.mistake("multiplies by one plus the gain")
def one_plus_gain(x, gain, bias, eps=1e-5):
    """The normalised row is multiplied by 1 + gain. Some models store the gain minus one and do so, but here the gain
    is the factor itself, which is 1 in a fresh layer. Multiply by `gain`."""
    return normed(x, 1 + gain, bias, eps)


@layer_norm.equivalent
def position_by_position(x, gain, bias, eps=1e-5):
    output = np.zeros(x.shape, np.result_type(x, np.float16))  # also of integers
    for index in np.ndindex(x.shape[:-1]):
        row = x[index]
        mean = sum(row) / len(row)
        root = math.sqrt(sum((entry - mean) ** 2 for entry in row) / len(row) + eps)
        output[index] = [g * (entry - mean) / root + b for entry, g, b in zip(row, gain, bias, strict=True)]
    return output, "my own cache"


@layer_norm.equivalent
def with_var(x, gain, bias, eps=1e-5):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return gain * ((x - mean) / (variance + eps) ** 0.5) + bias, (x, mean, variance, gain)


@layer_norm.equivalent
def by_einsum(x, gain, bias, eps=1e-5):
    d_model = x.shape[-1]
    centring = (np.eye(d_model) - 1 / d_model).astype(np.result_type(x, np.float16))  # also of integers
    centred = x @ centring
    variance = np.einsum("...d,...d->...", centred, centred) / d_model
    return np.einsum("...d,...,d->...d", centred, (variance + eps) ** -0.5, gain) + bias, None
