"""predicted_backward_shapes: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.backward.shared import turned
from solutions import attention as forward
from solutions import backward as reference

predicted_backward_shapes = Exercise(
    reference.predicted_backward_shapes,
    outputs={"shapes": "dict"},
    section="A ledger of shapes, both ways",
)

SIZES = ("n_batch", "T", "d_model", "d_key", "d_value")


@predicted_backward_shapes.cases("the shapes", points=2)
def _(draw):
    yield "five different sizes", dict(zip(SIZES, draw.sizes(5), strict=True))
    yield "five other sizes", dict(zip(SIZES, draw.sizes(5, low=8, high=40), strict=True))


@predicted_backward_shapes.cases("sizes of one", points=1)
def _(draw):
    for size in SIZES:
        yield f"{size} = 1", dict(zip(SIZES, draw.sizes(5), strict=True)) | {size: 1}


@predicted_backward_shapes.mistake("leaves the batch axis on the weight's gradient", reread="One weight, many rows")
def batch_on_the_weight(**sizes):
    """There is one w_key for the whole batch, of shape (d_model, d_key), and its gradient has that shape: the
    contributions of the sentences are added up."""
    right = reference.predicted_backward_shapes(**sizes)
    return right | {"grad_w_key": right["grad_w_key_of_each_sentence"]}


@predicted_backward_shapes.mistake("adds up what each sentence contributes", reread="One weight, many rows")
def contributions_added_up(**sizes):
    """The contributions are asked for *before* they are added up: one matrix of w_key's shape for each sentence, so the
    batch axis is still there."""
    right = reference.predicted_backward_shapes(**sizes)
    return right | {"grad_w_key_of_each_sentence": right["grad_w_key"]}


@predicted_backward_shapes.mistake("transposes the keys' gradient", reread="A gradient has the shape of its array")
def keys_gradient_turned(**sizes):
    """The keys are transposed inside the product, but their gradient has the shape of the keys themselves, (n_batch, T,
    d_key)."""
    wrong = (sizes["n_batch"], sizes["d_key"], sizes["T"])
    return reference.predicted_backward_shapes(**sizes) | {"grad_keys": wrong}


@predicted_backward_shapes.mistake(
    "gives the weight's gradient PyTorch's layout", reread="A gradient has the shape of its array"
)
def weight_gradient_as_in_torch(**sizes):
    """PyTorch keeps a linear layer's weight as (out, in). In this book a weight is (in, out), w_key is (d_model,
    d_key), and its gradient has the same shape."""
    return reference.predicted_backward_shapes(**sizes) | {"grad_w_key": (sizes["d_key"], sizes["d_model"])}


@predicted_backward_shapes.mistake(
    "sets the three ways back to x side by side", reread="Self-attention: three ways back to x"
)
def three_ways_side_by_side(**sizes):
    """Three gradients come back to x, and they are *added*, not set side by side: each has the shape of x, and so has
    their sum."""
    wrong = (sizes["n_batch"], sizes["T"], 3 * sizes["d_model"])
    return reference.predicted_backward_shapes(**sizes) | {"grad_x": wrong}


@predicted_backward_shapes.mistake(
    "gives the output's gradient the width of x", reread="A gradient has the shape of its array"
)
def output_as_wide_as_x(**sizes):
    """The output averages values, so it is d_value wide, and so is its gradient. Chapter 4 brings the width back to
    d_model, by one more projection."""
    wrong = (sizes["n_batch"], sizes["T"], sizes["d_model"])
    return reference.predicted_backward_shapes(**sizes) | {"grad_output": wrong}


@predicted_backward_shapes.mistake(
    "makes the values as wide as the keys", reread="A gradient has the shape of its array"
)
def values_as_wide_as_keys(**sizes):
    """w_value is (d_model, d_value), so a value is d_value wide, and so are its gradient and that of the output.
    Queries and keys share d_key; the values need not."""
    wrong = (sizes["n_batch"], sizes["T"], sizes["d_key"])
    return reference.predicted_backward_shapes(**sizes) | {"grad_output": wrong, "grad_values": wrong}


@predicted_backward_shapes.mistake("leaves out the batch", reread="A gradient has the shape of its array")
def without_the_batch(**sizes):
    """These are the shapes for one sentence. Whatever is made of x has its batch axis in front, and so has its
    gradient; only the projections are shared by the whole batch."""
    right = reference.predicted_backward_shapes(**sizes)
    return {name: shape if name == "grad_w_key" else shape[1:] for name, shape in right.items()}


@predicted_backward_shapes.mistake(
    "counts one softmax for each sentence", reread="The softmax Jacobian, and why one never builds it"
)
def one_jacobian_for_each_sentence(**sizes):
    """There is a softmax for each *row* of the scores, so for each query, and its Jacobian holds the slope of T weights
    by T scores: (n_batch, T, T, T). Three times T is why nobody builds them."""
    wrong = (sizes["n_batch"], sizes["T"], sizes["T"])
    return reference.predicted_backward_shapes(**sizes) | {"softmax_jacobians": wrong}


@predicted_backward_shapes.mistake(
    "lets the rows of a softmax depend on each other", reread="The softmax Jacobian, and why one never builds it"
)
def one_jacobian_for_all(**sizes):
    """A weight depends on the scores of its *own* row alone; those of other rows and other sentences have no effect,
    and the question asks for the own row only. One T by T matrix for each row is enough."""
    wrong = (sizes["n_batch"], sizes["T"], sizes["T"]) * 2
    return reference.predicted_backward_shapes(**sizes) | {"softmax_jacobians": wrong}


@predicted_backward_shapes.equivalent
def by_trying(n_batch, T, d_model, d_key, d_value):
    x = np.ones((n_batch, T, d_model))
    projections = [np.ones((d_model, width)) for width in (d_key, d_key, d_value)]
    output, cache = forward.self_attention(x, *projections)
    grad_x, _, grad_w_key, _ = reference.self_attention_backward(output, cache)
    _, keys, values, weights = cache[4]
    return {
        "grad_output": output.shape,
        "grad_values": values.shape,
        "grad_weights": (output @ turned(values)).shape,
        "grad_scores": weights.shape,
        "grad_keys": keys.shape,
        "grad_w_key": grad_w_key.shape,
        "grad_w_key_of_each_sentence": (turned(x) @ keys).shape,
        "grad_x": grad_x.shape,
        "softmax_jacobians": (weights[..., None] * np.eye(T)).shape,
    }


@predicted_backward_shapes.equivalent
def as_lists(**sizes):
    return {name: list(shape) for name, shape in reference.predicted_backward_shapes(**sizes).items()}


@predicted_backward_shapes.equivalent
def in_another_order(**sizes):
    return dict(reversed(reference.predicted_backward_shapes(**sizes).items()))
