"""multi_head_cross_attention_backward: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
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


def asked(draw, *sizes, **options):
    """A random cotangent, and the cache of the forward pass."""
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
    """The gradients; one of the two that come back to the memory may be left out."""
    grad_x, from_keys, from_values, grad_params = heads_back(grad_output, cache)
    return grad_x, keys * from_keys + values * from_values, grad_params


@multi_head_cross_attention_backward.mistake(
    "memory gradient through the values only", reread="Two gradients come back"
)
def heads_values_only(grad_output, cache):
    """Keys and values both came from the memory. You return only the gradient that comes back through the values: add
    both."""
    return gradients(grad_output, cache, keys=0)


@multi_head_cross_attention_backward.mistake("memory gradient through the keys only", reread="Two gradients come back")
def heads_keys_only(grad_output, cache):
    """Keys and values both came from the memory. You return only the gradient that comes back through the keys: add
    both."""
    return gradients(grad_output, cache, values=0)


@multi_head_cross_attention_backward.mistake("swaps the roles of x and the memory", reread="Two gradients come back")
def heads_roles_swapped(grad_output, cache):
    """The gradients of x and of the memory are swapped. The queries' gradient belongs to x."""
    grad_x, grad_memory, grad_params = gradients(grad_output, cache)
    return grad_memory, grad_x, grad_params


@multi_head_cross_attention_backward.mistake("averages the memory's two gradients", reread="Two gradients come back")
def memory_averaged(grad_output, cache):
    """You take the mean of the two gradients that come back to the memory. Where an array was used twice, its gradients
    add up."""
    return gradients(grad_output, cache, keys=0.5, values=0.5)


@multi_head_cross_attention_backward.mistake("adds all three gradients up", reread="Two gradients come back")
def all_to_one(grad_output, cache):
    """The three gradients are added up, as in self-attention. There one array had three roles; here x had one and the
    memory two."""
    grad_x, grad_memory, grad_params = gradients(grad_output, cache)
    total = grad_x + grad_memory
    return total, total, grad_params


@multi_head_cross_attention_backward.equivalent
def heads_in_turn(grad_output, cache):
    return gradients(grad_output, cache, heads_back=back_head_by_head)


@multi_head_cross_attention_backward.equivalent
def through_the_jacobian(grad_output, cache):
    return gradients(grad_output, cache, heads_back=back_through_the_jacobian)


@multi_head_cross_attention_backward.equivalent
def by_einsum(grad_output, cache):
    return gradients(grad_output, cache, heads_back=back_by_einsum)
