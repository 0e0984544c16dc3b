import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.residual.add_norm_backward import (
    add_norm_by_jacobian,
    add_norm_by_rows,
    add_norm_by_statistics,
)
from autograder.exercises.residual.feed_forward_backward import by_sign
from autograder.exercises.residual.shared import generator, sentences, some_hidden
from solutions import residual as reference
from solutions.multihead import multi_head_attention_backward

encoder_layer_backward = Exercise(
    reference.encoder_layer_backward,
    outputs={"grad_x": "... T d_model", "grad_params": ""},
    order=("grad_params", "grad_x"),
    section="The encoder layer, walked backwards",
)
wrong = short_mistakes(encoder_layer_backward)


def encoded(draw, n_batch_axes=0, dtype=np.float64, rate=0.0, masked=False):
    """Return a cotangent, and the cache of a layer in which no row of attention weights adds up to one.

    If they did, the key bias's gradient would be only rounding, and right answers would differ.
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


def back(grad_output, cache, add_norm_back=reference.add_norm_backward, round_norm_2=False, round_norm_1=False, **keep):
    """Run the backward pass of the layer. A 0 in `keep` leaves out a path: past_2, thought, past_1, query, key, value.

    round_norm_2, round_norm_1: whether the gradient that arrives at the norm goes straight to the feed-forward, or to
    the attention.
    """

    def kept(path, gradient):
        return gradient * keep.get(path, 1)

    attention_cache, norm_1, thought_cache, norm_2 = cache
    past, update, grad_norm_2 = add_norm_back(grad_output, norm_2)
    through, grad_thought = reference.feed_forward_backward(grad_output if round_norm_2 else update, thought_cache)
    middle = kept("past_2", past) + kept("thought", through)
    past, update, grad_norm_1 = add_norm_back(middle, norm_1)
    *roles, grad_attention = multi_head_attention_backward(middle if round_norm_1 else update, attention_cache)
    query, key, value = (kept(name, grad) for name, grad in zip(("query", "key", "value"), roles, strict=True))
    parts = (grad_attention, grad_norm_1, grad_thought, grad_norm_2)
    names = ("attention", "norm_attention", "feed_forward", "norm_feed_forward")
    return kept("past_1", past) + query + key + value, dict(zip(names, parts, strict=True))


wrong("not_past_the_thinking", back, past_2=0)("""
    loses the residual path past the feed-forward
    Between the two sums, you keep only the gradient that came through the feed-forward. The stream also went past the
    feed-forward, and if an array is used twice, its gradients add up. All gradients before the feed-forward lack this
    part.""")
wrong("not_through_the_thinking", back, thought=0)("""
    loses the path through the feed-forward
    The gradient goes past the feed-forward and not through it: its own weights get their gradients, but you do not add
    the gradient that comes back to its input.""")
wrong("not_past_the_attention", back, past_1=0)("""
    loses the residual path past the attention
    grad_x contains the gradient that came through the attention, but not the gradient that came along the residual
    connection. The gradients of all parameters are right, so this layer learns, but the layers below do not.""")
wrong("not_through_the_attention", back, query=0, key=0, value=0)("""
    loses the path through the attention
    grad_x is only the gradient of the residual path. x went into the attention as well, in three roles.""")
wrong("without_keys", back, key=0)("""
    forgets that x was the keys
    In self-attention x has three roles: query, key and value. You do not add the keys' gradient to grad_x.""")
wrong("without_values", back, value=0)("""
    forgets that x was the values
    In self-attention x has three roles: query, key and value. You do not add the values' gradient to grad_x.""")
wrong("queries_only", back, key=0, value=0)("""
    keeps the queries' gradient alone
    Of the three roles of x, you add only the query's gradient to grad_x. multi_head_attention_backward returns the
    gradients of three inputs, and here all three are the same x.""")


@encoder_layer_backward.mistake("exchanges the two norms")
def grad_norms_exchanged(grad_output, cache):
    """You swap the gradients of the two norms. In the backward pass, the feed-forward's norm comes first."""
    grad_x, grads = reference.encoder_layer_backward(grad_output, cache)
    other = {"norm_attention": grads["norm_feed_forward"], "norm_feed_forward": grads["norm_attention"]}
    return grad_x, grads | other


@encoder_layer_backward.mistake("gives both norms one gradient")
def one_norm_for_both(grad_output, cache):
    """norm_attention gets the gradient of norm_feed_forward. Each norm was used once and has its own gradient."""
    grad_x, grads = reference.encoder_layer_backward(grad_output, cache)
    return grad_x, grads | {"norm_attention": grads["norm_feed_forward"]}


wrong("without_queries", back, query=0)("""
    forgets that x was the queries
    In self-attention x has three roles: query, key and value. You do not add the queries' gradient to grad_x.""")
wrong("thinking_round_the_norm", back, round_norm_2=True)("""
    gives the feed-forward the gradient that arrives at its norm
    The feed-forward's backward pass gets grad_output itself. A sum and a norm follow its output, so pass it what
    add_norm_backward returns for the *update*.""")
wrong("attention_round_the_norm", back, round_norm_1=True)("""
    gives the attention the gradient that arrives at its norm
    The attention's backward pass gets the gradient of the first norm's *output*. A sum and that norm follow the
    attention, so pass it what add_norm_backward returns for the update.""")


@encoder_layer_backward.equivalent
def by_jacobians(grad_output, cache):
    return back(grad_output, cache, add_norm_back=add_norm_by_jacobian)


@encoder_layer_backward.equivalent
def by_rows(grad_output, cache):
    return back(grad_output, cache, add_norm_back=add_norm_by_rows)


@encoder_layer_backward.equivalent
def by_statistics(grad_output, cache):
    attention_cache, norm_1, thought_cache, norm_2 = cache
    grad, update, grad_norm_2 = add_norm_by_statistics(grad_output, norm_2)
    through, grad_thought = by_sign(update, thought_cache)
    grad, update, grad_norm_1 = add_norm_by_statistics(grad + through, norm_1)
    *roles, grad_attention = multi_head_attention_backward(update, attention_cache)
    grad_params = {"norm_feed_forward": grad_norm_2, "feed_forward": grad_thought}
    grad_params |= {"norm_attention": grad_norm_1, "attention": grad_attention}
    return np.sum([grad, *roles], axis=0), grad_params
