import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.dictionary.shared import gated
from solutions import dictionary as reference
from solutions.backward import linear_backward

swiglu_backward = Exercise(
    reference.swiglu_backward,
    outputs={"grad_x": "... d_model", "grad_params": ""},
    order=("grad_params", "grad_x"),
    section="Backwards: two ways through the gate",
)
wrong = short_mistakes(swiglu_backward)


def way_back(draw, n_axes=1, dtype=np.float64, times=1):
    inputs = gated(draw, n_axes, dtype)
    output, cache = reference.swiglu(times * inputs["x"], inputs["params"])
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@swiglu_backward.cases("one row", points=2)
def _(draw):
    yield "one row", way_back(draw, 0)
    yield "another row", way_back(draw, 0)


@swiglu_backward.cases("many rows", points=2)
def _(draw):
    yield "a text", way_back(draw)
    yield "a batch of texts", way_back(draw, 2)


@swiglu_backward.cases("float32 and far from zero", points=1)
def _(draw):
    yield "float32", way_back(draw, 2, np.float32)
    yield "gates beyond the range of exp", way_back(draw, times=2000)


def through_gate(grad_output, cache, slope=None, of_up=None, of_gate=None, down=None):
    """Return the gradients with other factors: each takes (gate, up, sigmoid, silu) and returns what the gradient of
    the hidden row is multiplied by, or what w_down was multiplied by."""
    x, gate, up, params = cache
    opening = reference.sigmoid(gate)
    parts = gate, up, opening, gate * opening

    def factor(changed, usual):
        return (changed or usual)(*parts)

    hidden = factor(down, lambda gate, up, opening, silu: silu * up)
    grad_hidden, grad_w_down, _ = linear_backward(grad_output, (hidden, params["w_down"]))
    silu_slope = factor(slope, lambda gate, up, opening, silu: opening + silu * (1 - opening))
    grad_gate = grad_hidden * factor(of_gate, lambda gate, up, opening, silu: up) * silu_slope
    grad_up = grad_hidden * factor(of_up, lambda gate, up, opening, silu: silu)
    grad_x_gate, grad_w_gate, _ = linear_backward(grad_gate, (x, params["w_gate"]))
    grad_x_up, grad_w_up, _ = linear_backward(grad_up, (x, params["w_up"]))
    return grad_x_gate, grad_x_up, {"w_gate": grad_w_gate, "w_up": grad_w_up, "w_down": grad_w_down}


def summed(*args, **changed):
    by_gate, by_up, grad_params = through_gate(*args, **changed)
    return by_gate + by_up, grad_params


@swiglu_backward.mistake("forgets the second term of the slope")
def first_term(grad_output, cache):
    """Your slope of silu is only the sigmoid. The gate occurs twice in g times sigmoid(g), so the product rule gives a
    second term: silu times (1 - sigmoid)."""
    return summed(grad_output, cache, slope=lambda gate, up, opening, silu: opening)


wrong("second_term", summed, slope=lambda gate, up, opening, silu: silu * (1 - opening))("""
    forgets the first term of the slope
    Your slope of silu lacks the sigmoid itself. The product rule has two terms: the sigmoid, and the gate times the
    slope of the sigmoid.""")
wrong("sigmoid_slope", summed, slope=lambda gate, up, opening, silu: opening * (1 - opening))("""
    takes the sigmoid's slope for silu's
    You multiply by sigmoid times (1 - sigmoid), the slope of the sigmoid. The gate is silu, g times its sigmoid, whose
    slope has two terms.""")
wrong("silu_for_slope", summed, slope=lambda gate, up, opening, silu: silu)("""
    takes silu for its slope
    You multiply by silu where its slope belongs.""")
wrong("no_slope", summed, slope=lambda gate, up, opening, silu: np.ones_like(gate))("""
    has no slope of silu
    You pass the gradient of silu(gate) back to w_gate as it is. Multiply it by the slope of silu first.""")
wrong("gate_twice", summed, slope=lambda gate, up, opening, silu: opening + gate * silu * (1 - opening))("""
    multiplies the slope by the gate once more
    The second term of your slope has the gate twice: silu already contains it. It is silu times (1 - sigmoid).""")
wrong(
    "factors_exchanged", summed, of_up=lambda gate, up, opening, silu: up, of_gate=lambda gate, up, opening, silu: silu
)("""
    exchanges the factors of the product
    Each copy gets the gradient times *itself*. A product passes to each factor the gradient times the *other* one.""")
wrong("raw_gate", summed, of_up=lambda gate, up, opening, silu: gate)("""
    multiplies by the gate without its sigmoid
    The gradient of x w_up is the gradient times *silu* of the gate. You multiply by the gate itself.""")
wrong("sigmoid_only", summed, of_up=lambda gate, up, opening, silu: opening)("""
    multiplies by the sigmoid alone
    The gradient of x w_up is the gradient times *silu* of the gate. You multiply by its sigmoid.""")
wrong("without_up", summed, of_gate=lambda gate, up, opening, silu: np.ones_like(up))("""
    forgets the other copy behind the gate
    The gradient of the gate lacks the factor x w_up. In a product, the slope of one factor is the other factor.""")
wrong("hidden_without_gate", summed, down=lambda gate, up, opening, silu: up)("""
    forgets the gate in the hidden row
    The gradient of w_down is the hidden row times the gradient of the output. Your hidden row lacks the gate: it is
    silu of the gate times the other copy.""")
wrong("hidden_without_up", summed, down=lambda gate, up, opening, silu: silu)("""
    forgets the other copy in the hidden row
    The gradient of w_down is the hidden row times the gradient of the output. Your hidden row is only silu of the gate:
    multiply it by the other copy.""")


@swiglu_backward.mistake("returns the gradient by the gate alone")
def by_gate_alone(grad_output, cache):
    """Your gradient of x comes from w_gate only. x was multiplied by two matrices: add what comes back through w_up."""
    by_gate, _, grad_params = through_gate(grad_output, cache)
    return by_gate, grad_params


@swiglu_backward.mistake("returns the gradient by the other copy alone")
def by_up_alone(grad_output, cache):
    """Your gradient of x comes from w_up only. x was multiplied by two matrices: add what comes back through w_gate."""
    _, by_up, grad_params = through_gate(grad_output, cache)
    return by_up, grad_params


@swiglu_backward.mistake("exchanges the gradients of the two matrices")
def names_exchanged(grad_output, cache):
    """The gradients of w_gate and w_up are under each other's names. They have the same shape, so no error tells
    you."""
    grad_x, grads = reference.swiglu_backward(grad_output, cache)
    return grad_x, grads | {"w_gate": grads["w_up"], "w_up": grads["w_gate"]}


@swiglu_backward.mistake("takes the first item of the batch for the weights")
def first_item(grad_output, cache):
    """Your gradients of the matrices come from the first item of the leading axis only. All items used the same
    matrices, so the gradients of all items add up."""
    grad_x, grads = reference.swiglu_backward(grad_output, cache)
    if grad_output.ndim > 1:
        x, gate, up, params = cache
        _, grads = reference.swiglu_backward(grad_output[0], (x[0], gate[0], up[0], params))
    return grad_x, grads


@swiglu_backward.mistake("averages over the rows")
def averaged(grad_output, cache):
    """Your gradients of the matrices are means over the rows. The loss depends on a matrix by every row, and the
    gradients of all rows add up."""
    grad_x, grads = reference.swiglu_backward(grad_output, cache)
    n_rows = max(1, grad_output.size // grad_output.shape[-1])
    return grad_x, {name: grad / grad.dtype.type(n_rows) for name, grad in grads.items()}


@swiglu_backward.mistake("overflows far from zero")
def overflowing(grad_output, cache):
    """exp(x) is infinite for x above 709, and your slope is then NaN, for example infinity over infinity. Compute the
    slope from the sigmoid, which stays between 0 and 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        small = np.exp(-cache[1])
        slope = (1 + small + cache[1] * small) / (1 + small) ** 2
    return summed(grad_output, cache, slope=lambda *parts: slope)


@swiglu_backward.equivalent
def from_the_left(grad_output, cache):
    x, gate, up, params = cache
    with np.errstate(over="ignore"):
        opening = 1 / (1 + np.exp(-gate))
    rows = tuple(range(x.ndim - 1))
    grad_hidden = grad_output @ params["w_down"].T
    grad_gate = grad_hidden * up * opening * (1 + gate * (1 - opening))
    grad_up = grad_hidden * gate * opening
    return grad_gate @ params["w_gate"].T + grad_up @ params["w_up"].T, {
        "w_down": np.tensordot(gate * opening * up, grad_output, (rows, rows)),
        "w_gate": np.tensordot(x, grad_gate, (rows, rows)),
        "w_up": np.tensordot(x, grad_up, (rows, rows)),
    }


@swiglu_backward.equivalent
def both_at_once(grad_output, cache):
    """Put the two matrices side by side, and go back through both in one product."""
    x, gate, up, params = cache
    half = np.tanh(gate / 2)
    silu, slope = gate * (1 + half) / 2, (1 + half) / 2 + gate * (1 - half * half) / 4
    grad_hidden, grad_w_down, _ = linear_backward(grad_output, (silu * up, params["w_down"]))
    both = np.concatenate([grad_hidden * up * slope, grad_hidden * silu], axis=-1)
    matrices = np.concatenate([params["w_gate"], params["w_up"]], axis=-1)
    grad_x, grad_both, _ = linear_backward(both, (x, matrices))
    grad_w_gate, grad_w_up = np.split(grad_both, 2, axis=-1)
    return grad_x, {"w_gate": grad_w_gate, "w_up": grad_w_up, "w_down": grad_w_down}


@swiglu_backward.equivalent
def row_by_row(grad_output, cache):
    x, gate, up, params = cache
    grad_x, grads = np.zeros_like(x), {name: np.zeros_like(array) for name, array in params.items()}
    for index in np.ndindex(x.shape[:-1]):
        opening = reference.sigmoid(gate[index])
        silu = gate[index] * opening
        grads["w_down"] += np.outer(silu * up[index], grad_output[index])
        arrived = params["w_down"] @ grad_output[index]
        for name, grad in (
            ("w_up", arrived * silu),
            ("w_gate", arrived * up[index] * (opening + silu * (1 - opening))),
        ):
            grads[name] += np.outer(x[index], grad)
            grad_x[index] += params[name] @ grad
    return grad_x, grads
