import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.dictionary.shared import gated
from solutions import dictionary as reference

swiglu = Exercise(reference.swiglu, outputs={"output": "... d_model", "cache": ""}, section="A gate")
wrong = short_mistakes(swiglu)


@swiglu.cases("the idea", points=1)
def _(draw):
    yield "one row", gated(draw, 0)
    yield "a batch of texts", gated(draw, 2)


@swiglu.cases("float32 and far from zero", points=1)
def _(draw):
    yield "float32", gated(draw, dtype=np.float32)
    inputs = gated(draw)
    yield "gates beyond the range of exp", inputs | {"x": 2000 * np.sign(inputs["x"]) + inputs["x"]}


def with_gate(opening):
    """Return swiglu with opening(gate, up) as the hidden row."""

    def function(x, params):
        gate, up = x @ params["w_gate"], x @ params["w_up"]
        return opening(gate, up) @ params["w_down"], (x, gate, up, params)

    return function


@swiglu.mistake("opens with a sigmoid alone")
def sigmoid_alone(x, params):
    """You multiply by the sigmoid of the gate. That is a GLU. In SwiGLU the gate itself is a factor, too: silu(g) is
    g times its sigmoid."""
    return with_gate(lambda gate, up: reference.sigmoid(gate) * up)(x, params)


wrong("no_sigmoid", lambda x, params: with_gate(lambda gate, up: gate * up)(x, params))("""
    forgets the sigmoid
    You multiply the two copies as they are. Then a negative gate does not close: it flips the sign. Multiply the gate
    by its sigmoid first.""")
wrong("other_copy", lambda x, params: with_gate(lambda gate, up: gate * reference.sigmoid(up) * up)(x, params))("""
    applies silu to the other copy
    You apply silu to x w_up. The gate is x w_gate: its silu multiplies the other copy.""")


@swiglu.mistake("applies silu to both copies")
def both_copies(x, params):
    """You apply silu to both copies. Only the gate has an activation. What it lets through is a plain product."""
    return with_gate(lambda gate, up: gate * reference.sigmoid(gate) * up * reference.sigmoid(up))(x, params)


wrong("relu_gate", lambda x, params: with_gate(lambda gate, up: np.maximum(gate, 0) * up)(x, params))("""
    uses relu as the gate
    Your gate is relu, which is shut for every negative number. That is ReGLU. Silu is smooth and passes a little around
    zero.""")
wrong(
    "gelu_gate",
    lambda x, params: with_gate(
        lambda gate, up: gate / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (gate + 0.044715 * gate**3))) * up
    )(x, params),
)("""
    uses gelu as the gate
    Your gate is gelu, whose curve is close to that of silu. That is GEGLU. Silu is the gate times its *sigmoid*.""")
wrong("tanh_gate", lambda x, params: with_gate(lambda gate, up: np.tanh(gate) * up)(x, params))("""
    uses a hyperbolic tangent as the gate
    Your gate is a hyperbolic tangent. Its values go from -1 to 1 and never grow. Silu is the gate times its
    *sigmoid*.""")
wrong("no_gate", lambda x, params: with_gate(lambda gate, up: up * reference.sigmoid(up))(x, params))("""
    leaves the gate out
    Your output does not depend on w_gate. Multiply x w_up by silu of x w_gate.""")
wrong("added", lambda x, params: with_gate(lambda gate, up: gate * reference.sigmoid(gate) + up)(x, params))("""
    adds the two copies
    You add the gate to the other copy. A gate *multiplies*: where it is near 0, nothing passes.""")


wrong(
    "silu_of_the_product",
    lambda x, params: with_gate(lambda gate, up: gate * up * reference.sigmoid(gate * up))(x, params),
)("""
    applies silu to the product
    You multiply the two copies first, and apply silu to their product. Apply silu to the gate alone, and multiply the
    result by the other copy.""")


@swiglu.mistake("overflows far from zero")
def overflowing(x, params):
    """exp(x) is infinite for x above 709, and your formula then computes infinity over infinity or 0 times infinity.
    Use the hyperbolic tangent, or exponentials of negative numbers only."""

    def opening(gate, up):
        with np.errstate(over="ignore", invalid="ignore"):
            return gate * np.exp(gate) / (1 + np.exp(gate)) * up

    return with_gate(opening)(x, params)


@swiglu.mistake("keeps the gate after silu")
def gate_after_silu(x, params):
    """The output is right, but your cache holds silu of the gate. The backward pass needs the gate itself, because the
    slope cannot be found from silu alone: it is not one-to-one."""
    output, (x, gate, up, params) = reference.swiglu(x, params)
    return output, (x, gate * reference.sigmoid(gate), up, params)


@swiglu.mistake("exchanges the two copies in the cache")
def copies_exchanged(x, params):
    """The output is right, but the two wide rows in your cache are in the wrong order. The gate comes first."""
    output, (x, gate, up, params) = reference.swiglu(x, params)
    return output, (x, up, gate, params)


@swiglu.equivalent
def by_exponentials(x, params):
    gate, up = np.matmul(x, params["w_gate"]), np.matmul(x, params["w_up"])
    small = np.exp(-np.abs(gate))
    return (gate * np.where(gate >= 0, 1 / (1 + small), small / (1 + small)) * up) @ params["w_down"], (
        x,
        gate,
        up,
        params,
    )


@swiglu.equivalent
def by_einsum(x, params):
    gate, up = (np.einsum("...i,if->...f", x, params[name]) for name in ("w_gate", "w_up"))
    silu = gate / 2 + gate / 2 * np.tanh(gate / 2)
    return np.einsum("...f,fi->...i", silu * up, params["w_down"]), (x, gate, up, params)


@swiglu.equivalent
def row_by_row(x, params):
    rows = x.reshape(-1, x.shape[-1])
    gate, up = (np.array([row @ params[name] for row in rows], x.dtype) for name in ("w_gate", "w_up"))
    with np.errstate(over="ignore"):
        silu = gate / (1 + np.exp(-gate))
    shape = *x.shape[:-1], -1
    return ((silu * up) @ params["w_down"]).reshape(x.shape), (x, gate.reshape(shape), up.reshape(shape), params)
