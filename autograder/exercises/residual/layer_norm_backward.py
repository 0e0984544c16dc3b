import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.residual.shared import to_normalise
from solutions import residual as reference

layer_norm_backward = Exercise(
    reference.layer_norm_backward,
    outputs={"grad_x": "... d_model", "grad_gain": "d_model", "grad_bias": "d_model"},
    order=("grad_bias", "grad_gain", "grad_x"),
    section="The norm, walked backwards",
)
wrong = short_mistakes(layer_norm_backward)


def normalised(draw, n_axes=1, dtype=np.float64, **options):
    """Return a random cotangent and the cache of layer_norm."""
    inputs = to_normalise(draw, n_axes, dtype)
    output, cache = reference.layer_norm(**inputs, **options)
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@layer_norm_backward.cases("the idea", points=3)
def _(draw):
    yield "one position", normalised(draw, 0)
    yield "one sentence", normalised(draw)


@layer_norm_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", normalised(draw, 2)
    yield "two batch axes", normalised(draw, 3)


@layer_norm_backward.cases("eps, float32 and edge cases", points=1)
def _(draw):
    yield "eps = 2", normalised(draw, eps=2.0)
    yield "float32", normalised(draw, 2, np.float32)
    inputs = to_normalise(draw)
    inputs["x"][0] = 1
    output, cache = reference.layer_norm(**inputs)
    yield "a position whose features are all equal", {"grad_output": draw.normal(*output.shape), "cache": cache}


def gradients(grad_output, cache, mean=1, variance=1, grad_normalised=None, means_of=None, **put):
    """Return the three gradients, with other factors of the two terms or inside the variance's term, or with single
    gradients replaced."""
    normalised_x, inverse_std, gain = cache
    right = reference.layer_norm_backward(grad_output, cache)
    g = grad_output * gain if grad_normalised is None else grad_normalised
    means_of = g if means_of is None else means_of
    term = put.get("outer", normalised_x) * (means_of * put.get("inner", normalised_x)).mean(axis=-1, keepdims=True)
    grad_x = inverse_std * (g - mean * means_of.mean(axis=-1, keepdims=True) - variance * term)
    return put.get("grad_x", grad_x), put.get("grad_gain", right[1]), put.get("grad_bias", right[2])


wrong("statistics_constant", gradients, mean=0, variance=0)("""
    treats mean and variance as constants
    You return the gradient times the gain, divided by the standard deviation. But mean and variance come from the same
    row, so every feature changes every output through both. The rows of grad_x should add up to zero. Do yours?""")
wrong("variance_constant", gradients, variance=0)("""
    treats the variance as a constant
    You have two of the three terms, but the path through the variance is missing. Test it: doubling x changes nothing,
    so with a tiny eps grad_x must be at right angles to the normalised row.""")
wrong("mean_constant", gradients, mean=0)("""
    treats the mean as a constant
    The path through the mean is missing. A shift of the whole row changes nothing, so each row of grad_x must add up to
    zero.""")
wrong("wrong_signs", gradients, mean=-1, variance=-1)("""
    adds the terms instead of subtracting them
    The two terms through mean and variance have the wrong sign: the mean is *subtracted* in the forward pass, and the
    root of the variance is in the denominator.""")


@layer_norm_backward.mistake("takes sums where means belong")
def sums_for_means(grad_output, cache):
    """You take sums. Mean and variance have a factor 1/d_model in the forward pass, and it stays in both terms of the
    backward pass."""
    d_model = cache[0].shape[-1]
    return gradients(grad_output, cache, mean=d_model, variance=d_model)


wrong("gain_forgotten", lambda grad_output, cache: gradients(grad_output, cache, grad_normalised=grad_output))("""
    forgets the gain on the way to x
    grad_x does not depend on the gain. The forward pass multiplied the normalised row by the gain, so the row's
    gradient is grad_output * gain, and the three terms start from there. On a fresh layer this does not show.""")


@layer_norm_backward.mistake("multiplies by the gain at the end")
def gain_last(grad_output, cache):
    """You multiply by the gain after you take the two means. The gain differs from feature to feature, so it must be in
    the row *before* you average the row. With equal gains the two agree."""
    plain, *rest = gradients(grad_output, cache, grad_normalised=grad_output)
    return plain * cache[2], *rest


@layer_norm_backward.mistake("forgets to divide by the standard deviation")
def not_divided(grad_output, cache):
    """The three terms are right, but the factor in front of them is missing. The forward pass divides by the standard
    deviation, so the backward pass divides by it, too."""
    return gradients(grad_output, cache, grad_x=reference.layer_norm_backward(grad_output, cache)[0] / cache[1])


@layer_norm_backward.mistake("averages over the whole array")
def one_mean_for_all(grad_output, cache):
    """Your means run over the whole array, but the forward pass normalised each position by itself. Each row has its
    own means: axis=-1 with keepdims=True. With one position the two agree."""
    normalised_x, inverse_std, gain = cache
    g = grad_output * gain
    grad_x = inverse_std * (g - g.mean() - normalised_x * (g * normalised_x).mean())
    return gradients(grad_output, cache, grad_x=grad_x)


@layer_norm_backward.mistake("does not add up the gradients of gain and bias")
def not_summed(grad_output, cache):
    """grad_gain and grad_bias have a row for every position. One gain serves all positions of all sentences, so its
    gradient is the sum over *all* leading axes."""
    return gradients(grad_output, cache, grad_gain=grad_output * cache[0], grad_bias=grad_output.copy())


@layer_norm_backward.mistake("adds the gradients of gain and bias up over one axis only")
def summed_over_one_axis(grad_output, cache):
    """`sum(axis=0)` is the whole sum only while there is one leading axis. With a batch, an axis is left, and with a
    single position it adds up the features. Sum over *all* leading axes."""
    return gradients(
        grad_output, cache, grad_gain=(grad_output * cache[0]).sum(axis=0), grad_bias=grad_output.sum(axis=0)
    )


@layer_norm_backward.mistake("adds the gradients of gain and bias up over the positions only")
def gain_over_positions(grad_output, cache):
    """`sum(axis=-2)` adds up the positions of each sentence, and leaves one gradient for each sentence. One gain and
    one bias serve all sentences: sum over *all* leading axes."""
    axis = max(-2, -grad_output.ndim)
    grad_gain = (grad_output * cache[0]).sum(axis=axis)
    return gradients(grad_output, cache, grad_gain=grad_gain, grad_bias=grad_output.sum(axis=axis))


@layer_norm_backward.mistake("exchanges the gradients of gain and bias")
def gain_and_bias_exchanged(grad_output, cache):
    """You swap the gradients of gain and bias. Both have the shape (d_model,), so there is no error. The forward pass
    multiplied the gain by the normalised row, so the gain's gradient contains the normalised row. Return the gradients
    of x, gain and bias in this order."""
    grad_x, grad_gain, grad_bias = reference.layer_norm_backward(grad_output, cache)
    return grad_x, grad_bias, grad_gain


@layer_norm_backward.mistake("averages the gradients of gain and bias")
def averaged(grad_output, cache):
    """You take the mean over the positions. Only the loss decides whether to average. A parameter that is used many
    times gets the *sum* of its gradients."""
    axes = tuple(range(grad_output.ndim - 1))
    return gradients(
        grad_output, cache, grad_gain=(grad_output * cache[0]).mean(axis=axes), grad_bias=grad_output.mean(axis=axes)
    )


@layer_norm_backward.mistake("forgets the normalised row in the gain's gradient")
def gain_like_bias(grad_output, cache):
    """grad_gain equals grad_bias. The gain was *multiplied* by the normalised row, so its gradient is grad_output times
    that row, added up. Only the bias's gradient is grad_output alone."""
    axes = tuple(range(grad_output.ndim - 1))
    return gradients(grad_output, cache, grad_gain=grad_output.sum(axis=axes))


@layer_norm_backward.mistake("adds the gradients of gain and bias up over everything")
def summed_over_everything(grad_output, cache):
    """grad_gain and grad_bias are one number each, because `np.sum` without an axis adds up the features as well. Every
    feature has its own gain and bias: sum over the *leading* axes only."""
    return gradients(grad_output, cache, grad_gain=np.sum(grad_output * cache[0]), grad_bias=np.sum(grad_output))


@layer_norm_backward.mistake("has one sum in every entry of the gradients of gain and bias")
def one_sum_in_every_entry(grad_output, cache):
    """All entries of grad_gain are the same number, and so are those of grad_bias, because you sum over the
    features as well. Every feature has its own gain and bias: sum over the *leading* axes only."""
    sums = np.sum(grad_output * cache[0]), np.sum(grad_output)
    grad_gain, grad_bias = (np.full_like(cache[2], total) for total in sums)
    return gradients(grad_output, cache, grad_gain=grad_gain, grad_bias=grad_bias)


@layer_norm_backward.mistake("divides the two means by d_model once more")
def means_divided_again(grad_output, cache):
    """You divide by d_model twice in the terms of mean and variance. The mean along the row already contains the factor
    1/d_model."""
    d_model = cache[0].shape[-1]
    return gradients(grad_output, cache, mean=1 / d_model, variance=1 / d_model)


@layer_norm_backward.mistake("multiplies by the gain twice")
def gain_twice(grad_output, cache):
    """Your grad_x contains the gain twice. The forward pass multiplied the normalised row by it once, so the
    gradient of that row is grad_output * gain."""
    return gradients(grad_output, cache, grad_normalised=grad_output * cache[2] ** 2)


@layer_norm_backward.mistake("puts the gain into its own gradient")
def gain_in_its_gradient(grad_output, cache):
    """You made grad_gain from grad_output * gain. That product is the gradient of the *normalised row*. The gain's
    gradient is grad_output times the normalised row, without the gain."""
    right = reference.layer_norm_backward(grad_output, cache)
    return gradients(grad_output, cache, grad_gain=right[1] * cache[2])


@layer_norm_backward.mistake("puts the gain into the gradients of gain and bias")
def gain_in_both(grad_output, cache):
    """You made grad_gain and grad_bias from grad_output * gain, as happens if `grad_output *= gain` comes first. That
    product is the gradient of the *normalised row*. For gain and bias, use grad_output as it arrives."""
    right = reference.layer_norm_backward(grad_output, cache)
    return gradients(grad_output, cache, grad_gain=right[1] * cache[2], grad_bias=right[2] * cache[2])


@layer_norm_backward.mistake("writes into grad_output")
def in_place(grad_output, cache):
    """The caller's grad_output has changed: `grad_output *= gain` writes into it. The residual connection passes the
    same array on along another path. Make a new array: `grad_output * gain`."""
    right = reference.layer_norm_backward(grad_output, cache)
    grad_output *= 1 + cache[2] ** 2
    return right


wrong("gain_in_one_term", lambda grad_output, cache: gradients(grad_output, cache, means_of=grad_output))("""
    has the gain in the first of three terms only
    The first term contains the gain, but you took the two means from grad_output without the gain. Make all three terms
    from grad_output * gain. With gains of one this does not show.""")
wrong("variance_added", gradients, variance=-1)("""
    adds the variance's term
    You subtract the mean's term, but add the variance's term. The root of the variance is in the *denominator*, so its
    slope has a minus sign.""")


@layer_norm_backward.mistake("divides by d_model - 1 in the variance's term")
def unbiased_slope(grad_output, cache):
    """This is the slope of the *unbiased* variance, which divides by d_model - 1. The forward pass took the mean of the
    squares, so divide by d_model here, too."""
    d_model = cache[0].shape[-1]
    return gradients(grad_output, cache, variance=d_model / (d_model - 1))


@layer_norm_backward.mistake("divides by the variance")
def divided_twice(grad_output, cache):
    """The factor in front of the three terms occurs twice. The forward pass divides by the standard deviation once, and
    so does the backward pass."""
    return gradients(grad_output, cache, grad_x=reference.layer_norm_backward(grad_output, cache)[0] * cache[1])


wrong("mean_without_the_row", gradients, inner=1)("""
    loses the normalised row inside the variance's mean
    In the variance's term you take the mean of grad_output * gain. Take the mean of that *times the normalised row*: it
    measures how much the gradient points along the row.""")
wrong("term_without_the_row", gradients, outer=1)("""
    loses the normalised row before the variance's mean
    Your variance's term is the same number for every feature. Multiply this number by the normalised row: features far
    from the mean change the variance most.""")


@layer_norm_backward.equivalent
def with_the_jacobian(grad_output, cache):
    normalised_x, inverse_std, gain = cache
    d_model = gain.size
    eye = np.eye(d_model, dtype=gain.dtype)
    jacobian = eye - 1 / d_model - normalised_x[..., :, None] * normalised_x[..., None, :] / d_model
    grad_x = np.einsum("...i,...ij->...j", grad_output * gain, jacobian) * inverse_std
    by_feature = grad_output.reshape(-1, d_model).T
    return grad_x, np.einsum("dn,nd->d", by_feature, normalised_x.reshape(-1, d_model)), by_feature.sum(axis=1)


@layer_norm_backward.equivalent
def row_after_row(grad_output, cache):
    normalised_x, inverse_std, gain = cache
    grad_x, grad_gain, grad_bias = np.zeros_like(grad_output), np.zeros_like(gain), np.zeros_like(gain)
    for index in np.ndindex(grad_output.shape[:-1]):
        g, n = grad_output[index] * gain, normalised_x[index]
        grad_x[index] = inverse_std[index] * (g - sum(g) / len(g) - n * (g @ n) / len(g))
        grad_gain += grad_output[index] * n
        grad_bias += grad_output[index]
    return grad_x, grad_gain, grad_bias


@layer_norm_backward.equivalent
def through_each_statistic(grad_output, cache):
    """Go back through the variance first, then through the mean."""
    normalised_x, inverse_std, gain = cache
    rows = (-1, gain.size)
    g = grad_output * gain
    centred = normalised_x / inverse_std
    grad_variance = -0.5 * inverse_std**3 * np.sum(g * centred, axis=-1, keepdims=True)
    grad_centred = g * inverse_std + 2 / gain.size * grad_variance * centred
    grad_x = grad_centred - grad_centred.mean(axis=-1, keepdims=True)
    flat = grad_output.reshape(rows)
    return [grad_x, (flat * normalised_x.reshape(rows)).sum(0), flat.sum(0)]
