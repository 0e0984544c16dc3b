import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from autograder.exercises.cross.shared import thinned, to_decode
from autograder.exercises.multihead.multi_head_attention_backward import back_by_einsum, back_head_by_head
from autograder.exercises.residual.add_norm_backward import add_norm_by_jacobian, add_norm_by_rows
from autograder.exercises.residual.feed_forward_backward import by_sign
from solutions import cross as reference
from solutions.multihead import multi_head_attention_backward
from solutions.residual import add_norm_backward, feed_forward_backward

decoder_layer_backward = Exercise(
    reference.decoder_layer_backward,
    outputs={"grad_x": "... T d_model", "grad_memory": "... T_memory d_model", "grad_params": ""},
    order=("grad_params", "grad_memory", "grad_x"),
    section="The decoder layer, walked backwards",
)
wrong = short_mistakes(decoder_layer_backward)


def decoded(draw, *given, rate=0.0, **options):
    """Return a random cotangent and the cache of a layer, in which no row of attention weights adds up to one."""
    rng = np.random.default_rng(draw.size(0, 10_000)) if rate else None
    output, cache = reference.decoder_layer(**to_decode(draw, *given, **options), rate=rate, rng=rng)
    attention, norm, cross, *rest = cache
    cache = (thinned(draw, attention), norm, thinned(draw, cross), *rest)
    return {"grad_output": draw.normal(*output.shape, dtype=output.dtype), "cache": cache}


@decoder_layer_backward.cases("the idea", points=4)
def _(draw):
    yield "two sequences", decoded(draw)
    yield "two sequences of one length", decoded(draw, equally_long=True)


@decoder_layer_backward.cases("batches, masks, float32 and dropout", points=2)
def _(draw):
    yield "both masks", decoded(draw, 1, masked=True)
    yield "two batch axes", decoded(draw, 2)
    yield "float32", decoded(draw, 1, np.float32)
    yield "dropout", decoded(draw, 1, rate=0.3)


def gradients(
    grad_output, cache, add_norm_back=add_norm_backward, heads_back=multi_head_attention_backward,
    feed_back=feed_forward_backward, **keep,
):  # fmt: skip
    """Run the backward pass of the layer. A 0 in `keep` leaves out a path."""

    def kept(path, gradient):
        return gradient * keep.get(path, 1)

    attention, norm_1, cross, norm_2, thought, norm_3 = cache
    past, update, grad_norm_3 = add_norm_back(grad_output, norm_3)
    through, grad_thought = feed_back(update, thought)
    past, update, grad_norm_2 = add_norm_back(kept("past_3", past) + kept("thought", through), norm_2)
    through, keys, values, grad_cross = heads_back(update, cross)
    past, update, grad_norm_1 = add_norm_back(kept("past_2", past) + kept("asked", through), norm_1)
    q, k, v, grad_attention = heads_back(update, attention)
    grad_x = kept("past_1", past) + kept("q", q) + kept("k", k) + kept("v", v)
    return (
        grad_x,
        kept("keys", keys) + kept("values", values),
        {
            "attention": grad_attention,
            "norm_attention": grad_norm_1,
            "cross_attention": grad_cross,
            "norm_cross_attention": grad_norm_2,
            "feed_forward": grad_thought,
            "norm_feed_forward": grad_norm_3,
        },
    )


wrong(
    "layer_roles_swapped", changing(gradients), change=lambda grad_x, grad_memory, grads: (grad_memory, grad_x, grads)
)("""
    swaps the roles of x and the memory
    You swap the gradients of x and of the memory. Only equal lengths hide this mistake.""")
wrong("queries_lost", gradients, asked=0)("""
    loses the queries' path through the cross-attention
    At the cross-attention, you pass back only the gradient of the residual path. The stream was also the *query* there,
    so add the query's gradient.""")
wrong("not_past_the_cross", gradients, past_2=0)("""
    loses the residual path past the cross-attention
    At the cross-attention, you pass back only the queries' gradient. The stream also went past the cross-attention, so
    add the gradient of that path.""")
wrong("not_past_the_thinking", gradients, past_3=0)("""
    loses the residual path past the feed-forward
    Below the feed-forward, you pass back only the gradient that came through it. The stream also went past the
    feed-forward, so add the gradient of that path.""")
wrong("not_through_the_thinking", gradients, thought=0)("""
    loses the path through the feed-forward
    You do not add the gradient that comes back through the feed-forward to its input.""")
wrong("not_past_the_attention", gradients, past_1=0)("""
    loses the residual path past the self-attention
    grad_x lacks the gradient of the residual path past the self-attention. The gradients of all parameters are right,
    so this layer learns, but the layers below do not.""")
wrong("own_queries_only", gradients, k=0, v=0)("""
    keeps the queries' gradient alone
    In the *self*-attention x has three roles, and all three gradients belong to it. Only in the cross-attention does
    the stream have a single role, the query.""")


@decoder_layer_backward.mistake("gives the first norm the third norm's gradient")
def norms_confused(grad_output, cache):
    """You swap the gradients of norm_attention and norm_feed_forward. In the backward pass, the feed-forward's norm
    comes first."""
    grad_x, grad_memory, grads = gradients(grad_output, cache)
    other = {"norm_attention": grads["norm_feed_forward"], "norm_feed_forward": grads["norm_attention"]}
    return grad_x, grad_memory, grads | other


wrong("without_queries", gradients, q=0)("""
    forgets that x was the queries
    In the *self*-attention x has three roles: query, key and value. You do not add the queries' gradient to grad_x.""")
wrong("without_keys", gradients, k=0)("""
    forgets that x was the keys
    In the *self*-attention x has three roles: query, key and value. You do not add the keys' gradient to grad_x.""")
wrong("without_values", gradients, v=0)("""
    forgets that x was the values
    In the *self*-attention x has three roles: query, key and value. You do not add the values' gradient to grad_x.""")


@decoder_layer_backward.equivalent
def heads_in_turn(grad_output, cache):
    return gradients(grad_output, cache, heads_back=back_head_by_head)


@decoder_layer_backward.equivalent
def by_rows(grad_output, cache):
    return gradients(grad_output, cache, add_norm_back=add_norm_by_rows, heads_back=back_by_einsum)


@decoder_layer_backward.equivalent
def by_jacobians(grad_output, cache):
    return gradients(grad_output, cache, add_norm_back=add_norm_by_jacobian, feed_back=by_sign)
