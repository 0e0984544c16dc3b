import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.residual.shared import to_normalise
from solutions import residual as reference
from solutions.norms import rms_norm

rms_norm_backward = Exercise(
    reference.rms_norm_backward,
    outputs={"grad_x": "... d_model", "grad_gain": "d_model"},
    order=("grad_gain", "grad_x"),
    section="RMSNorm: yours to derive",
)
wrong = short_mistakes(rms_norm_backward)


def normalised(draw, n_axes=1, dtype=np.float64, **options):
    """Return a random cotangent and the cache of rms_norm."""
    inputs = to_normalise(draw, n_axes, dtype)
    output, cache = rms_norm(inputs["x"], inputs["gain"], **options)
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@rms_norm_backward.cases("the idea", points=4)
def _(draw):
    yield "one position", normalised(draw, 0)
    yield "one sentence", normalised(draw)


@rms_norm_backward.cases("batches", points=2)
def _(draw):
    yield "one batch axis", normalised(draw, 2)
    yield "two batch axes", normalised(draw, 3)


@rms_norm_backward.cases("eps, float32 and a row of zeros", points=2)
def _(draw):
    yield "eps = 2", normalised(draw, eps=2.0)
    yield "float32", normalised(draw, 2, np.float32)
    inputs = to_normalise(draw)
    inputs["x"][0] = 0
    output, cache = rms_norm(inputs["x"], inputs["gain"])
    yield "a position whose features are all zero", {"grad_output": draw.normal(*output.shape), "cache": cache}


def gradients(grad_output, cache, size=1, grad_normalised=None, **put):
    """Return both gradients, with another factor of the size's term or inside it, or with single gradients replaced."""
    normalised_x, inverse_rms, gain = cache
    g = grad_output * gain if grad_normalised is None else grad_normalised
    term = put.get("outer", normalised_x) * (g * put.get("inner", normalised_x)).mean(axis=-1, keepdims=True)
    right = reference.rms_norm_backward(grad_output, cache)
    return put.get("grad_x", inverse_rms * (g - size * term)), put.get("grad_gain", right[1])


wrong("size_constant", gradients, size=0)("""
    treats the size of the row as a constant
    You return the gradient times the gain, divided by the root of the mean square. But the mean square comes from the
    same row, so each feature changes every output through it. Doubling x changes nothing, so with a tiny eps the row of
    grad_x must be at right angles to the normalised row.""")
wrong("size_added", gradients, size=-1)("""
    adds the path through the size
    The second term has the wrong sign. A larger feature makes the mean square larger and therefore one over its root
    smaller, so this path has a minus sign.""")
wrong("sum_for_mean", lambda grad_output, cache: gradients(grad_output, cache, size=cache[0].shape[-1]))("""
    takes a sum where the mean belongs
    You take a sum along the row. The mean square has a factor 1/d_model, which stays in the backward pass.""")
wrong("half_of_the_size", gradients, size=0.5)("""
    has half of the path through the size
    The second term is half as large as it should be. The slope of the root has a factor 1/2, the slope of the square
    has a factor 2, and the two cancel.""")


@rms_norm_backward.mistake("subtracts the mean as well")
def mean_taken_off(grad_output, cache):
    """The rows of your grad_x add up to zero. That is true of LayerNorm, whose output does not change when its row is
    shifted. The output of RMSNorm does change: its forward pass subtracts no mean, so its backward pass subtracts none
    either."""
    normalised_x, inverse_rms, gain = cache
    g = grad_output * gain
    through_size = normalised_x * (g * normalised_x).mean(axis=-1, keepdims=True)
    grad_x = inverse_rms * (g - g.mean(axis=-1, keepdims=True) - through_size)
    return gradients(grad_output, cache, grad_x=grad_x)


wrong("gain_forgotten", lambda grad_output, cache: gradients(grad_output, cache, grad_normalised=grad_output))("""
    forgets the gain on the way to x
    grad_x does not depend on the gain. The forward pass multiplied the normalised row by the gain, so the row's
    gradient is grad_output * gain, and both paths begin there. With gains of one the two agree.""")


@rms_norm_backward.mistake("multiplies by the gain at the end")
def gain_last(grad_output, cache):
    """You multiply by the gain after you take the mean. The gain differs from feature to feature, so it must be in the
    row *before* you average the row. With equal gains the two agree."""
    plain, grad_gain = gradients(grad_output, cache, grad_normalised=grad_output)
    return plain * cache[2], grad_gain


@rms_norm_backward.mistake("forgets to divide by the root of the mean square")
def not_divided(grad_output, cache):
    """Both terms are right, but the factor in front of them is missing. The forward pass multiplied the row by
    inverse_rms, so multiply by it in the backward pass, too."""
    return gradients(grad_output, cache, grad_x=reference.rms_norm_backward(grad_output, cache)[0] / cache[1])


wrong("mean_without_the_row", gradients, inner=1)("""
    loses the normalised row inside the mean
    In the second term you take the mean of grad_output * gain. Take the mean of this product *times the normalised
    row*: every output n_i = r x_i changes with r in proportion to x_i.""")
wrong("gain_before_the_mean", lambda grad, cache: gradients(grad, cache, outer=cache[0] * cache[2]))("""
    multiplies the second term by the gain again
    Your second term contains the gain inside its mean and once more in front of it. The forward pass divides by the
    size before it multiplies by the gain, so the factor in front is the normalised row alone.""")
wrong("term_without_the_row", gradients, outer=1)("""
    loses the normalised row before the mean
    Your second term is the same number for every feature. The slope of the mean square is proportional to the feature,
    so multiply this number by the normalised row.""")


@rms_norm_backward.mistake("averages over the whole array")
def one_mean_for_all(grad_output, cache):
    """Your mean runs over the whole array and mixes positions. Each row has its own size: axis=-1 with keepdims=True.
    With one position the two agree."""
    normalised_x, inverse_rms, gain = cache
    g = grad_output * gain
    return gradients(grad_output, cache, grad_x=inverse_rms * (g - normalised_x * (g * normalised_x).mean()))


wrong("not_summed", lambda grad_output, cache: gradients(grad_output, cache, grad_gain=grad_output * cache[0]))("""
    does not add up the gradient of the gain
    grad_gain has a row for every position. One gain serves all positions of all sentences, so its gradient is the sum
    over *all* leading axes.""")


@rms_norm_backward.mistake("adds the gradient of the gain up over one axis only")
def summed_over_one_axis(grad_output, cache):
    """`sum(axis=0)` is the whole sum only while there is one leading axis. With a batch an axis is left, and with a
    single position it adds up the features. Sum over *all* leading axes."""
    return gradients(grad_output, cache, grad_gain=np.sum(grad_output * cache[0], axis=0))


@rms_norm_backward.mistake("puts the gain into its own gradient")
def gain_in_its_gradient(grad_output, cache):
    """You made grad_gain from grad_output * gain. That product is the gradient of the *normalised row*. The gain's
    gradient is grad_output times the normalised row, without the gain."""
    return gradients(grad_output, cache, grad_gain=reference.rms_norm_backward(grad_output, cache)[1] * cache[2])


@rms_norm_backward.mistake("multiplies by the gain twice")
def gain_twice(grad_output, cache):
    """Your grad_x contains the gain twice. The forward pass multiplied the normalised row by it once, so the
    gradient of that row is grad_output * gain."""
    return gradients(grad_output, cache, grad_normalised=grad_output * cache[2] ** 2)


wrong("mean_divided_again", lambda grad_output, cache: gradients(grad_output, cache, size=1 / cache[0].shape[-1]))("""
    divides the mean by d_model once more
    You divide by d_model twice in the second term. The mean along the row already contains the factor 1/d_model.""")


@rms_norm_backward.mistake("averages the gradient of the gain")
def averaged(grad_output, cache):
    """You take the mean over the positions. Only the loss decides whether to average. A parameter that is used many
    times gets the *sum* of its gradients."""
    axes = tuple(range(grad_output.ndim - 1))
    return gradients(grad_output, cache, grad_gain=np.mean(grad_output * cache[0], axis=axes))


@rms_norm_backward.mistake("adds the gradient of the gain up over everything")
def summed_over_everything(grad_output, cache):
    """grad_gain is one number, because `np.sum` without an axis adds up the features as well. Every feature has its own
    gain: sum over the *leading* axes only."""
    return gradients(grad_output, cache, grad_gain=np.sum(grad_output * cache[0]))


@rms_norm_backward.mistake("has one sum in every entry of the gain's gradient")
def one_sum_in_every_entry(grad_output, cache):
    """All entries of grad_gain are the same number, because you sum over the features as well. Every feature has its
    own gain: sum over the *leading* axes only."""
    return gradients(grad_output, cache, grad_gain=np.full_like(cache[2], np.sum(grad_output * cache[0])))


@rms_norm_backward.mistake("forgets the normalised row in the gradient of the gain")
def gain_like_bias(grad_output, cache):
    """grad_gain is the sum of grad_output. The gain was *multiplied* by the normalised row, so multiply grad_output by
    that row before you sum."""
    return gradients(grad_output, cache, grad_gain=grad_output.sum(axis=tuple(range(grad_output.ndim - 1))))


@rms_norm_backward.mistake("writes into grad_output")
def in_place(grad_output, cache):
    """The caller's grad_output has changed: `grad_output *= gain` writes into it, and the residual connection passes
    the same array on along another path. Make a new array: `grad_output * gain`."""
    right = reference.rms_norm_backward(grad_output, cache)
    grad_output *= 1 + cache[2] ** 2
    return right


@rms_norm_backward.equivalent
def with_the_jacobian(grad_output, cache):
    normalised_x, inverse_rms, gain = cache
    d_model = gain.size
    jacobian = np.eye(d_model, dtype=gain.dtype) - normalised_x[..., :, None] * normalised_x[..., None, :] / d_model
    grad_x = np.einsum("...i,...ij->...j", grad_output * gain, jacobian) * inverse_rms
    return grad_x, np.einsum("nd,nd->d", grad_output.reshape(-1, d_model), normalised_x.reshape(-1, d_model))


@rms_norm_backward.equivalent
def row_after_row(grad_output, cache):
    normalised_x, inverse_rms, gain = cache
    grad_x, grad_gain = np.zeros_like(grad_output), np.zeros_like(gain)
    for index in np.ndindex(grad_output.shape[:-1]):
        g, n = grad_output[index] * gain, normalised_x[index]
        grad_x[index] = inverse_rms[index] * (g - n * (g @ n) / len(g))
        grad_gain += grad_output[index] * n
    return grad_x, grad_gain


@rms_norm_backward.equivalent
def through_the_mean_square(grad_output, cache):
    """Compute the mean square's gradient first, then that of x, in the order of the backward pass."""
    normalised_x, inverse_rms, gain = cache
    g, x = grad_output * gain, normalised_x / inverse_rms
    grad_mean_square = -0.5 * inverse_rms**3 * np.sum(g * x, axis=-1, keepdims=True)
    grad_gain = (grad_output * normalised_x).reshape(-1, gain.size).sum(axis=0)
    return [g * inverse_rms + 2 / gain.size * grad_mean_square * x, grad_gain]
