"""Chapter 5, residual connections and layer normalisation: cases, known mistakes and right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from solutions import residual as reference
from solutions.backward import linear, linear_backward
from solutions.multihead import multi_head_attention, multi_head_attention_backward


def features(draw):
    """d_model: at least 4, as two numbers normalise to plus and minus one and their gradient to rounding."""
    return draw.size(5, 9)


def leading(draw, n_axes):
    """Leading axes, no two alike and none as long as d_model."""
    return draw.sizes(n_axes, low=2, high=5)


def norm_params(draw, d_model, dtype=np.float64):
    """A gain and a bias that have left their fresh ones and zeros."""
    gain = draw.rng.uniform(0.5, 2, d_model) * draw.rng.choice([-1, 1], d_model)
    return {"gain": gain.astype(dtype), "bias": draw.normal(d_model, dtype=dtype)}


def feed_forward_params(draw, d_model, dtype=np.float64):
    """d_ff is larger than d_model, as in the paper."""
    d_ff = d_model + draw.size(1, 5)
    return {
        "w_in": draw.normal(d_model, d_ff, dtype=dtype),
        "b_in": draw.normal(d_ff, dtype=dtype),
        "w_out": draw.normal(d_ff, d_model, dtype=dtype),
        "b_out": draw.normal(d_model, dtype=dtype),
    }


# --------------------------------------------------------------------------------------------- layer_norm

layer_norm = Exercise(
    reference.layer_norm,
    outputs={"output": "... d_model", "cache": UNJUDGED},
    section="Layer normalisation",
)


def to_normalise(draw, n_axes=1, dtype=np.float64):
    d_model = features(draw)
    x = 3 + 2 * draw.normal(*leading(draw, n_axes), d_model)
    return {"x": x.astype(dtype)} | norm_params(draw, d_model, dtype)


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


@layer_norm.mistake("divides by the unbiased standard deviation")
def unbiased(x, gain, bias, eps=1e-5):
    """Your variance divides the squares by d_model - 1. Layer normalisation estimates nothing: the features are all
    there is, so the mean of their squares has d_model below (np.var does so; torch.std does not). At d_model = 512 the
    difference is one in a thousand, and no run will tell you. Reread 'Layer normalisation'."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.divide(np.sum((x - x.mean(axis=-1, keepdims=True)) ** 2, axis=-1, keepdims=True), x.shape[-1] - 1)
        return normed(x, gain, bias, eps, spread=np.sqrt(variance + eps))


@layer_norm.mistake("adds eps outside the root")
def eps_outside(x, gain, bias, eps=1e-5):
    """eps is added to the standard deviation. It belongs to the *variance*, under the root. With eps = 1e-5 the two
    are all but equal, until a position has nearly equal features: then yours is divided by 0.00001, and it should be
    by 0.003. Reread 'Layer normalisation'."""
    return normed(x, gain, bias, eps, spread=x.std(axis=-1, keepdims=True) + eps)


@layer_norm.mistake("leaves eps out")
def without_eps(x, gain, bias, eps=1e-5):
    """Without eps a position whose features are all equal is 0/0, which is NaN, and one NaN spreads to the whole
    sentence in the next attention. Add eps to the variance, inside the root. Reread 'Layer normalisation'."""
    return normed(x, gain, bias, 0)


@layer_norm.mistake("always takes eps = 1e-5")
def fixed_eps(x, gain, bias, eps=1e-5):
    """Right as long as nobody asks for another eps: the argument is not used. Reread 'Layer normalisation'."""
    return normed(x, gain, bias, 1e-5)


@layer_norm.mistake("normalises over time")
def over_time(x, gain, bias, eps=1e-5):
    """Mean and variance are taken over the positions of a sentence, feature by feature. A position would then know
    what comes after it, and what one sentence gets would depend on how long it is. Each position is normalised by its
    own features, axis=-1. Reread 'Layer normalisation'."""
    return normed(x, gain, bias, eps, axis=max(-2, -x.ndim))


@layer_norm.mistake("normalises over the batch")
def over_the_batch(x, gain, bias, eps=1e-5):
    """Mean and variance are taken along the first axis. With a single position that is the right one; with a batch, it
    is *batch* normalisation, and a sentence's output depends on its neighbours. Count from the end: axis=-1. Reread
    'Layer normalisation'."""
    return normed(x, gain, bias, eps, axis=0)


@layer_norm.mistake("normalises the whole array at once")
def over_everything(x, gain, bias, eps=1e-5):
    """One mean and one variance for the whole array. Each position has its own: axis=-1 with keepdims=True. With a
    single position the two agree. Reread 'Layer normalisation'."""
    return normed(x, gain, bias, eps, axis=tuple(range(x.ndim)))


@layer_norm.mistake("divides by the variance, not by its root")
def by_variance(x, gain, bias, eps=1e-5):
    """You divide by the variance, which is measured in squares. Only its root has the unit of the features, so that
    doubling x changes nothing. Reread 'Layer normalisation'."""
    return normed(x, gain, bias, eps, spread=x.var(axis=-1, keepdims=True) + eps)


@layer_norm.mistake("does not subtract the mean")
def not_centred(x, gain, bias, eps=1e-5):
    """You divide by the spread and leave the mean in. First comes the centring: each row minus its own mean. Reread
    'Layer normalisation'."""
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * gain + bias, None


@layer_norm.mistake("leaves out gain and bias")
def without_gain(x, gain, bias, eps=1e-5):
    """The normalised row is right, but gain and bias are not used. A fresh layer has gains of one and biases of zero,
    so this goes unnoticed until it is trained. Reread 'Layer normalisation'."""
    return normed(x, np.ones_like(gain), np.zeros_like(bias), eps)


@layer_norm.mistake("adds the bias before it multiplies by the gain")
def bias_first(x, gain, bias, eps=1e-5):
    """You compute gain * (normalised + bias). It is gain * normalised + bias: stretched first, then shifted. On a
    fresh layer both are the same. Reread 'Layer normalisation'."""
    return normed(x, gain, gain * bias, eps)


@layer_norm.mistake("writes into the caller's x")
def in_place(x, gain, bias, eps=1e-5):
    """The numbers are right, and the caller's array has changed: `x -= ...` writes into it. The residual connection
    still needs x as it was. Make a new array: `x - ...`."""
    output = reference.layer_norm(x, gain, bias, eps)
    x -= x.mean(axis=-1, keepdims=True) + 1
    return output


@layer_norm.equivalent
def position_by_position(x, gain, bias, eps=1e-5):
    output = np.empty_like(x)
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
    centring = (np.eye(d_model) - 1 / d_model).astype(x.dtype)
    centred = x @ centring
    variance = np.einsum("...d,...d->...", centred, centred) / d_model
    return np.einsum("...d,...,d->...d", centred, (variance + eps) ** -0.5, gain) + bias, None


# ------------------------------------------------------------------------------------ layer_norm_backward

layer_norm_backward = Exercise(
    reference.layer_norm_backward,
    outputs={"grad_x": "... d_model", "grad_gain": "d_model", "grad_bias": "d_model"},
    order=("grad_bias", "grad_gain", "grad_x"),
    section="The norm, walked backwards",
)


def normalised(draw, n_axes=1, dtype=np.float64, **options):
    """A random cotangent and the cache that layer_norm left."""
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


def norm_gradients(grad_output, cache, mean=1, variance=1, grad_normalised=None, **other):
    """The three gradients, with other factors before the two terms or single gradients put in place."""
    normalised_x, inverse_std, gain = cache
    right = reference.layer_norm_backward(grad_output, cache)
    g = grad_output * gain if grad_normalised is None else grad_normalised
    term = normalised_x * (g * normalised_x).mean(axis=-1, keepdims=True)
    grad_x = inverse_std * (g - mean * g.mean(axis=-1, keepdims=True) - variance * term)
    return other.get("grad_x", grad_x), other.get("grad_gain", right[1]), other.get("grad_bias", right[2])


@layer_norm_backward.mistake("treats mean and variance as constants")
def statistics_constant(grad_output, cache):
    """You go straight through: gradient times gain, divided by the standard deviation. But mean and variance are made
    from the same row, so every feature moves every output, through both. The rows of grad_x should add up to zero; do
    yours? Reread 'The norm, walked backwards'."""
    return norm_gradients(grad_output, cache, mean=0, variance=0)


@layer_norm_backward.mistake("treats the variance as a constant")
def variance_constant(grad_output, cache):
    """Two of the three terms are there; the path through the variance is missing. Test it: doubling x changes nothing,
    so with a tiny eps grad_x must be at right angles to the normalised row. Reread 'The norm, walked backwards'."""
    return norm_gradients(grad_output, cache, variance=0)


@layer_norm_backward.mistake("treats the mean as a constant")
def mean_constant(grad_output, cache):
    """The path through the mean is missing. A shift of the whole row changes nothing, so each row of grad_x must add
    up to zero. Reread 'The norm, walked backwards'."""
    return norm_gradients(grad_output, cache, mean=0)


@layer_norm_backward.mistake("adds the terms instead of taking them away")
def wrong_signs(grad_output, cache):
    """The two terms through mean and variance have the wrong sign: the mean is *subtracted* in the forward pass, and
    the root of the variance stands below the line. Reread 'The norm, walked backwards'."""
    return norm_gradients(grad_output, cache, mean=-1, variance=-1)


@layer_norm_backward.mistake("takes sums where means belong")
def sums_for_means(grad_output, cache):
    """Mean and variance have a factor 1/d_model in the forward pass, and it stays in both terms on the way back; you
    take sums. Reread 'The norm, walked backwards'."""
    d_model = cache[0].shape[-1]
    return norm_gradients(grad_output, cache, mean=d_model, variance=d_model)


@layer_norm_backward.mistake("forgets the gain on the way to x")
def gain_forgotten(grad_output, cache):
    """grad_x does not depend on the gain. The normalised row was multiplied by it, so its gradient is grad_output *
    gain, and the three terms start from there. On a fresh layer nobody notices. Reread 'The norm, walked
    backwards'."""
    return norm_gradients(grad_output, cache, grad_normalised=grad_output)


@layer_norm_backward.mistake("multiplies by the gain at the end")
def gain_last(grad_output, cache):
    """The gain is multiplied in after the two means were taken. It differs from feature to feature, so it must be in
    the row *before* the row is averaged. With equal gains the two agree. Reread 'The norm, walked backwards'."""
    plain, *rest = norm_gradients(grad_output, cache, grad_normalised=grad_output)
    return plain * cache[2], *rest


@layer_norm_backward.mistake("forgets to divide by the standard deviation")
def not_divided(grad_output, cache):
    """The three terms are right, and the factor in front of them is missing: what was divided by the standard
    deviation forwards is divided by it backwards. Reread 'The norm, walked backwards'."""
    return norm_gradients(grad_output, cache, grad_x=reference.layer_norm_backward(grad_output, cache)[0] / cache[1])


@layer_norm_backward.mistake("averages over the whole array")
def one_mean_for_all(grad_output, cache):
    """The means run over everything, which ties positions together that were normalised each by itself. Each row has
    its own: axis=-1 with keepdims=True. With one position the two agree. Reread 'The norm, walked backwards'."""
    normalised_x, inverse_std, gain = cache
    g = grad_output * gain
    grad_x = inverse_std * (g - g.mean() - normalised_x * (g * normalised_x).mean())
    return norm_gradients(grad_output, cache, grad_x=grad_x)


@layer_norm_backward.mistake("does not add up the gradients of gain and bias")
def not_summed(grad_output, cache):
    """grad_gain and grad_bias have a row for every position. One gain serves all positions of all sentences, so its
    gradient is the sum over *all* leading axes. Reread 'The norm, walked backwards'."""
    return norm_gradients(grad_output, cache, grad_gain=grad_output * cache[0], grad_bias=grad_output.copy())


@layer_norm_backward.mistake("adds the gradients of gain and bias up over one axis only")
def summed_over_one_axis(grad_output, cache):
    """`sum(axis=0)` is the whole sum only while there is one leading axis; with a batch an axis is left over, and with
    a single position it adds up the features. Sum over *all* leading axes. Reread 'The norm, walked backwards'."""
    return norm_gradients(
        grad_output, cache, grad_gain=(grad_output * cache[0]).sum(axis=0), grad_bias=grad_output.sum(axis=0)
    )


@layer_norm_backward.mistake("averages the gradients of gain and bias")
def averaged(grad_output, cache):
    """You take the mean over the positions. Whether to average is the loss's affair; a parameter used many times gets
    the *sum* of what comes back. Reread 'The norm, walked backwards'."""
    axes = tuple(range(grad_output.ndim - 1))
    return norm_gradients(
        grad_output, cache, grad_gain=(grad_output * cache[0]).mean(axis=axes), grad_bias=grad_output.mean(axis=axes)
    )


@layer_norm_backward.mistake("forgets the normalised row in the gain's gradient")
def gain_like_bias(grad_output, cache):
    """grad_gain equals grad_bias. The gain was *multiplied* by the normalised row, so its gradient is grad_output
    times that row, added up; only the bias's is grad_output alone. Reread 'The norm, walked backwards'."""
    axes = tuple(range(grad_output.ndim - 1))
    return norm_gradients(grad_output, cache, grad_gain=grad_output.sum(axis=axes))


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
    grad_x, grad_gain, grad_bias = np.empty_like(grad_output), np.zeros_like(gain), np.zeros_like(gain)
    for index in np.ndindex(grad_output.shape[:-1]):
        g, n = grad_output[index] * gain, normalised_x[index]
        grad_x[index] = inverse_std[index] * (g - sum(g) / len(g) - n * (g @ n) / len(g))
        grad_gain += grad_output[index] * n
        grad_bias += grad_output[index]
    return grad_x, grad_gain, grad_bias


@layer_norm_backward.equivalent
def through_each_statistic(grad_output, cache):
    """Variance first, then the mean, as one meets them walking back."""
    normalised_x, inverse_std, gain = cache
    rows = (-1, gain.size)
    g = grad_output * gain
    centred = normalised_x / inverse_std
    grad_variance = -0.5 * inverse_std**3 * np.sum(g * centred, axis=-1, keepdims=True)
    grad_centred = g * inverse_std + 2 / gain.size * grad_variance * centred
    grad_x = grad_centred - grad_centred.mean(axis=-1, keepdims=True)
    flat = grad_output.reshape(rows)
    return [grad_x, (flat * normalised_x.reshape(rows)).sum(0), flat.sum(0)]


# ------------------------------------------------------------------------------------------- feed_forward

feed_forward = Exercise(
    reference.feed_forward,
    outputs={"output": "... d_model", "cache": UNJUDGED},
    section="The feed-forward: each position by itself",
)


def to_think_about(draw, n_axes=1, dtype=np.float64):
    d_model = features(draw)
    x = draw.normal(*leading(draw, n_axes), d_model, dtype=dtype)
    return {"x": x, "params": feed_forward_params(draw, d_model, dtype)}


@feed_forward.cases("the idea", points=1)
def _(draw):
    yield "one position", to_think_about(draw, 0)
    yield "one sentence", to_think_about(draw)


@feed_forward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", to_think_about(draw, 2)
    yield "two batch axes", to_think_about(draw, 3)


@feed_forward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", to_think_about(draw, 2, np.float32)
    inputs = to_think_about(draw)
    yield "nothing is positive", inputs | {"params": inputs["params"] | {"b_in": inputs["params"]["b_in"] - 100}}


def two_layers(x, params, before=lambda z: z, between=lambda z: np.maximum(z, 0), after=lambda z: z, **changed):
    p = params | changed
    hidden = between(before(x) @ p["w_in"] + p["b_in"])
    return after(hidden @ p["w_out"] + p["b_out"]), None


def relu(z):
    return np.maximum(z, 0)


@feed_forward.mistake("applies relu after the second layer")
def relu_last(x, params):
    """The relu comes last: no output is ever negative, so the layer can only ever add to the stream, and the two
    linear maps before it are one linear map. relu stands *between* them. (A published lecture says it ends with the
    relu.) Reread 'The feed-forward: each position by itself'."""
    return two_layers(x, params, between=lambda z: z, after=relu)


@feed_forward.mistake("applies relu after both layers")
def relu_twice(x, params):
    """One relu too many: the one between the layers is right, the one after the second forbids negative outputs. What
    leaves the layer is added to the stream and must be free to take away. Reread 'The feed-forward: each position by
    itself'."""
    return two_layers(x, params, after=relu)


@feed_forward.mistake("leaves relu out")
def linear_only(x, params):
    """Two linear layers with nothing between them are one linear layer, however wide the middle. The relu between them
    is the point. Reread 'The feed-forward: each position by itself'."""
    return two_layers(x, params, between=lambda z: z)


@feed_forward.mistake("applies relu to the input")
def relu_first(x, params):
    """relu is applied to x, before the first layer: half of the stream is thrown away unseen. Widen first, then relu.
    Reread 'The feed-forward: each position by itself'."""
    return two_layers(x, params, before=relu, between=lambda z: z)


@feed_forward.mistake("keeps the size instead of the positive part")
def absolute(x, params):
    """|z| is not relu: a negative hidden value becomes zero, not positive. Reread 'The feed-forward: each position by
    itself'."""
    return two_layers(x, params, between=np.abs)


@feed_forward.mistake("leaves out the biases")
def without_biases(x, params):
    """b_in and b_out are not used. Fresh layers may have zeros there, so it shows only after training; without b_in,
    every fold of the relu goes through the origin. Reread 'The feed-forward: each position by itself'."""
    p = params
    return two_layers(x, params, b_in=np.zeros_like(p["b_in"]), b_out=np.zeros_like(p["b_out"]))


@feed_forward.mistake("adds the first bias after relu")
def bias_after_relu(x, params):
    """b_in is added after the relu. It belongs before: it decides *where* each hidden unit begins to speak. Reread
    'The feed-forward: each position by itself'."""
    return two_layers(x, params, between=lambda z: relu(z - params["b_in"]) + params["b_in"])


@feed_forward.equivalent
def unit_by_unit(x, params):
    output = np.zeros_like(x) + params["b_out"]
    for unit in range(params["b_in"].size):
        hidden = x @ params["w_in"][:, unit] + params["b_in"][unit]
        output += np.where(hidden > 0, hidden, 0)[..., None] * params["w_out"][unit]
    return output, None


@feed_forward.equivalent
def with_einsum(x, params):
    hidden = np.einsum("...d,df->...f", x, params["w_in"]) + params["b_in"]
    return np.einsum("...f,fd->...d", hidden * (hidden > 0), params["w_out"]) + params["b_out"], (x, hidden)


@feed_forward.equivalent
def half_of_sum_and_size(x, params):
    hidden, first = linear(x, params["w_in"], params["b_in"])
    output, second = linear((hidden + np.abs(hidden)) / 2, params["w_out"], params["b_out"])
    return output, (first, second)


# ---------------------------------------------------------------------------------- feed_forward_backward

feed_forward_backward = Exercise(
    reference.feed_forward_backward,
    outputs={"grad_x": "... d_model", "grad_params": ""},
    order=("grad_params", "grad_x"),
    section="The feed-forward, walked backwards",
)


def thought(draw, n_axes=1, dtype=np.float64):
    inputs = to_think_about(draw, n_axes, dtype)
    output, cache = reference.feed_forward(**inputs)
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@feed_forward_backward.cases("the idea", points=2)
def _(draw):
    yield "one position", thought(draw, 0)
    yield "one sentence", thought(draw)


@feed_forward_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", thought(draw, 2)
    yield "two batch axes", thought(draw, 3)


@feed_forward_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", thought(draw, 2, np.float32)
    inputs = to_think_about(draw)
    inputs["params"]["b_in"] = inputs["params"]["b_in"] - 100
    output, cache = reference.feed_forward(**inputs)
    yield "nothing was positive", {"grad_output": draw.normal(*output.shape), "cache": cache}


def through_relu(grad_output, cache, gate):
    """The gradients, with another gate(grad_active, active) for the relu."""
    in_cache, out_cache = cache
    grad_active, grad_w_out, grad_b_out = linear_backward(grad_output, out_cache)
    grad_x, grad_w_in, grad_b_in = linear_backward(gate(grad_active, out_cache[0]), in_cache)
    return grad_x, {"w_in": grad_w_in, "b_in": grad_b_in, "w_out": grad_w_out, "b_out": grad_b_out}


@feed_forward_backward.mistake("lets everything through relu")
def no_gate(grad_output, cache):
    """The gradient passes as if relu were not there (or the gate asks `>= 0`, which is always true of relu's output).
    Where the hidden value was negative nothing went forwards, so nothing comes back. Reread 'The feed-forward, walked
    backwards'."""
    return through_relu(grad_output, cache, lambda grad, active: grad)


@feed_forward_backward.mistake("gates by the sign of the gradient")
def gate_of_the_gradient(grad_output, cache):
    """You keep the *positive gradients*: relu applied to what comes back. relu's gate was set on the way forward, by
    the sign of its input; a negative gradient passes an open gate, and a positive one stops at a closed one. Reread
    'The feed-forward, walked backwards'."""
    return through_relu(grad_output, cache, lambda grad, active: np.maximum(grad, 0))


@feed_forward_backward.mistake("multiplies by relu's output")
def output_for_slope(grad_output, cache):
    """You multiply by relu's *value*; the chain rule wants its *slope*, which is 1 where the value is positive and 0
    elsewhere. Reread 'The feed-forward, walked backwards'."""
    return through_relu(grad_output, cache, lambda grad, active: grad * active)


@feed_forward_backward.mistake("turns relu's gate round")
def gate_inverted(grad_output, cache):
    """The gate is open where it should be shut: the gradient passes where the hidden value was *positive*. Reread 'The
    feed-forward, walked backwards'."""
    return through_relu(grad_output, cache, lambda grad, active: grad * (active <= 0))


@feed_forward_backward.mistake("averages the weights' gradients over the rows")
def rows_averaged(grad_output, cache):
    """The parameters' gradients are divided by the number of positions. A weight used by every position gets the *sum*
    of what comes back; whether to average is the loss's affair. Reread 'The feed-forward, walked backwards'."""
    grad_x, grad_params = reference.feed_forward_backward(grad_output, cache)
    n_rows = math.prod(grad_output.shape[:-1])
    return grad_x, {name: gradient / n_rows for name, gradient in grad_params.items()}


@feed_forward_backward.mistake("uses the first sentence alone for the weights")
def first_only(grad_output, cache):
    """The parameters' gradients come from the first item of the leading axis only. All of them used the same weights,
    so all of them add up. Reread 'The feed-forward, walked backwards'."""
    grad_x, grad_params = reference.feed_forward_backward(grad_output, cache)
    if grad_output.ndim > 1:
        (x, w_in), (active, w_out) = cache
        first = reference.feed_forward_backward(grad_output[0], ((x[0], w_in), (active[0], w_out)))
        grad_params = first[1]
    return grad_x, grad_params


@feed_forward_backward.mistake("hands relu's gate to the second layer too")
def gated_output(grad_output, cache):
    """Nothing was gated behind the second layer, but its bias's gradient lacks the negative entries of grad_output.
    The relu stands between the layers: the second is an ordinary linear layer. Reread 'The feed-forward, walked
    backwards'."""
    return reference.feed_forward_backward(np.maximum(grad_output, 0), cache)


@feed_forward_backward.equivalent
def entry_by_entry(grad_output, cache):
    (x, w_in), (active, w_out) = cache
    grad_x = np.zeros_like(x)
    grads = [np.zeros_like(w_in), np.zeros_like(w_in[0]), np.zeros_like(w_out), np.zeros_like(w_out[0])]
    for index in np.ndindex(x.shape[:-1]):
        g = grad_output[index]
        gated = np.array([w_out[f] @ g if active[index][f] > 0 else 0 for f in range(len(w_out))], x.dtype)
        grad_x[index] = w_in @ gated
        for total, part in zip(grads, (np.outer(x[index], gated), gated, np.outer(active[index], g), g), strict=True):
            total += part
    return grad_x, dict(zip(("w_in", "b_in", "w_out", "b_out"), grads, strict=True))


@feed_forward_backward.equivalent
def gate_by_where(grad_output, cache):
    return through_relu(grad_output, cache, lambda grad, active: np.where(active == 0, 0, grad))


@feed_forward_backward.equivalent
def by_sign(grad_output, cache):
    (x, w_in), (active, w_out) = cache
    gated = (grad_output @ w_out.T) * np.sign(active)
    sums = tuple(range(x.ndim - 1))
    grad_params = {
        "b_out": grad_output.sum(axis=sums),
        "w_out": np.tensordot(active, grad_output, (sums, sums)),
        "b_in": gated.sum(axis=sums),
        "w_in": np.tensordot(x, gated, (sums, sums)),
    }
    return gated @ w_in.T, grad_params


# ------------------------------------------------------------------------------------------------ dropout

dropout = Exercise(
    reference.dropout,
    outputs={"output": "...", "cache": UNJUDGED},
    section="Dropout",
)


def generator(draw):
    return np.random.default_rng(int(draw.rng.integers(1_000_000)))


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


# --------------------------------------------------------------------------------------- dropout_backward

dropout_backward = Exercise(reference.dropout_backward, outputs={"grad_x": "..."}, section="Dropout")


def forgotten(draw, *shape, rate=0.4, dtype=np.float64):
    _, cache = reference.dropout(draw.normal(*shape, dtype=dtype), rate, generator(draw))
    return {"grad_output": draw.normal(*shape, dtype=dtype), "cache": cache}


@dropout_backward.cases("training", points=1)
def _(draw):
    yield "one sentence", forgotten(draw, 4, 7)
    yield "a batch", forgotten(draw, 3, 4, 6, rate=0.3)


@dropout_backward.cases("not training, and float32", points=1)
def _(draw):
    yield "not training", {"grad_output": draw.normal(*draw.sizes(2)), "cache": 1.0}
    yield "float32", forgotten(draw, 3, 5, dtype=np.float32)


@dropout_backward.mistake("lets everything through")
def all_through(grad_output, cache):
    """The gradient comes back as it was. What was forgotten had no part in the output, so it gets no gradient; what
    was enlarged gets an enlarged one. Reread 'Dropout'."""
    return grad_output.copy()


@dropout_backward.mistake("does not enlarge the gradient")
def gradient_not_rescaled(grad_output, cache):
    """The zeros are in their places, but the rest is not enlarged. A constant factor of the forward pass is the same
    factor in the backward pass. Reread 'Dropout'."""
    return grad_output * (np.asarray(cache) > 0)


@dropout_backward.mistake("enlarges twice")
def enlarged_twice(grad_output, cache):
    """The factor 1 / (1 - rate) is in the cache already, and you apply it once more. Reread 'Dropout'."""
    return grad_output * cache * cache


@dropout_backward.mistake("divides by the scale")
def divided_by_scale(grad_output, cache):
    """A backward pass does not undo the forward pass: the gradient is multiplied by the same factor, not divided by it
    (which gives infinity wherever something was forgotten). Reread 'Dropout'."""
    with np.errstate(divide="ignore"):
        return grad_output / cache


@dropout_backward.mistake("forgets what was kept")
def other_way_round(grad_output, cache):
    """The gradient goes to the entries that were forgotten, and those that were kept get none. Reread 'Dropout'."""
    return grad_output * (np.asarray(cache) == 0)


@dropout_backward.equivalent
def scaled_by_where(grad_output, cache):
    return np.where(np.asarray(cache) == 0, 0, grad_output * cache)


@dropout_backward.equivalent
def diagonal_jacobian(grad_output, cache):
    scale = np.broadcast_to(np.asarray(cache, grad_output.dtype), grad_output.shape)
    return (np.diag(scale.ravel()) @ grad_output.ravel()).reshape(grad_output.shape)


@dropout_backward.equivalent
def scaled_one_by_one(grad_output, cache):
    grad_x = np.zeros_like(grad_output)
    scale = np.broadcast_to(cache, grad_output.shape)
    for index in np.ndindex(grad_x.shape):
        grad_x[index] = grad_output[index] * scale[index]
    return grad_x


# ----------------------------------------------------------------------------------------------- add_norm

add_norm = Exercise(
    reference.add_norm,
    outputs={"output": "... d_model", "cache": UNJUDGED},
    section="Add and norm",
    uses=("layer_norm", "dropout"),
)


def to_add(draw, n_axes=1, dtype=np.float64):
    d_model = features(draw)
    shape = *leading(draw, n_axes), d_model
    x, update = draw.normal(*shape, dtype=dtype), draw.normal(*shape, dtype=dtype)
    return {"x": x, "update": update, "params": norm_params(draw, d_model, dtype)}


@add_norm.cases("the idea", points=1)
def _(draw):
    yield "one position", to_add(draw, 0)
    yield "one sentence", to_add(draw)


@add_norm.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", to_add(draw, 2)
    yield "two batch axes", to_add(draw, 3)
    yield "float32", to_add(draw, 2, np.float32)


@add_norm.cases("dropout", points=1)
def _(draw):
    yield "two fifths of the update are forgotten", to_add(draw, 2) | {"rate": 0.4, "rng": generator(draw)}
    yield "a rate, but no training", to_add(draw) | {"rate": 0.4}


def plain_norm(x, params):
    return reference.layer_norm(x, **params)[0]


@add_norm.mistake("leaves out the residual connection")
def no_stream(x, update, params, rate=0.0, rng=None):
    """x is missing from the sum: what the sub-layer did not pass on is lost, and so is the straight way back for the
    gradient. Reread 'Add and norm'."""
    return plain_norm(reference.dropout(update, rate, rng)[0], params), None


@add_norm.mistake("leaves out the norm")
def no_norm(x, update, params, rate=0.0, rng=None):
    """The sum is right, and it is not normalised: 'Add & Norm' has a second half. Reread 'Add and norm'."""
    return x + reference.dropout(update, rate, rng)[0], None


@add_norm.mistake("normalises the update only")
def norm_of_update(x, update, params, rate=0.0, rng=None):
    """You return x + norm(update). In the paper's order the norm comes last, after the sum: norm(x + update). Reread
    'Add and norm'."""
    return x + plain_norm(reference.dropout(update, rate, rng)[0], params), None


@add_norm.mistake("normalises the stream only")
def norm_of_stream(x, update, params, rate=0.0, rng=None):
    """You return norm(x) + update: the stream is normalised before the update is added. The norm takes the *sum*.
    Reread 'Add and norm'."""
    return plain_norm(x, params) + reference.dropout(update, rate, rng)[0], None


@add_norm.mistake("drops the stream too")
def drops_the_sum(x, update, params, rate=0.0, rng=None):
    """Dropout is applied to the sum, so the stream itself is forgotten in places, and layer after layer more of it.
    Only the update is dropped. Without dropout the two agree. Reread 'Dropout'."""
    return plain_norm(reference.dropout(x + update, rate, rng)[0], params), None


@add_norm.mistake("drops the stream in place of the update")
def drops_the_stream(x, update, params, rate=0.0, rng=None):
    """You drop entries of x and leave the update whole. It is the other way round: the update may fail, the stream
    must arrive. Reread 'Dropout'."""
    return plain_norm(reference.dropout(x, rate, rng)[0] + update, params), None


@add_norm.mistake("drops after the norm")
def drops_after(x, update, params, rate=0.0, rng=None):
    """Dropout comes last, after sum and norm. The paper drops the output of the sub-layer *before* it is added. Reread
    'Dropout'."""
    return reference.dropout(plain_norm(x + update, params), rate, rng)[0], None


@add_norm.mistake("does not drop")
def never_drops(x, update, params, rate=0.0, rng=None):
    """`rate` and `rng` are not used: nothing is ever forgotten. Reread 'Dropout'."""
    return plain_norm(x + update, params), None


@add_norm.equivalent
def written_out(x, update, params, rate=0.0, rng=None):
    if rng is not None:
        update = np.where(rng.random(update.shape) < rate, 0, update / (1 - rate)).astype(x.dtype)
    return with_var(x + update, params["gain"], params["bias"])


@add_norm.equivalent
def row_for_row(x, update, params, rate=0.0, rng=None):
    kept, _ = reference.dropout(update, rate, rng)
    return position_by_position(np.add(kept, x), params["gain"], params["bias"])


@add_norm.equivalent
def sum_of_a_stack(x, update, params, rate=0.0, rng=None):
    stack = np.stack([x, one_number_at_a_time(update, rate, rng)[0]])
    return by_einsum(stack.sum(axis=0), params["gain"], params["bias"])


# -------------------------------------------------------------------------------------- add_norm_backward

add_norm_backward = Exercise(
    reference.add_norm_backward,
    outputs={"grad_x": "... d_model", "grad_update": "... d_model", "grad_params": ""},
    order=("grad_params", "grad_x", "grad_update"),
    section="Add and norm",
    uses=("layer_norm_backward", "dropout_backward"),
)


def added(draw, n_axes=1, dtype=np.float64, rate=0.0):
    inputs = to_add(draw, n_axes, dtype)
    output, cache = reference.add_norm(**inputs, rate=rate, rng=generator(draw) if rate else None)
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@add_norm_backward.cases("the idea", points=1)
def _(draw):
    yield "one position", added(draw, 0)
    yield "one sentence", added(draw)


@add_norm_backward.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", added(draw, 2)
    yield "two batch axes", added(draw, 3)
    yield "float32", added(draw, 2, np.float32)


@add_norm_backward.cases("dropout", points=1)
def _(draw):
    yield "two fifths of the update were forgotten", added(draw, 2, rate=0.4)


@add_norm_backward.mistake("goes round the norm")
def round_the_norm(grad_output, cache):
    """grad_x is grad_output as it came. The sum does hand its gradient on unchanged, but in post-norm the norm stands
    *behind* the sum, so the gradient must go through the norm first. Reread 'Add and norm'."""
    _, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_output.copy(), grad_update, grad_params


@add_norm_backward.mistake("shares the gradient between the two terms")
def halved(grad_output, cache):
    """Each term gets half. A sum does not divide its gradient: if x grows by one, the sum grows by one, and the same
    is true of the update. Both get the whole. Reread 'Add and norm'."""
    grad_x, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_x / 2, grad_update / 2, grad_params


@add_norm_backward.mistake("adds both terms' gradients into x's")
def twice_to_x(grad_output, cache):
    """grad_x holds the update's gradient as well. What flows back through the sub-layer is added later, when the
    sub-layer has been walked backwards; here x gets the straight path alone. Reread 'Add and norm'."""
    grad_x, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_x + grad_update, grad_update, grad_params


@add_norm_backward.mistake("drops the stream's gradient")
def stream_dropped(grad_output, cache):
    """grad_x is zero where the *update* was forgotten. Dropout stood on the update's path only; the stream gets the
    whole gradient. Reread 'Dropout'."""
    _, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_update.copy(), grad_update, grad_params


@add_norm_backward.mistake("forgets dropout on the way back")
def dropout_forgotten(grad_output, cache):
    """grad_update has entries where the update was forgotten. What was multiplied by the scale forwards is multiplied
    by it backwards. Without dropout nobody notices. Reread 'Dropout'."""
    grad_x, _, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_x, grad_x.copy(), grad_params


@add_norm_backward.mistake("exchanges the stream and the update")
def exchanged(grad_output, cache):
    """The gradients of x and of the update have changed places. Without dropout they are equal; with it, only the
    update's has zeros. Reread 'Add and norm'."""
    grad_x, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_update, grad_x, grad_params


@add_norm_backward.mistake("exchanges gain and bias")
def gain_for_bias(grad_output, cache):
    """The gradients of gain and bias stand under each other's names. layer_norm_backward returns them in the order x,
    gain, bias. Reread 'Add and norm'."""
    grad_x, grad_update, grad_params = reference.add_norm_backward(grad_output, cache)
    return grad_x, grad_update, {"gain": grad_params["bias"], "bias": grad_params["gain"]}


def unfold_add_norm(norm_backward):
    """A right add_norm_backward made with another right norm backward."""

    def backward(grad_output, cache):
        scale, norm_cache = cache
        grad_sum, grad_gain, grad_bias = norm_backward(grad_output, norm_cache)
        return grad_sum, grad_sum * scale, {"gain": grad_gain, "bias": grad_bias}

    return backward


@add_norm_backward.equivalent
def add_norm_by_jacobian(grad_output, cache):
    return unfold_add_norm(with_the_jacobian)(grad_output, cache)


@add_norm_backward.equivalent
def add_norm_by_rows(grad_output, cache):
    return unfold_add_norm(row_after_row)(grad_output, cache)


@add_norm_backward.equivalent
def add_norm_by_statistics(grad_output, cache):
    return unfold_add_norm(through_each_statistic)(grad_output, cache)


# ------------------------------------------------------------------------------------------ encoder_layer

encoder_layer = Exercise(
    reference.encoder_layer,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="The encoder layer",
    uses=("add_norm", "feed_forward", "layer_norm", "dropout"),
)


def layer_params(draw, d_model, dtype=np.float64):
    names = ("query", "key", "value", "output")
    attention = {f"w_{name}": draw.normal(d_model, d_model) / math.sqrt(d_model) for name in names}
    attention |= {f"b_{name}": draw.normal(d_model) for name in names}
    return {
        "attention": {name: array.astype(dtype) for name, array in attention.items()},
        "norm_attention": norm_params(draw, d_model, dtype),
        "feed_forward": feed_forward_params(draw, d_model, dtype),
        "norm_feed_forward": norm_params(draw, d_model, dtype),
    }


def sentences(draw, n_batch_axes=0, dtype=np.float64):
    """A layer's inputs: n_heads 2 or 3, and no two sizes alike."""
    n_heads, d_head = [(2, 3), (2, 4), (3, 2), (3, 4)][draw.size(0, 4)]
    T, *batch = draw.sizes(1 + n_batch_axes, low=3, high=6)
    x = draw.normal(*batch, T, n_heads * d_head, dtype=dtype)
    return {"x": x, "params": layer_params(draw, n_heads * d_head, dtype), "n_heads": n_heads}


def some_hidden(x, empty=False):
    """Causal, for whatever length; with an empty row if asked."""
    mask = np.tril(np.ones((x.shape[-2], x.shape[-2]), bool))
    mask[1] &= not empty
    return mask


@encoder_layer.cases("the idea", points=2)
def _(draw):
    yield "one sentence", sentences(draw)
    inputs = sentences(draw)
    fresh = {"gain": np.ones_like(inputs["x"][0]), "bias": np.zeros_like(inputs["x"][0])}
    yield "fresh norms", inputs | {"params": inputs["params"] | {"norm_attention": fresh, "norm_feed_forward": fresh}}


@encoder_layer.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", sentences(draw, 1)
    yield "two batch axes", sentences(draw, 2)
    yield "float32", sentences(draw, 1, np.float32)


@encoder_layer.cases("masks and dropout", points=1)
def _(draw):
    inputs = sentences(draw, 1)
    yield "a causal mask", inputs | {"mask": some_hidden(inputs["x"])}
    yield "a query that sees nothing", inputs | {"mask": some_hidden(inputs["x"], empty=True)}
    yield "dropout", sentences(draw, 1) | {"rate": 0.3, "rng": generator(draw)}


def attend(x, params, n_heads, mask=None):
    return multi_head_attention(x, x, x, params["attention"], n_heads, mask)[0]


def think(x, params):
    return reference.feed_forward(x, params["feed_forward"])[0]


def normed_sum(x, update, params, rate=0.0, rng=None):
    return reference.add_norm(x, update, params, rate, rng)[0]


@encoder_layer.mistake("uses the first norm twice")
def first_norm_twice(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Both sums go through norm_attention, and norm_feed_forward is never used. Fresh norms are all alike, so a parity
    test on a fresh layer passes; then the second norm never learns. (A published model does this.) Reread 'The encoder
    layer'."""
    params = params | {"norm_feed_forward": params["norm_attention"]}
    return reference.encoder_layer(x, params, n_heads, mask, rate, rng)


@encoder_layer.mistake("exchanges the two norms")
def norms_exchanged(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """norm_feed_forward stands behind the attention and norm_attention behind the feed-forward. Nothing shows as long
    as both are fresh. Reread 'The encoder layer'."""
    other = {"norm_attention": params["norm_feed_forward"], "norm_feed_forward": params["norm_attention"]}
    return reference.encoder_layer(x, params | other, n_heads, mask, rate, rng)


@encoder_layer.mistake("takes the second residual from the layer's input")
def from_the_input(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The feed-forward's update is added to the x that entered the *layer*. It belongs to what went into the
    feed-forward: the stream after the attention. As it is, what attention found never reaches the sum. Reread 'The
    encoder layer'."""
    middle = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return normed_sum(x, think(middle, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("feeds the layer's input to the feed-forward")
def in_parallel(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The feed-forward gets the x that entered the layer and never sees what attention found. It works on the stream
    after the first Add & Norm. Reread 'The encoder layer'."""
    middle = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return normed_sum(middle, think(x, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("puts the norms before the sub-layers")
def pre_norm(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """This is a pre-norm layer, x + sublayer(norm(x)). It is a good layer, and not the paper's: here the norm comes
    after the sum. The weights of one do not fit the other. Reread 'Before or after?'."""
    attended = attend(plain_norm(x, params["norm_attention"]), params, n_heads, mask)
    x = x + reference.dropout(attended, rate, rng)[0]
    thought_of = think(plain_norm(x, params["norm_feed_forward"]), params)
    return x + reference.dropout(thought_of, rate, rng)[0], None


@encoder_layer.mistake("takes the residual from the normalised stream")
def normalised_stream(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You normalise first, and then add the sub-layer's output to the *normalised* x: neither post-norm, norm(x +
    f(x)), nor pre-norm, x + f(norm(x)). The stream itself is overwritten at each norm. (A published notebook does
    this.) Reread 'Before or after?'."""
    x = plain_norm(x, params["norm_attention"])
    x = x + reference.dropout(attend(x, params, n_heads, mask), rate, rng)[0]
    x = plain_norm(x, params["norm_feed_forward"])
    return x + reference.dropout(think(x, params), rate, rng)[0], None


@encoder_layer.mistake("thinks before it looks around")
def thinks_first(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The feed-forward comes before the attention. The order is attention, then feed-forward: first gather from the
    other positions, then digest. Reread 'The encoder layer'."""
    x = normed_sum(x, think(x, params), params["norm_feed_forward"], rate, rng)
    return normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng), None


@encoder_layer.mistake("leaves out the residual around attention")
def attention_without_stream(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The stream stops at the attention: its output alone is normalised, without x. Each position then forgets what it
    was. Reread 'Add and norm'."""
    middle = no_stream(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)[0]
    return normed_sum(middle, think(middle, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("leaves out the residual around the feed-forward")
def thinking_without_stream(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The first sum is there, the second is not: the feed-forward's output alone is normalised. Both sub-layers have
    their residual connection. Reread 'Add and norm'."""
    middle = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return no_stream(middle, think(middle, params), params["norm_feed_forward"], rate, rng)[0], None


@encoder_layer.mistake("ignores the mask")
def mask_ignored(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The mask does not reach the attention, so words attend to padding. Nothing shows until a batch holds sentences
    of different length. Reread 'The encoder layer'."""
    return reference.encoder_layer(x, params, n_heads, None, rate, rng)


@encoder_layer.mistake("drops the attention's output only")
def dropout_once(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The feed-forward's output is added whole. Each sub-layer's output is dropped, first the attention's, then the
    feed-forward's. Reread 'Dropout'."""
    x = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return normed_sum(x, think(x, params), params["norm_feed_forward"]), None


@encoder_layer.mistake("does not drop")
def layer_without_dropout(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """`rate` and `rng` do not reach the two sums, so nothing is ever forgotten. Reread 'Dropout'."""
    return reference.encoder_layer(x, params, n_heads, mask)


@encoder_layer.equivalent
def layer_written_out(x, params, n_heads, mask=None, rate=0.0, rng=None):
    for part, norm in (("attention", "norm_attention"), ("feed_forward", "norm_feed_forward")):
        update = attend(x, params, n_heads, mask) if part == "attention" else unit_by_unit(x, params[part])[0]
        x, _ = written_out(x, update, params[norm], rate, rng)
    return x, None


@encoder_layer.equivalent
def layer_by_rows(x, params, n_heads, mask=None, rate=0.0, rng=None):
    middle, _ = row_for_row(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    update, _ = with_einsum(middle, params["feed_forward"])
    return row_for_row(middle, update, params["norm_feed_forward"], rate, rng)


@encoder_layer.equivalent
def layer_by_stacks(x, params, n_heads, mask=None, rate=0.0, rng=None):
    mask = np.True_ if mask is None else mask
    everyone = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
    middle, _ = sum_of_a_stack(x, attend(x, params, n_heads, everyone), params["norm_attention"], rate, rng)
    update, _ = half_of_sum_and_size(middle, params["feed_forward"])
    return sum_of_a_stack(middle, update, params["norm_feed_forward"], rate, rng)


# --------------------------------------------------------------------------------- encoder_layer_backward

encoder_layer_backward = Exercise(
    reference.encoder_layer_backward,
    outputs={"grad_x": "... T d_model", "grad_params": ""},
    order=("grad_params", "grad_x"),
    section="The encoder layer, walked backwards",
    uses=("add_norm_backward", "feed_forward_backward", "layer_norm_backward", "dropout_backward"),
)


def encoded(draw, n_batch_axes=0, dtype=np.float64, rate=0.0, masked=False):
    """A cotangent, and the cache of a layer whose rows of attention weights do not quite add up to one.

    With rows that do, the key bias's gradient is zero but for rounding, and no two right answers agree on it.
    """
    inputs = sentences(draw, n_batch_axes, dtype)
    mask = some_hidden(inputs["x"], empty=True) if masked else None
    output, cache = reference.encoder_layer(**inputs, mask=mask, rate=rate, rng=generator(draw) if rate else None)
    query, key, value, (queries, keys, values, weights), projected = cache[0]
    weights = (weights * draw.rng.uniform(0.5, 0.9, (*weights.shape[:-1], 1))).astype(dtype)
    attention_cache = query, key, value, (queries, keys, values, weights), projected
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": (attention_cache, *cache[1:])}


@encoder_layer_backward.cases("the idea", points=3)
def _(draw):
    yield "one sentence", encoded(draw)


@encoder_layer_backward.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", encoded(draw, 1)
    yield "two batch axes", encoded(draw, 2)
    yield "float32", encoded(draw, 1, np.float32)


@encoder_layer_backward.cases("masks and dropout", points=1)
def _(draw):
    yield "a mask with an empty row", encoded(draw, 1, masked=True)
    yield "dropout", encoded(draw, 1, rate=0.3)


def back(grad_output, cache, add_norm_back=reference.add_norm_backward, **keep):
    """The layer backwards; a path named in keep with 0 is left out: past_2, thought, past_1, query, key, value."""

    def kept(path, gradient):
        return gradient * keep.get(path, 1)

    attention_cache, norm_1, thought_cache, norm_2 = cache
    past, update, grad_norm_2 = add_norm_back(grad_output, norm_2)
    through, grad_thought = reference.feed_forward_backward(update, thought_cache)
    past, update, grad_norm_1 = add_norm_back(kept("past_2", past) + kept("thought", through), norm_1)
    *roles, grad_attention = multi_head_attention_backward(update, attention_cache)
    query, key, value = (kept(name, grad) for name, grad in zip(("query", "key", "value"), roles, strict=True))
    parts = (grad_attention, grad_norm_1, grad_thought, grad_norm_2)
    names = ("attention", "norm_attention", "feed_forward", "norm_feed_forward")
    return kept("past_1", past) + query + key + value, dict(zip(names, parts, strict=True))


@encoder_layer_backward.mistake("loses the straight path past the feed-forward")
def not_past_the_thinking(grad_output, cache):
    """Between the two sums, only what came through the feed-forward flows on. The stream went past it as well, and
    where an array was used twice its gradients add up. Everything before the feed-forward is wrong by that. Reread
    'The encoder layer, walked backwards'."""
    return back(grad_output, cache, past_2=0)


@encoder_layer_backward.mistake("loses the path through the feed-forward")
def not_through_the_thinking(grad_output, cache):
    """The gradient goes past the feed-forward and not through it: its own weights get their gradients, but what it
    sends back to its input is not added. Reread 'The encoder layer, walked backwards'."""
    return back(grad_output, cache, thought=0)


@encoder_layer_backward.mistake("loses the straight path past the attention")
def not_past_the_attention(grad_output, cache):
    """grad_x holds what came through the attention, and not what came past it along the residual connection. All
    parameters have their right gradients, so this layer learns, and the one below does not. Reread 'The encoder layer,
    walked backwards'."""
    return back(grad_output, cache, past_1=0)


@encoder_layer_backward.mistake("loses the path through the attention")
def not_through_the_attention(grad_output, cache):
    """grad_x is the straight path alone. x went into the attention as well, in three roles. Reread 'The encoder layer,
    walked backwards'."""
    return back(grad_output, cache, query=0, key=0, value=0)


@encoder_layer_backward.mistake("forgets that x was the keys")
def without_keys(grad_output, cache):
    """In self-attention x has three roles: query, key and value. The keys' gradient is not added into grad_x. Reread
    'The encoder layer, walked backwards'."""
    return back(grad_output, cache, key=0)


@encoder_layer_backward.mistake("forgets that x was the values")
def without_values(grad_output, cache):
    """In self-attention x has three roles: query, key and value. The values' gradient is not added into grad_x. Reread
    'The encoder layer, walked backwards'."""
    return back(grad_output, cache, value=0)


@encoder_layer_backward.mistake("keeps the queries' gradient alone")
def queries_only(grad_output, cache):
    """Of the three roles of x only the query's gradient is added into grad_x. multi_head_attention_backward returns
    three gradients of inputs, and here all three belong to the same x. Reread 'The encoder layer, walked
    backwards'."""
    return back(grad_output, cache, key=0, value=0)


@encoder_layer_backward.mistake("exchanges the two norms")
def grad_norms_exchanged(grad_output, cache):
    """The gradients of the two norms stand under each other's names. Walking backwards, the first norm you meet is the
    feed-forward's. Reread 'The encoder layer, walked backwards'."""
    grad_x, grads = reference.encoder_layer_backward(grad_output, cache)
    other = {"norm_attention": grads["norm_feed_forward"], "norm_feed_forward": grads["norm_attention"]}
    return grad_x, grads | other


@encoder_layer_backward.mistake("gives both norms one gradient")
def one_norm_for_both(grad_output, cache):
    """norm_attention carries the gradient of norm_feed_forward. Each norm was used once and has its own. Reread 'The
    encoder layer, walked backwards'."""
    grad_x, grads = reference.encoder_layer_backward(grad_output, cache)
    return grad_x, grads | {"norm_attention": grads["norm_feed_forward"]}


@encoder_layer_backward.mistake("goes round the norms")
def past_the_norms(grad_output, cache):
    """Along the residual connections the gradient passes as it came. That is so in a pre-norm layer; in post-norm a
    norm stands behind each sum, and *both* paths go through it. Reread 'Before or after?'."""
    return back(grad_output, cache, add_norm_back=round_the_norm)


@encoder_layer_backward.equivalent
def back_by_jacobians(grad_output, cache):
    return back(grad_output, cache, add_norm_back=add_norm_by_jacobian)


@encoder_layer_backward.equivalent
def back_by_rows(grad_output, cache):
    return back(grad_output, cache, add_norm_back=add_norm_by_rows)


@encoder_layer_backward.equivalent
def back_by_statistics(grad_output, cache):
    attention_cache, norm_1, thought_cache, norm_2 = cache
    grad, update, grad_norm_2 = add_norm_by_statistics(grad_output, norm_2)
    through, grad_thought = by_sign(update, thought_cache)
    grad, update, grad_norm_1 = add_norm_by_statistics(grad + through, norm_1)
    *roles, grad_attention = multi_head_attention_backward(update, attention_cache)
    grad_params = {"norm_feed_forward": grad_norm_2, "feed_forward": grad_thought}
    grad_params |= {"norm_attention": grad_norm_1, "attention": grad_attention}
    return np.sum([grad, *roles], axis=0), grad_params


# ------------------------------------------------------------------------------ repaired_pre_norm_encoder

repaired_pre_norm_encoder = Exercise(
    reference.repaired_pre_norm_encoder,
    outputs={"output": "... T d_model"},
    section="Before or after?",
    uses=("layer_norm", "feed_forward"),
)


def stack_of(draw, n_layers, n_batch_axes=0, dtype=np.float64):
    inputs = sentences(draw, n_batch_axes, dtype)
    d_model = inputs["x"].shape[-1]
    layers = [layer_params(draw, d_model, dtype) for _ in range(n_layers)]
    norm = norm_params(draw, d_model, dtype)
    return {"x": inputs["x"], "layers": layers, "norm": norm, "n_heads": inputs["n_heads"]}


def with_one_norm(inputs):
    """Both norms of a layer alike, as they are when fresh."""
    layers = [layer | {"norm_feed_forward": layer["norm_attention"]} for layer in inputs["layers"]]
    return inputs | {"layers": layers}


@repaired_pre_norm_encoder.cases("the last norm", points=1)
def _(draw):
    yield "no layers at all", stack_of(draw, 0)
    yield "no layers, a batch", stack_of(draw, 0, 1)


@repaired_pre_norm_encoder.cases("the stream", points=1)
def _(draw):
    yield "one layer, both of its norms alike", with_one_norm(stack_of(draw, 1))
    yield "two layers, the norms of each alike", with_one_norm(stack_of(draw, 2, 1))


@repaired_pre_norm_encoder.cases("each sub-layer its own norm", points=2)
def _(draw):
    yield "one layer", stack_of(draw, 1)
    yield "three layers and a batch", stack_of(draw, 3, 1)
    inputs = stack_of(draw, 2, 1)
    yield "a mask", inputs | {"mask": some_hidden(inputs["x"])}
    yield "float32", stack_of(draw, 2, 1, np.float32)


def hunted(x, layers, norm, n_heads, mask=None, *, stream, own, last):
    """The stub, with these of its three mistakes mended."""
    for params in layers:
        normed_x = plain_norm(x, params["norm_attention"])
        x = (x if stream else normed_x) + attend(normed_x, params, n_heads, mask)
        normed_x = plain_norm(x, params["norm_feed_forward" if own else "norm_attention"])
        x = (x if stream else normed_x) + think(normed_x, params)
    return plain_norm(x, norm) if last else x.copy()


@repaired_pre_norm_encoder.mistake("is still as it was handed out")
def nothing_mended(x, layers, norm, n_heads, mask=None):
    """All three mistakes are still there. Follow the stream, from x to the output: to what is each update added, by
    which norm is each sub-layer's input normalised, and what happens to the sum at the end? Reread 'Before or
    after?'."""
    return hunted(x, layers, norm, n_heads, mask, stream=False, own=False, last=False)


@repaired_pre_norm_encoder.mistake("has its last norm, two mistakes are left")
def last_mended(x, layers, norm, n_heads, mask=None):
    """The last norm is there now. Two mistakes are left, both in the loop: to what is each update added, and which
    norm does the feed-forward use? Reread 'Before or after?'."""
    return hunted(x, layers, norm, n_heads, mask, stream=False, own=False, last=True)


@repaired_pre_norm_encoder.mistake("has its stream back, two mistakes are left")
def stream_mended(x, layers, norm, n_heads, mask=None):
    """The updates are added to the stream now. Two mistakes are left: one is invisible as long as all gains are fresh,
    and one stands after the last layer. Reread 'Before or after?'."""
    return hunted(x, layers, norm, n_heads, mask, stream=True, own=False, last=False)


@repaired_pre_norm_encoder.mistake("has both norms, two mistakes are left")
def own_mended(x, layers, norm, n_heads, mask=None):
    """Each sub-layer has its own norm now. Two mistakes are left: to what is each update added, and what has
    normalised the sum that leaves the last layer? Reread 'Before or after?'."""
    return hunted(x, layers, norm, n_heads, mask, stream=False, own=True, last=False)


@repaired_pre_norm_encoder.mistake("uses the first norm twice, one mistake is left")
def own_left(x, layers, norm, n_heads, mask=None):
    """One mistake is left, and it is invisible as long as all gains are one: the feed-forward's input goes through
    norm_attention, and norm_feed_forward is never used. (A published decoder uses its first norm twice.) Reread 'The
    encoder layer'."""
    return hunted(x, layers, norm, n_heads, mask, stream=True, own=False, last=True)


@repaired_pre_norm_encoder.mistake("adds to the normalised stream, one mistake is left")
def stream_left(x, layers, norm, n_heads, mask=None):
    """One mistake is left: the update is added to the *normalised* x, which overwrites the stream at every sub-layer.
    In pre-norm, the sub-layer looks at the normalised copy, and the sum takes x itself. Reread 'Before or after?'."""
    return hunted(x, layers, norm, n_heads, mask, stream=False, own=True, last=True)


@repaired_pre_norm_encoder.mistake("lacks the last norm, one mistake is left")
def last_left(x, layers, norm, n_heads, mask=None):
    """One mistake is left: in pre-norm nothing normalises the stream itself, so after the last layer it leaves as
    large as it has grown. It needs one norm more, `norm`, at the end. Reread 'Before or after?'."""
    return hunted(x, layers, norm, n_heads, mask, stream=True, own=True, last=False)


@repaired_pre_norm_encoder.mistake("has become a post-norm encoder")
def became_post_norm(x, layers, norm, n_heads, mask=None):
    """Each layer is the paper's post-norm layer now. The task is to mend the pre-norm stack: x + sublayer(norm(x)),
    with one norm at the end. Reread 'Before or after?'."""
    for params in layers:
        x, _ = reference.encoder_layer(x, params, n_heads, mask)
    return plain_norm(x, norm)


@repaired_pre_norm_encoder.equivalent
def mended(x, layers, norm, n_heads, mask=None):
    return hunted(x, layers, norm, n_heads, mask, stream=True, own=True, last=True)


@repaired_pre_norm_encoder.equivalent
def a_sum_of_updates(x, layers, norm, n_heads, mask=None):
    updates = [x]
    for params in layers:
        seen = by_einsum(np.sum(updates, axis=0), **params["norm_attention"])[0]
        updates.append(attend(seen, params, n_heads, mask))
        seen = by_einsum(np.sum(updates, axis=0), **params["norm_feed_forward"])[0]
        updates.append(with_einsum(seen, params["feed_forward"])[0])
    return with_var(np.sum(updates, axis=0), **norm)[0]


@repaired_pre_norm_encoder.equivalent
def layer_inside_layer(x, layers, norm, n_heads, mask=None):
    if not layers:
        return position_by_position(x, **norm)[0]
    first, *rest = layers
    x = x + attend(with_var(x, **first["norm_attention"])[0], first, n_heads, mask)
    x = x + unit_by_unit(with_var(x, **first["norm_feed_forward"])[0], first["feed_forward"])[0]
    return layer_inside_layer(x, rest, norm, n_heads, mask)
