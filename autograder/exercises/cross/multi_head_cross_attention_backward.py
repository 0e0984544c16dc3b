import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from autograder.exercises.cross.shared import thinned, with_heads
from autograder.exercises.multihead.multi_head_attention_backward import (
    back_by_einsum,
    back_head_by_head,
    back_through_the_jacobian,
)
from solutions import cross as reference
from solutions.multihead import multi_head_attention, multi_head_attention_backward

multi_head_cross_attention_backward = Exercise(
    reference.multi_head_cross_attention_backward,
    outputs={"grad_x": "... T d_model", "grad_memory": "... T_memory d_memory", "grad_params": ""},
    order=("grad_params", "grad_x", "grad_memory"),
    section="Many heads, by reuse",
)
wrong = short_mistakes(multi_head_cross_attention_backward)


def asked(draw, *sizes, **options):
    """Return a random cotangent and the cache of the forward pass."""
    x, memory, *rest = with_heads(draw, *sizes, **options).values()
    output, cache = multi_head_attention(x, memory, memory, *rest)
    return {"grad_output": draw.normal(*output.shape, dtype=output.dtype), "cache": thinned(draw, cache)}


@multi_head_cross_attention_backward.cases("the idea", points=1)
def _(draw):
    yield "two sequences", asked(draw)
    yield "two sequences of one shape", asked(draw, is_square=True)


@multi_head_cross_attention_backward.cases("batches, masks and float32", points=1)
def _(draw):
    yield "one batch axis", asked(draw, 1)
    yield "two batch axes, with a mask", asked(draw, 2, masked=True)
    yield "float32", asked(draw, 1, np.float32)


def gradients(grad_output, cache, keys=1, values=1, heads_back=multi_head_attention_backward):
    """Return the gradients, perhaps without one of the two that come back to the memory."""
    grad_x, from_keys, from_values, grad_params = heads_back(grad_output, cache)
    return grad_x, keys * from_keys + values * from_values, grad_params


@multi_head_cross_attention_backward.mistake(
    "memory gradient through the values only", reread="Two gradients come back"
)
def heads_values_only(grad_output, cache):
    """Keys and values both came from the memory. You return only the gradient that comes back through the values: add
    both."""
    return gradients(grad_output, cache, keys=0)


wrong("heads_keys_only", gradients, values=0)("""
    memory gradient through the keys only -> Two gradients come back
    Keys and values both came from the memory. You return only the gradient that comes back through the keys: add
    both.""")


changed = changing(gradients)


wrong(
    "heads_roles_swapped", changed, change=lambda grad_x, grad_memory, grad_params: (grad_memory, grad_x, grad_params)
)("""
    swaps the roles of x and the memory -> Two gradients come back
    You swap the gradients of x and of the memory. The queries' gradient belongs to x.""")
wrong("memory_averaged", gradients, keys=0.5, values=0.5)("""
    averages the memory's two gradients -> Two gradients come back
    You take the mean of the two gradients that come back to the memory. If an array is used twice, its gradients add
    up.""")
wrong("all_to_one", changed, change=lambda x, memory, params: (x + memory, x + memory, params))("""
    adds all three gradients up -> Two gradients come back
    You add up the three gradients, as in self-attention. In self-attention one array has three roles; here x has one
    role and the memory has two.""")


@multi_head_cross_attention_backward.equivalent
def heads_in_turn(grad_output, cache):
    return gradients(grad_output, cache, heads_back=back_head_by_head)


@multi_head_cross_attention_backward.equivalent
def through_the_jacobian(grad_output, cache):
    return gradients(grad_output, cache, heads_back=back_through_the_jacobian)


@multi_head_cross_attention_backward.equivalent
def by_einsum(grad_output, cache):
    return gradients(grad_output, cache, heads_back=back_by_einsum)
