"""decoder_layer_backward: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.cross.shared import thinned, to_decode
from autograder.exercises.multihead.multi_head_attention_backward import back_by_einsum, back_head_by_head
from autograder.exercises.residual.add_norm_backward import (
    add_norm_by_jacobian,
    add_norm_by_rows,
    dropout_forgotten,
    round_the_norm,
)
from autograder.exercises.residual.feed_forward_backward import by_sign
from solutions import cross as reference
from solutions.multihead import multi_head_attention_backward
from solutions.residual import add_norm_backward, feed_forward_backward

decoder_layer_backward = Exercise(
    reference.decoder_layer_backward,
    outputs={"grad_x": "... T d_model", "grad_memory": "... T_memory d_model", "grad_params": ""},
    order=("grad_params", "grad_memory", "grad_x"),
    section="The decoder layer, walked backwards",
    uses=("multi_head_cross_attention_backward",),
)


def decoded(draw, *given, rate=0.0, **options):
    """A random cotangent, and the cache of a layer, both of its attentions thinned."""
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
    """The layer backwards; a path named in keep with 0 is left out."""

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


@decoder_layer_backward.mistake("memory gradient through the values only", reread="Two gradients come back")
def layer_values_only(grad_output, cache):
    """The memory's gradient lacks what comes back through the keys. The encoder would learn what to hand over, but not
    how to be found."""
    return gradients(grad_output, cache, keys=0)


@decoder_layer_backward.mistake("memory gradient through the keys only", reread="Two gradients come back")
def layer_keys_only(grad_output, cache):
    """The memory's gradient lacks what comes back through the values. Add both."""
    return gradients(grad_output, cache, values=0)


@decoder_layer_backward.mistake("swaps the roles of x and the memory")
def layer_roles_swapped(grad_output, cache):
    """The gradients of x and of the memory are swapped. Only equal lengths hide this mistake."""
    grad_x, grad_memory, grad_params = gradients(grad_output, cache)
    return grad_memory, grad_x, grad_params


@decoder_layer_backward.mistake("loses the queries' path through the cross-attention")
def queries_lost(grad_output, cache):
    """At the cross-attention only the residual path goes on towards x. The stream was also the *query* there, so add
    the query's gradient."""
    return gradients(grad_output, cache, asked=0)


@decoder_layer_backward.mistake("loses the residual path past the cross-attention")
def not_past_the_cross(grad_output, cache):
    """At the cross-attention only the queries' gradient goes on. The stream also went past the cross-attention, so add
    the gradient of that path."""
    return gradients(grad_output, cache, past_2=0)


@decoder_layer_backward.mistake("loses the residual path past the feed-forward")
def not_past_the_thinking(grad_output, cache):
    """Below the feed-forward only the gradient that came through it goes on. The stream also went past the
    feed-forward, so add the gradient of that path."""
    return gradients(grad_output, cache, past_3=0)


@decoder_layer_backward.mistake("loses the path through the feed-forward")
def not_through_the_thinking(grad_output, cache):
    """You do not add the gradient that comes back through the feed-forward to its input."""
    return gradients(grad_output, cache, thought=0)


@decoder_layer_backward.mistake("loses the residual path past the self-attention")
def not_past_the_attention(grad_output, cache):
    """grad_x lacks what came past the self-attention. The gradients of all parameters are right, so this layer learns,
    but the layers below do not."""
    return gradients(grad_output, cache, past_1=0)


@decoder_layer_backward.mistake("keeps the queries' gradient alone")
def own_queries_only(grad_output, cache):
    """In the *self*-attention x has three roles, and all three gradients belong to it. Only in the cross-attention is
    the stream the query alone."""
    return gradients(grad_output, cache, k=0, v=0)


@decoder_layer_backward.mistake("gives the first norm the third norm's gradient")
def norms_confused(grad_output, cache):
    """The gradients of norm_attention and norm_feed_forward are swapped. On the way back, the feed-forward's norm comes
    first."""
    grad_x, grad_memory, grads = gradients(grad_output, cache)
    other = {"norm_attention": grads["norm_feed_forward"], "norm_feed_forward": grads["norm_attention"]}
    return grad_x, grad_memory, grads | other


@decoder_layer_backward.mistake("forgets that x was the queries")
def without_queries(grad_output, cache):
    """In the *self*-attention x has three roles: query, key and value. The queries' gradient is not added into
    grad_x."""
    return gradients(grad_output, cache, q=0)


@decoder_layer_backward.mistake("forgets that x was the keys")
def without_keys(grad_output, cache):
    """In the *self*-attention x has three roles: query, key and value. The keys' gradient is not added into grad_x."""
    return gradients(grad_output, cache, k=0)


@decoder_layer_backward.mistake("forgets that x was the values")
def without_values(grad_output, cache):
    """In the *self*-attention x has three roles: query, key and value. The values' gradient is not added into
    grad_x."""
    return gradients(grad_output, cache, v=0)


@decoder_layer_backward.mistake("averages the memory's two gradients", reread="Two gradients come back")
def layer_memory_averaged(grad_output, cache):
    """You take the mean of what comes back through the memory's keys and through its values. Where an array was used
    twice, its gradients add up."""
    return gradients(grad_output, cache, keys=0.5, values=0.5)


@decoder_layer_backward.mistake("goes round the norms")
def past_the_norms(grad_output, cache):
    """Along the residual connections the gradient passes as it came. That is so in a pre-norm layer; in post-norm a
    norm follows each sum, and *both* paths go through it."""
    return gradients(grad_output, cache, add_norm_back=round_the_norm)


@decoder_layer_backward.mistake("forgets dropout in the backward pass")
def without_dropout_back(grad_output, cache):
    """The sub-layers get gradients where dropout has zeroed their outputs. Dropout multiplies by the same factors in
    both passes. Without dropout this does not show."""
    return gradients(grad_output, cache, add_norm_back=dropout_forgotten)


@decoder_layer_backward.equivalent
def heads_in_turn(grad_output, cache):
    return gradients(grad_output, cache, heads_back=back_head_by_head)


@decoder_layer_backward.equivalent
def by_rows(grad_output, cache):
    return gradients(grad_output, cache, add_norm_back=add_norm_by_rows, heads_back=back_by_einsum)


@decoder_layer_backward.equivalent
def by_jacobians(grad_output, cache):
    return gradients(grad_output, cache, add_norm_back=add_norm_by_jacobian, feed_back=by_sign)
