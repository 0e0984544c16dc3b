"""feed_forward: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.residual.shared import to_think_about
from solutions import residual as reference
from solutions.backward import linear

feed_forward = Exercise(
    reference.feed_forward,
    outputs={"output": "... d_model", "cache": UNJUDGED},
    section="The feed-forward: each position by itself",
)


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


def gaussian_unit(z):
    """GELU by its usual approximation: NumPy has no error function."""
    return z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))) / 2


@feed_forward.mistake("applies relu after the second layer")
def relu_last(x, params):
    """The relu comes last: no output is ever negative, so the layer can never subtract from the stream, and the two
    linear maps before the relu are one linear map. The relu belongs *between* them."""
    return two_layers(x, params, between=lambda z: z, after=relu)


@feed_forward.mistake("applies relu after both layers")
def relu_twice(x, params):
    """One relu too many: the one between the layers is right, but the one after the second layer forbids negative
    outputs. The output is added to the stream, and must also be able to subtract from it. (A published lecture ends
    with a relu.)"""
    return two_layers(x, params, after=relu)


@feed_forward.mistake("leaves relu out")
def linear_only(x, params):
    """Two linear layers with nothing between them are one linear layer, however wide the middle. The relu between them
    is the point."""
    return two_layers(x, params, between=lambda z: z)


@feed_forward.mistake("applies relu to the input")
def relu_first(x, params):
    """You apply relu to x, before the first layer, which discards about half of the stream. Widen first, then apply
    relu."""
    return two_layers(x, params, before=relu, between=lambda z: z)


@feed_forward.mistake("takes the absolute value instead of the positive part")
def absolute(x, params):
    """|z| is not relu: a negative hidden value becomes zero, not positive."""
    return two_layers(x, params, between=np.abs)


@feed_forward.mistake("leaves out the biases")
def without_biases(x, params):
    """b_in and b_out are not used. Fresh layers may have zeros there, so the mistake shows only after training. Without
    b_in, every kink of the relu goes through the origin."""
    p = params
    return two_layers(x, params, b_in=np.zeros_like(p["b_in"]), b_out=np.zeros_like(p["b_out"]))


@feed_forward.mistake("adds the first bias after relu")
def bias_after_relu(x, params):
    """b_in is added after the relu. It belongs before the relu: it decides *where* each hidden unit becomes active."""
    return two_layers(x, params, between=lambda z: relu(z - params["b_in"]) + params["b_in"])


@feed_forward.mistake("leaves out the first bias")
def without_b_in(x, params):
    """b_in is not used. The threshold of every hidden unit is then zero, and no unit can have a higher one. Fresh
    layers may have zeros there, so the mistake shows only after training."""
    return two_layers(x, params, b_in=np.zeros_like(params["b_in"]))


@feed_forward.mistake("leaves out the second bias")
def without_b_out(x, params):
    """b_out is not used: where no hidden unit is positive, the layer must return b_out, but yours returns zeros."""
    return two_layers(x, params, b_out=np.zeros_like(params["b_out"]))


@feed_forward.mistake("keeps the negative part")
def negative_part(x, params):
    """`np.minimum` keeps what is *below* zero. relu keeps what is above it: np.maximum(z, 0)."""
    return two_layers(x, params, between=lambda z: np.minimum(z, 0))


@feed_forward.mistake("uses GELU in place of relu")
def gelu(x, params):
    """The function between the layers is GELU, as in BERT and GPT. The paper's layer, and this one, has relu, which is
    exactly zero below zero; weights trained with one do not fit the other."""
    return two_layers(x, params, between=gaussian_unit)


@feed_forward.mistake("lets a hundredth of the negative part through")
def leaky(x, params):
    """A hundredth of each negative value passes: that is a *leaky* relu. Here a negative hidden value becomes exactly
    zero."""
    return two_layers(x, params, between=lambda z: np.where(z > 0, z, z / 100))


@feed_forward.mistake("already adds the residual")
def with_residual(x, params):
    """You return x plus what the layer makes of it. The residual connection belongs to Add & Norm, which would add x
    once more."""
    return x + two_layers(x, params)[0], None


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
