import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.residual.shared import norm_params, to_normalise
from solutions import residual as reference

layer_norm = Exercise(
    reference.layer_norm,
    outputs={"output": "... d_model", "cache": UNJUDGED},
    section="Layer normalisation",
)
wrong = short_mistakes(layer_norm)


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
    yield "float32, far from zero", far_from_zero(draw)


def far_from_zero(draw):
    """Return integers with variance 4.5, whose mean is exact in any order of adding. In float32 their squares are all
    multiples of 8."""
    apart = draw.rng.permuted([[-3, -2, -2, -1, 1, 2, 2, 3]] * 3, axis=-1)
    x = draw.rng.integers(8200, 11500, (3, 1)) + apart
    return {"x": x.astype(np.float32)} | norm_params(draw, 8, np.float32)


def normed(x, gain, bias, eps=1e-5, *, axis=-1, mean=None, spread=lambda variance, eps: np.sqrt(variance + eps)):
    """Return the norm, with another mean, another spread or another axis."""
    centred = x - (x.mean(axis=axis, keepdims=True) if mean is None else mean)
    variance = (centred * centred).mean(axis=axis, keepdims=True)
    return centred / spread(variance, eps) * gain + bias, None


def unbiased_variance(x):
    """Divide by d_model - 1. np.var would warn about a single feature."""
    return np.divide(np.sum((x - x.mean(axis=-1, keepdims=True)) ** 2, axis=-1, keepdims=True), x.shape[-1] - 1)


@layer_norm.mistake("divides by the unbiased standard deviation")
def unbiased(x, gain, bias, eps=1e-5):
    """Your variance divides the squares by d_model - 1. Layer normalisation does not estimate from a sample: the
    features are all there is, so divide by d_model, as np.var does and torch.std does not. At d_model = 512 the outputs
    differ by one in a thousand, and no training run will show it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return normed(x, gain, bias, eps, spread=lambda _, eps: np.sqrt(unbiased_variance(x) + eps))


@layer_norm.mistake("subtracts the squared mean from the mean square")
def variance_by_difference(x, gain, bias, eps=1e-5):
    """Your variance is the mean square minus the square of the mean. Both are large if the mean is large, so in float32
    their difference is mostly rounding error, and may even be negative. Subtract the mean from the features first, then
    take the mean of the squares."""
    variance = np.mean(x * x, axis=-1, keepdims=True) - x.mean(axis=-1, keepdims=True) ** 2
    with np.errstate(invalid="ignore"):
        return normed(x, gain, bias, eps, spread=lambda _, eps: np.sqrt(variance + eps))


wrong("eps_outside", normed, spread=lambda variance, eps: np.sqrt(variance) + eps)("""
    adds eps outside the root
    You add eps to the standard deviation. Add it to the *variance*, under the root. With eps = 1e-5 the results are
    almost equal, unless a position has nearly equal features: then you divide by 0.00001 instead of 0.003.""")
wrong("without_eps", normed, eps=0)("""
    leaves eps out
    Without eps a position whose features are all equal becomes 0/0, which is NaN, and the next attention spreads this
    NaN to the whole sentence. Add eps to the variance, inside the root.""")


@layer_norm.mistake("always takes eps = {number}", number=(1e-5, 1e-3, 1e-4, 1e-6, 1e-7, 1e-8))
def fixed_eps(x, gain, bias, eps=1e-5, *, number):
    """Your output is right only if eps is {number}, because you do not use the argument. Add `eps` to the variance."""
    return normed(x, gain, bias, number)


wrong("eps_squared", lambda x, gain, bias, eps=1e-05: normed(x, gain, bias, eps**2))("""
    adds the square of eps
    You add the square of `eps` to the variance. Add `eps` as it is.""")
wrong("fixed_tiny_eps", normed, eps=1e-12)("""
    always takes an eps next to zero
    You add a tiny number, such as 1e-12, to the variance, and do not use the argument. Add `eps`.""")


@layer_norm.mistake("normalises over all axes but the first")
def all_but_the_first(x, gain, bias, eps=1e-5):
    """You treat everything after the first axis as the features of one row. That is right for a matrix, but with a
    batch in front, all positions of a sentence share one mean and one variance. Only the last axis holds features."""
    return normed(x, gain, bias, eps, axis=tuple(range(1, x.ndim)) or -1)


wrong("over_time", lambda x, gain, bias, eps=1e-05: normed(x, gain, bias, eps, axis=max(-2, -x.ndim)))("""
    normalises over time
    You take mean and variance over the positions of a sentence, feature by feature. A position then depends on what
    comes after it, and on the length of its sentence. Normalise each position by its own features, axis=-1.""")
wrong("over_the_batch", normed, axis=0)("""
    normalises over the batch
    You take mean and variance along the first axis. With a single position that is the right axis. With a batch, this
    is *batch* normalisation, and a sentence's output depends on its neighbours. Count from the end: axis=-1.""")
wrong("batch_norm", lambda x, gain, bias, eps=1e-05: normed(x, gain, bias, eps, axis=tuple(range(x.ndim - 1))))("""
    is a batch norm
    You take mean and variance over all leading axes, feature by feature. That is *batch* normalisation: the output of a
    position depends on all other positions and sentences. Normalise each position by its own features, axis=-1.""")
wrong("over_everything", lambda x, gain, bias, eps=1e-05: normed(x, gain, bias, eps, axis=tuple(range(x.ndim))))("""
    normalises the whole array at once
    You take one mean and one variance for the whole array. Each position has its own: axis=-1 with keepdims=True. With
    a single position the two agree.""")
wrong("by_variance", normed, spread=lambda variance, eps: variance + eps)("""
    divides by the variance, not by its root
    You divide by the variance, which is measured in squares. Only its root has the unit of the features, so that
    doubling x changes nothing.""")


@layer_norm.mistake("does not subtract the mean")
def not_centred(x, gain, bias, eps=1e-5):
    """You divide by the spread but do not subtract the mean. First centre the rows: subtract from each row its own
    mean."""
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * gain + bias, None


wrong("without_gain", lambda x, gain, bias, eps=1e-05: normed(x, np.ones_like(gain), np.zeros_like(bias), eps))("""
    leaves out gain and bias
    The normalised row is right, but you do not use gain and bias. A fresh layer has gains of one and biases of zero, so
    this shows only after training.""")
wrong("bias_first", lambda x, gain, bias, eps=1e-05: normed(x, gain, gain * bias, eps))("""
    adds the bias before it multiplies by the gain
    You compute gain * (normalised + bias). The formula is gain * normalised + bias: stretch first, then shift. On a
    fresh layer both are the same.""")
wrong("gain_for_bias", lambda x, gain, bias, eps=1e-05: normed(x, bias, gain, eps))("""
    exchanges gain and bias
    You multiply by the bias and add the gain. Multiply by the gain, then add the bias.""")


@layer_norm.mistake("writes into the caller's x")
def in_place(x, gain, bias, eps=1e-5):
    """The caller's array has changed: `x -= ...` writes into it. The residual connection still needs x as it was. Make
    a new array: `x - ...`."""
    output = reference.layer_norm(x, gain, bias, eps)
    x -= x.mean(axis=-1, keepdims=True) + 1
    return output


@layer_norm.mistake("divides by the unbiased deviation, and adds eps outside the root")
def unbiased_eps_outside(x, gain, bias, eps=1e-5):
    """You make two mistakes of a much-copied tutorial: you divide the squares by d_model - 1, as torch.std does by
    default, and you add eps outside the root. Divide by d_model, add eps, then take the root."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return normed(x, gain, bias, eps, spread=lambda _, eps: np.sqrt(unbiased_variance(x)) + eps)


@layer_norm.mistake("adds up the squares where their mean belongs")
def sum_of_squares(x, gain, bias, eps=1e-5):
    """Your variance is the *sum* of the squares, d_model times too large, so the rows come out too small by the root of
    d_model. The variance is their mean."""
    centred = x - x.mean(axis=-1, keepdims=True)
    squares = np.sum(centred * centred, axis=-1, keepdims=True)
    return normed(x, gain, bias, eps, spread=lambda _, eps: np.sqrt(squares + eps))


wrong("times_root", normed, spread=lambda variance, eps: 1 / np.sqrt(variance + eps))("""
    multiplies by the root
    You multiply by the root of the variance, which makes a wide row wider. Divide by it: every row should leave with
    variance one.""")
wrong("root_of_root", normed, spread=lambda variance, eps: np.sqrt(np.sqrt(variance) + eps))("""
    takes the root of the standard deviation
    x.std is already the root of the variance, and you take the root once more. Take the root only once, of the variance
    plus eps.""")
wrong("squared", normed, spread=lambda variance, eps: (variance + eps) ** 2)("""
    squares where the root belongs
    You square the variance: `** 2` instead of `** 0.5`. Only the root has the unit of the features.""")
wrong("only_centred", normed, spread=lambda variance, eps: 1)("""
    only subtracts the mean
    You centre each row, but do not divide it by its spread: large rows stay large.""")
wrong("root_mean_square", normed, mean=0)("""
    is RMSNorm
    You divide x by the root of its mean square and subtract no mean. That is RMSNorm, as in LLaMA. Layer normalisation
    subtracts the mean first, and divides by the spread *around* it.""")
wrong("without_the_gain", lambda x, gain, bias, eps=1e-05: normed(x, np.ones_like(gain), bias, eps))("""
    leaves out the gain
    You add the bias, but do not use the gain, so the layer cannot weight its features. A fresh layer has gains of one,
    so this shows only after training.""")
wrong("without_the_bias", lambda x, gain, bias, eps=1e-05: normed(x, gain, np.zeros_like(bias), eps))("""
    leaves out the bias
    You use the gain, but do not add the bias. A fresh layer has biases of zero, so this shows only after training.""")


@layer_norm.mistake("normalises each sentence at once")
def over_the_sentence(x, gain, bias, eps=1e-5):
    """You take one mean and one variance for all positions of a sentence, axis=(-2, -1). A position's output then
    depends on what comes after it. Each position has its own mean and variance: axis=-1."""
    return normed(x, gain, bias, eps, axis=tuple(range(-min(2, x.ndim), 0)))


wrong("one_plus_gain", lambda x, gain, bias, eps=1e-05: normed(x, 1 + gain, bias, eps))("""
    multiplies by one plus the gain
    You multiply the normalised row by 1 + gain. Some models do so because they store the gain minus one, but here the
    gain is the factor itself, which is 1 in a fresh layer. Multiply by `gain`.""")


@layer_norm.mistake("normalises twice")
def twice(x, gain, bias, eps=1e-5):
    """Your output goes through the whole norm twice, including gain and bias. With the gains and biases of a fresh
    layer this hardly shows. Normalise once."""
    return reference.layer_norm(reference.layer_norm(x, gain, bias, eps)[0], gain, bias, eps)


@layer_norm.equivalent
def position_by_position(x, gain, bias, eps=1e-5):
    output = np.zeros(x.shape, np.result_type(x, np.float16))  # also for integers
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
    centring = (np.eye(d_model) - 1 / d_model).astype(np.result_type(x, np.float16))  # also for integers
    centred = x @ centring
    variance = np.einsum("...d,...d->...", centred, centred) / d_model
    return np.einsum("...d,...,d->...d", centred, (variance + eps) ** -0.5, gain) + bias, None
