"""Chapter 7, cross-attention and the decoder layer: cases, known mistakes and right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises import multihead as heads
from autograder.exercises import residual as wraps
from solutions import cross as reference
from solutions.attention import softmax
from solutions.backward import linear_backward
from solutions.masking import masked_attention, masked_attention_backward
from solutions.multihead import multi_head_attention, multi_head_attention_backward
from solutions.residual import (
    add_norm,
    add_norm_backward,
    dropout,
    feed_forward,
    feed_forward_backward,
    layer_norm,
)


def turned(array):
    """The last two axes exchanged; None stays None."""
    return None if array is None else array.swapaxes(-1, -2)


def visible(draw, batch, T, T_memory):
    """A mask in which most may be seen, another part in every row, and by every query the first two."""
    mask = draw.rng.random((*batch, T, T_memory)) < 0.6
    mask[..., :2] = True
    mask[..., 0, -1] = False
    return mask


# ------------------------------------------------------------------------------------------ cross_attention

cross_attention = Exercise(
    reference.cross_attention,
    outputs={"output": "... T d_value", "cache": UNJUDGED},
    section="Who asks, and who answers",
)


def two_sequences(draw, n_batch_axes=0, dtype=np.float64, same_width=0, **given):
    """Two sequences and their projections; no two sizes alike unless given."""
    names = ("T", "T_memory", "d_model", "d_memory", "d_key", "d_value")
    drawn = draw.sizes(6 + n_batch_axes, low=3, high=12)
    size = dict(zip(names, drawn, strict=False)) | given
    if same_width:
        size |= dict.fromkeys(names[2:], same_width)
    batch = tuple(drawn[6:])

    def weight(d_in, d_out):
        return (draw.normal(size[d_in], size[d_out]) / math.sqrt(size[d_in])).astype(dtype)

    return {
        "x": draw.normal(*batch, size["T"], size["d_model"], dtype=dtype),
        "memory": draw.normal(*batch, size["T_memory"], size["d_memory"], dtype=dtype),
        "w_query": weight("d_model", "d_key"),
        "w_key": weight("d_memory", "d_key"),
        "w_value": weight("d_memory", "d_value"),
        "mask": visible(draw, batch, size["T"], size["T_memory"]),
    }


def square(draw, n_batch_axes=0):
    """Both sequences equally long and wide, where some mistakes run that elsewhere stop with an error."""
    T = draw.size(4, 7)
    return two_sequences(draw, n_batch_axes, same_width=draw.size(4, 8), T=T, T_memory=T)


@cross_attention.cases("the idea", points=2)
def _(draw):
    inputs = square(draw)
    yield "everything may be seen", two_sequences(draw) | {"mask": np.ones((1, 1), bool)}
    yield "two sequences of one length", inputs | {"mask": np.ones((1, 1), bool)}
    yield "a long memory", two_sequences(draw, T=3, T_memory=13) | {"mask": np.ones((1, 1), bool)}


@cross_attention.cases("masks", points=1)
def _(draw):
    yield "a mask", two_sequences(draw)
    yield "a mask, sequences of one length", square(draw)
    inputs = two_sequences(draw)
    inputs["mask"][1] = False
    yield "a query that sees nothing", inputs


@cross_attention.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", two_sequences(draw, 1)
    yield "two batch axes", two_sequences(draw, 2)
    inputs = two_sequences(draw, 1)
    yield "a row of mask for each sentence", inputs | {"mask": inputs["mask"][..., :1, :]}
    yield "float32", two_sequences(draw, 1, np.float32)


@cross_attention.mistake("takes the keys from x")
def keys_from_x(x, memory, w_query, w_key, w_value, mask):
    """Your keys are made from x, the sequence that asks. A query must be held against what it looks *for*, and that is
    in the memory: K = memory @ w_key. (A published text writes so; with two sequences of one length it even runs.)
    Reread 'Who asks, and who answers'."""
    return masked_attention(x @ w_query, x @ w_key, memory @ w_value, mask)


@cross_attention.mistake("takes the values from x")
def values_from_x(x, memory, w_query, w_key, w_value, mask):
    """The memory is searched, and then x answers: your values are made from x. So nothing of the source reaches the
    output. Keys and values both come from the memory. Reread 'Who asks, and who answers'."""
    return masked_attention(x @ w_query, memory @ w_key, x @ w_value, mask)


@cross_attention.mistake("takes keys and values from x")
def only_x(x, memory, w_query, w_key, w_value, mask):
    """This is self-attention: the memory is never used. Only the queries come from x. Reread 'Who asks, and who
    answers'."""
    return masked_attention(x @ w_query, x @ w_key, x @ w_value, mask)


@cross_attention.mistake("lets the memory ask")
def memory_asks(x, memory, w_query, w_key, w_value, mask):
    """The roles are exchanged: the memory asks and x answers. The output has a row for each *query*, so as many rows as
    x. Reread 'Who asks, and who answers'."""
    return masked_attention(memory @ w_query, x @ w_key, x @ w_value, mask)


@cross_attention.mistake("exchanges w_key and w_value")
def weights_exchanged(x, memory, w_query, w_key, w_value, mask):
    """Keys are made with w_value and values with w_key. If d_key = d_value nothing complains. Reread 'Who asks, and who
    answers'."""
    return masked_attention(x @ w_query, memory @ w_value, memory @ w_key, mask)


@cross_attention.mistake("assumes that both sequences are equally long")
def square_only(x, memory, w_query, w_key, w_value, mask):
    """Your function runs only where T = T_memory. The scores are (T, T_memory), a rectangle; never write one length for
    both, nor take one from outside the function. (A published notebook reads the source's length from a global
    variable.) Reread 'A rectangle'."""
    T = x.shape[-2]
    keys, values = ((memory @ w).reshape(*x.shape[:-2], T, w.shape[-1]) for w in (w_key, w_value))
    return masked_attention(x @ w_query, keys, values, mask)


@cross_attention.mistake("leaves out the memory mask")
def mask_left_out(x, memory, w_query, w_key, w_value, mask):
    """The mask has no effect, so the decoder reads the source's padding. In a batch with sentences of one length nobody
    notices. Reread 'The memory mask'."""
    return masked_attention(x @ w_query, memory @ w_key, memory @ w_value, np.ones_like(mask))


@cross_attention.mistake("turns the memory mask round")
def mask_transposed(x, memory, w_query, w_key, w_value, mask):
    """The mask is transposed. Its rows are the queries, its columns the memory: (T, T_memory). Where both lengths agree
    the transpose fits, and hides the wrong words. Reread 'The memory mask'."""
    return masked_attention(x @ w_query, memory @ w_key, memory @ w_value, turned(mask))


@cross_attention.mistake("inverts the memory mask")
def mask_inverted(x, memory, w_query, w_key, w_value, mask):
    """What may be seen is hidden, and the padding is read. Here True means *may attend*. Reread 'The memory mask'."""
    return masked_attention(x @ w_query, memory @ w_key, memory @ w_value, ~mask)


@cross_attention.mistake("masks after the softmax")
def mask_late(x, memory, w_query, w_key, w_value, mask):
    """The weights are set to zero after the softmax, so the rows no longer add up to one. Mask the scores; chapter 3's
    `masked_attention` does. Reread 'The memory mask'."""
    queries, keys = x @ w_query, memory @ w_key
    weights = softmax(queries @ turned(keys) / math.sqrt(keys.shape[-1])) * mask
    return weights.astype(x.dtype) @ (memory @ w_value), None


@cross_attention.mistake("does not scale the scores")
def not_scaled(x, memory, w_query, w_key, w_value, mask):
    """The division by the root of d_key is missing. It is the same attention as ever, only its keys come from
    elsewhere. Reread 'Who asks, and who answers'."""
    return masked_attention(x @ w_query * math.sqrt(w_key.shape[-1]), memory @ w_key, memory @ w_value, mask)


@cross_attention.equivalent
def one_query_at_a_time(x, memory, w_query, w_key, w_value, mask):
    mask = np.broadcast_to(mask, (*x.shape[:-1], memory.shape[-2]))
    output = np.zeros((*x.shape[:-1], w_value.shape[-1]), x.dtype)
    for at in np.ndindex(x.shape[:-1]):
        seen = memory[at[:-1]][mask[at]]
        if len(seen):
            scores = seen @ w_key @ (x[at] @ w_query) / math.sqrt(w_key.shape[-1])
            output[at] = softmax(scores) @ (seen @ w_value)
    return output, "my own cache"


@cross_attention.equivalent
def by_einsum(x, memory, w_query, w_key, w_value, mask):
    scores = np.einsum("...qd,dk,ek,...me->...qm", x, w_query, w_key, memory) * w_key.shape[-1] ** -0.5
    weights = np.where(mask, np.exp(scores - scores.max(axis=-1, keepdims=True)), 0)
    total = weights.sum(axis=-1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    return np.einsum("...qm,...me,ev->...qv", weights, memory, w_value).astype(x.dtype), None


@cross_attention.equivalent
def values_projected_last(x, memory, w_query, w_key, w_value, mask):
    averaged, cache = masked_attention(x @ w_query, memory @ w_key, memory, mask)
    return [averaged @ w_value, cache]


# --------------------------------------------------------------------------------- cross_attention_backward

cross_attention_backward = Exercise(
    reference.cross_attention_backward,
    outputs={
        "grad_x": "... T d_model",
        "grad_memory": "... T_memory d_memory",
        "grad_w_query": "d_model d_key",
        "grad_w_key": "d_memory d_key",
        "grad_w_value": "d_memory d_value",
    },
    order=("grad_w_value", "grad_w_query", "grad_w_key", "grad_x", "grad_memory"),
    section="Two gradients come back",
)


def asked(draw, inputs):
    """A random cotangent, and the cache of the forward pass."""
    output, cache = reference.cross_attention(**inputs)
    return {"grad_output": draw.normal(*output.shape, dtype=output.dtype), "cache": cache}


@cross_attention_backward.cases("the idea", points=3)
def _(draw):
    yield "one sentence", asked(draw, two_sequences(draw) | {"mask": np.ones((1, 1), bool)})
    yield "two sequences of one length", asked(draw, square(draw))


@cross_attention_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", asked(draw, two_sequences(draw, 1))
    yield "two batch axes", asked(draw, two_sequences(draw, 2))


@cross_attention_backward.cases("masks and float32", points=1)
def _(draw):
    inputs = two_sequences(draw, 1)
    inputs["mask"][0] = False
    yield "a memory that is padding throughout", asked(draw, inputs)
    yield "float32", asked(draw, two_sequences(draw, 1, np.float32))


def asked_back(grad_output, cache, attention_back=masked_attention_backward, **kept):
    """The gradients, with parts left out (keys=0, values=0) or taken from the wrong input (query_of, key_of,
    value_of)."""
    x, memory, w_query, w_key, w_value, attention_cache = cache
    grad_queries, grad_keys, grad_values = attention_back(grad_output, attention_cache)
    grad_x, grad_w_query, _ = linear_backward(grad_queries, (kept.get("query_of", x), w_query))
    from_keys, grad_w_key, _ = linear_backward(grad_keys, (kept.get("key_of", memory), w_key))
    from_values, grad_w_value, _ = linear_backward(grad_values, (kept.get("value_of", memory), w_value))
    grad_memory = kept.get("keys", 1) * from_keys + kept.get("values", 1) * from_values
    return grad_x, grad_memory, grad_w_query, grad_w_key, grad_w_value


@cross_attention_backward.mistake("swaps the roles of x and the memory")
def roles_swapped(grad_output, cache):
    """The gradients of x and of the memory stand in each other's place. x was used once, for the queries; the memory
    twice, for keys and values. A toy with equal shapes does not notice. Reread 'Two gradients come back'."""
    grad_x, grad_memory, *rest = asked_back(grad_output, cache)
    return grad_memory, grad_x, *rest


@cross_attention_backward.mistake("gives the keys' gradient to x")
def keys_to_x(grad_output, cache):
    """What comes back through the keys is added to x. The keys were made from the memory, so it belongs there. Reread
    'Two gradients come back'."""
    x, memory, _, w_key, _, attention_cache = cache
    from_keys = masked_attention_backward(grad_output, attention_cache)[1] @ w_key.T
    grad_x, grad_memory, *rest = asked_back(grad_output, cache, keys=0)
    return grad_x + from_keys, grad_memory, *rest


@cross_attention_backward.mistake("memory gradient through the values only")
def memory_through_values(grad_output, cache):
    """The memory gets its gradient through the values only. It was used twice: as keys it also decided *where* the
    decoder looks. Without this term the encoder never learns to be found. Reread 'Two gradients come back'."""
    return asked_back(grad_output, cache, keys=0)


@cross_attention_backward.mistake("memory gradient through the keys only")
def memory_through_keys(grad_output, cache):
    """The memory gets its gradient through the keys only. It was used twice: as values it is what the decoder is
    handed. Add both. Reread 'Two gradients come back'."""
    return asked_back(grad_output, cache, values=0)


@cross_attention_backward.mistake("makes the gradients of w_key and w_value from x")
def weights_from_x(grad_output, cache):
    """The gradient of a weight is its input, transposed, times the gradient of its output. The input of w_key and
    w_value was the memory; you take x. It fits only where both have the same shape. Reread 'Two gradients come
    back'."""
    return asked_back(grad_output, cache, key_of=cache[0], value_of=cache[0])


@cross_attention_backward.mistake("makes the gradient of w_query from the memory")
def query_from_memory(grad_output, cache):
    """The gradient of w_query is built with the memory. The queries were made from x. Reread 'Two gradients come
    back'."""
    return asked_back(grad_output, cache, query_of=cache[1])


@cross_attention_backward.mistake("forgets the scale")
def scale_forgotten(grad_output, cache):
    """The factor 1/sqrt(d_key) is missing on the way back through the scores: the gradients of queries and keys are too
    large by the root of d_key. Reread 'Two gradients come back'."""

    def unscaled(grad, attention_cache):
        grad_queries, grad_keys, grad_values = masked_attention_backward(grad, attention_cache)
        root = math.sqrt(grad_keys.shape[-1])
        return grad_queries * root, grad_keys * root, grad_values

    return asked_back(grad_output, cache, unscaled)


@cross_attention_backward.mistake("does not transpose the scores' gradient for the keys")
def scores_not_turned(grad_output, cache):
    """For the keys the gradient of the scores must be transposed: dK = dS^T Q / sqrt(d_key). Yours is (T, T_memory)
    where (T_memory, T) is needed, and fits only a square. Reread 'Two gradients come back'."""

    def straight(grad, attention_cache):
        queries, keys, values, weights = attention_cache
        grad_queries, _, grad_values = masked_attention_backward(grad, attention_cache)
        grad_weights = grad @ turned(values)
        grad_scores = weights * (grad_weights - (grad_weights * weights).sum(axis=-1, keepdims=True))
        return grad_queries, grad_scores @ queries / math.sqrt(keys.shape[-1]), grad_values

    return asked_back(grad_output, cache, straight)


@cross_attention_backward.mistake("averages the weights' gradients over the batch")
def batch_averaged(grad_output, cache):
    """The gradients of the weights are divided by the number of sentences. The loss adds up, so its gradient adds up.
    Reread 'Two gradients come back'."""
    n = math.prod(grad_output.shape[:-2])
    grad_x, grad_memory, *grad_weights = asked_back(grad_output, cache)
    return grad_x, grad_memory, *(grad / n for grad in grad_weights)


@cross_attention_backward.equivalent
def back_by_einsum(grad_output, cache):
    x, memory, w_query, w_key, w_value, (queries, keys, values, weights) = cache
    to_weights = np.einsum("...qv,...mv->...qm", grad_output, values)
    scores = weights * (to_weights - np.einsum("...qm,...qm->...q", weights, to_weights)[..., None])
    scores = scores / math.sqrt(keys.shape[-1])
    to_queries, to_keys = (
        np.einsum("...qm,...mk->...qk", scores, keys),
        np.einsum("...qm,...qk->...mk", scores, queries),
    )
    to_values = np.einsum("...qm,...qv->...mv", weights, grad_output)
    return (
        to_queries @ w_query.T,
        to_values @ w_value.T + to_keys @ w_key.T,
        heads.as_rows(x).T @ heads.as_rows(to_queries),
        heads.as_rows(memory).T @ heads.as_rows(to_keys),
        heads.as_rows(memory).T @ heads.as_rows(to_values),
    )


@cross_attention_backward.equivalent
def back_from_one_product(grad_output, cache):
    x, memory, w_query, w_key, w_value, attention_cache = cache
    grads = masked_attention_backward(grad_output, attention_cache)
    both = np.concatenate(grads[1:], axis=-1)
    grad_memory = both @ np.concatenate([w_key, w_value], axis=1).T
    fused = heads.as_rows(memory).T @ heads.as_rows(both)
    d_key = w_key.shape[1]
    grad_w_query = heads.as_rows(x).T @ heads.as_rows(grads[0])
    return grads[0] @ w_query.T, grad_memory, grad_w_query, fused[:, :d_key], fused[:, d_key:]


@cross_attention_backward.equivalent
def back_sentence_by_sentence(grad_output, cache):
    x, memory, *weights, arrays = cache
    total = [np.zeros_like(array) for array in (x, memory, *weights)]
    for at in np.ndindex(x.shape[:-2]):
        one = (x[at], memory[at], *weights, tuple(array[at] for array in arrays))
        grad_x, grad_memory, *grads = asked_back(grad_output[at], one)
        total[0][at], total[1][at] = grad_x, grad_memory
        for sum_so_far, grad in zip(total[2:], grads, strict=True):
            sum_so_far += grad
    return total


# ------------------------------------------------------------------------------- multi_head_cross_attention

multi_head_cross_attention = Exercise(
    reference.multi_head_cross_attention,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="Many heads, by reuse",
)


def attention_params(draw, d_model, d_memory, dtype=np.float64):
    """Parameters of a multi-head attention between two sequences, biases and all."""
    widths = {"query": d_model, "key": d_memory, "value": d_memory, "output": d_model}
    weights = {f"w_{name}": draw.normal(width, d_model) / math.sqrt(width) for name, width in widths.items()}
    weights |= {f"b_{name}": draw.normal(d_model) for name in widths}
    return {name: array.astype(dtype) for name, array in weights.items()}


def with_heads(draw, n_batch_axes=0, dtype=np.float64, masked=False, is_square=False):
    """Two sequences and the parameters of several heads; no two sizes alike, unless square."""
    n_heads, d_head = [(2, 3), (2, 4), (3, 2), (3, 4)][draw.size(0, 4)]
    T, T_memory, *batch = draw.sizes(2 + n_batch_axes, low=3, high=8)
    d_model = n_heads * d_head
    d_memory = d_model if is_square else d_model + draw.size(1, 4)
    T_memory = T if is_square else T_memory
    inputs = {
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "memory": draw.normal(*batch, T_memory, d_memory, dtype=dtype),
        "params": attention_params(draw, d_model, d_memory, dtype),
        "n_heads": n_heads,
    }
    return inputs | ({"mask": visible(draw, batch, T, T_memory)} if masked else {})


@multi_head_cross_attention.cases("the idea", points=1)
def _(draw):
    yield "two sequences", with_heads(draw)
    yield "two sequences of one shape", with_heads(draw, is_square=True)


@multi_head_cross_attention.cases("batches, masks and float32", points=1)
def _(draw):
    yield "one batch axis", with_heads(draw, 1)
    yield "two batch axes, with a mask", with_heads(draw, 2, masked=True)
    yield "a mask, sequences of one shape", with_heads(draw, 1, masked=True, is_square=True)
    yield "float32", with_heads(draw, 1, np.float32, masked=True)


@multi_head_cross_attention.mistake("takes the keys from x")
def many_keys_from_x(x, memory, params, n_heads, mask=None):
    """You hand over (x, x, memory): the keys come from the sequence that asks. Both second and third input are the
    memory. Reread 'Who asks, and who answers'."""
    return multi_head_attention(x, x, memory, params, n_heads, mask)


@multi_head_cross_attention.mistake("takes the values from x")
def many_values_from_x(x, memory, params, n_heads, mask=None):
    """You hand over (x, memory, x): the memory is searched, and x answers. Nothing of the source reaches the output.
    Reread 'Who asks, and who answers'."""
    return multi_head_attention(x, memory, x, params, n_heads, mask)


@multi_head_cross_attention.mistake("never looks at the memory")
def many_only_x(x, memory, params, n_heads, mask=None):
    """You hand over (x, x, x), which is self-attention. Reread 'Who asks, and who answers'."""
    return multi_head_attention(x, x, x, params, n_heads, mask)


@multi_head_cross_attention.mistake("lets the memory ask")
def many_memory_asks(x, memory, params, n_heads, mask=None):
    """The roles are exchanged: the memory asks, and x answers. The output needs a row for each position of x. Reread
    'Who asks, and who answers'."""
    return multi_head_attention(memory, x, x, params, n_heads, mask)


@multi_head_cross_attention.mistake("leaves out the memory mask")
def many_mask_left_out(x, memory, params, n_heads, mask=None):
    """The mask is not handed on, so every head reads the padding of the source. Reread 'The memory mask'."""
    return multi_head_attention(x, memory, memory, params, n_heads)


@multi_head_cross_attention.mistake("turns the memory mask round")
def many_mask_transposed(x, memory, params, n_heads, mask=None):
    """The mask is transposed. Its rows are the queries, its columns the memory: (T, T_memory). Reread 'The memory
    mask'."""
    return multi_head_attention(x, memory, memory, params, n_heads, turned(mask))


@multi_head_cross_attention.equivalent
def many_head_by_head(x, memory, params, n_heads, mask=None):
    return heads.one_head_after_the_other(x, memory, memory, params, n_heads, mask)


@multi_head_cross_attention.equivalent
def many_by_einsum(x, memory, params, n_heads, mask=None):
    return heads.all_by_einsum(x, memory, memory, params, n_heads, mask)


@multi_head_cross_attention.equivalent
def many_with_low_scores(x, memory, params, n_heads, mask=None):
    return heads.with_large_negative_scores(x, memory, memory, params, n_heads, mask)


# ---------------------------------------------------------------------- multi_head_cross_attention_backward

multi_head_cross_attention_backward = Exercise(
    reference.multi_head_cross_attention_backward,
    outputs={"grad_x": "... T d_model", "grad_memory": "... T_memory d_memory", "grad_params": ""},
    order=("grad_params", "grad_x", "grad_memory"),
    section="Many heads, by reuse",
)


def thinned(draw, cache):
    """The cache of a multi-head attention whose rows of weights do not quite add up to one.

    With rows that do, the key bias's gradient is zero but for rounding, and no two right answers agree on it.
    """
    query, key, value, (queries, keys, values, weights), projected = cache
    factors = draw.rng.uniform(0.5, 0.9, (*weights.shape[:-1], 1))
    return query, key, value, (queries, keys, values, (weights * factors).astype(weights.dtype)), projected


def asked_by_heads(draw, *sizes, **options):
    """A random cotangent, and the cache of the forward pass."""
    output, cache = reference.multi_head_cross_attention(**with_heads(draw, *sizes, **options))
    return {"grad_output": draw.normal(*output.shape, dtype=output.dtype), "cache": thinned(draw, cache)}


@multi_head_cross_attention_backward.cases("the idea", points=1)
def _(draw):
    yield "two sequences", asked_by_heads(draw)
    yield "two sequences of one shape", asked_by_heads(draw, is_square=True)


@multi_head_cross_attention_backward.cases("batches, masks and float32", points=1)
def _(draw):
    yield "one batch axis", asked_by_heads(draw, 1)
    yield "two batch axes, with a mask", asked_by_heads(draw, 2, masked=True)
    yield "float32", asked_by_heads(draw, 1, np.float32)


def by_heads_back(grad_output, cache, keys=1, values=1, heads_back=multi_head_attention_backward):
    """The gradients; one of the two that come back to the memory may be left out."""
    grad_x, from_keys, from_values, grad_params = heads_back(grad_output, cache)
    return grad_x, keys * from_keys + values * from_values, grad_params


@multi_head_cross_attention_backward.mistake("memory gradient through the values only")
def heads_values_only(grad_output, cache):
    """The memory was the keys and the values; you return what comes back through the values. Add both. Reread 'Two
    gradients come back'."""
    return by_heads_back(grad_output, cache, keys=0)


@multi_head_cross_attention_backward.mistake("memory gradient through the keys only")
def heads_keys_only(grad_output, cache):
    """The memory was the keys and the values; you return what comes back through the keys. Add both. Reread 'Two
    gradients come back'."""
    return by_heads_back(grad_output, cache, values=0)


@multi_head_cross_attention_backward.mistake("swaps the roles of x and the memory")
def heads_roles_swapped(grad_output, cache):
    """The gradients of x and of the memory stand in each other's place. The queries' gradient belongs to x. Reread 'Two
    gradients come back'."""
    grad_x, grad_memory, grad_params = by_heads_back(grad_output, cache)
    return grad_memory, grad_x, grad_params


@multi_head_cross_attention_backward.mistake("averages the memory's two gradients")
def memory_averaged(grad_output, cache):
    """You take the mean of the two gradients that come back to the memory. Where an array was used twice, its gradients
    add up. Reread 'Two gradients come back'."""
    return by_heads_back(grad_output, cache, keys=0.5, values=0.5)


@multi_head_cross_attention_backward.mistake("adds all three gradients up")
def all_to_one(grad_output, cache):
    """The three gradients are added up, as in self-attention. There one array had three roles; here x had one and the
    memory two. Reread 'Two gradients come back'."""
    grad_x, grad_memory, grad_params = by_heads_back(grad_output, cache)
    total = grad_x + grad_memory
    return total, total, grad_params


@multi_head_cross_attention_backward.equivalent
def heads_in_turn(grad_output, cache):
    return by_heads_back(grad_output, cache, heads_back=heads.back_head_by_head)


@multi_head_cross_attention_backward.equivalent
def heads_through_the_jacobian(grad_output, cache):
    return by_heads_back(grad_output, cache, heads_back=heads.back_through_the_jacobian)


@multi_head_cross_attention_backward.equivalent
def heads_by_einsum(grad_output, cache):
    return by_heads_back(grad_output, cache, heads_back=heads.back_by_einsum)


# ----------------------------------------------------------------------------------- predicted_cross_shapes

predicted_cross_shapes = Exercise(
    reference.predicted_cross_shapes, outputs={"shapes": ""}, section="Predict the shapes"
)


def sizes(draw, **given):
    """Sizes, no two alike unless given; n_heads divides d_model."""
    n_batch, T, T_memory, n_heads, d_head = draw.sizes(5)
    d_model = n_heads * d_head
    drawn = {"n_batch": n_batch, "T": T, "T_memory": T_memory, "d_model": d_model, "d_memory": d_model + 1}
    return drawn | {"n_heads": n_heads} | given


@predicted_cross_shapes.cases("any sizes", points=1)
def _(draw):
    yield "some sizes", sizes(draw)
    yield "other sizes", sizes(draw)


@predicted_cross_shapes.cases("sizes of one", points=1)
def _(draw):
    yield "the first word of a translation", sizes(draw, T=1)
    yield "a single head", sizes(draw, n_heads=1)


@predicted_cross_shapes.mistake("turns the rectangle round")
def rectangle_turned(**sizes):
    """A row of the weights belongs to a query: T comes before T_memory. Reread 'A rectangle'."""
    right = reference.predicted_cross_shapes(**sizes)
    *first, T, T_memory = right["weights"]
    return right | {"weights": (*first, T_memory, T)}


@predicted_cross_shapes.mistake("gives the output a row for each position of the memory")
def rows_of_memory(**sizes):
    """Every query gets one answer, however long the memory is: the output has the shape of x. Reread 'A rectangle'."""
    right = reference.predicted_cross_shapes(**sizes)
    return right | {"output": (sizes["n_batch"], sizes["T_memory"], sizes["d_model"])}


@predicted_cross_shapes.mistake("takes the memory to be as wide as x")
def one_width(**sizes):
    """w_key takes the memory in, which has d_memory features, and the memory's gradient has the memory's shape. Only
    the *projected* queries and keys must agree in width. Reread 'A rectangle'."""
    right = reference.predicted_cross_shapes(**sizes)
    n_batch, T_memory, d_model = (sizes[name] for name in ("n_batch", "T_memory", "d_model"))
    return right | {"w_key": (d_model, d_model), "grad_memory": (n_batch, T_memory, d_model)}


@predicted_cross_shapes.mistake("masks the padding of the target")
def padding_of_x(**sizes):
    """The padding that must be hidden is the memory's: its columns. One row serves all queries. Reread 'The memory
    mask'."""
    return reference.predicted_cross_shapes(**sizes) | {"padding": (sizes["n_batch"], sizes["T"], 1)}


# -------------------------------------------------------------------------------------------- decoder_layer

decoder_layer = Exercise(
    reference.decoder_layer,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="The decoder layer",
    uses=("multi_head_cross_attention",),
)


def layer_params(draw, d_model, dtype=np.float64):
    """All parameters of a decoder layer; its norms have left their fresh ones and zeros."""
    return {
        "attention": attention_params(draw, d_model, d_model, dtype),
        "norm_attention": wraps.norm_params(draw, d_model, dtype),
        "cross_attention": attention_params(draw, d_model, d_model, dtype),
        "norm_cross_attention": wraps.norm_params(draw, d_model, dtype),
        "feed_forward": wraps.feed_forward_params(draw, d_model, dtype),
        "norm_feed_forward": wraps.norm_params(draw, d_model, dtype),
    }


def to_decode(draw, n_batch_axes=0, dtype=np.float64, masked=False, equally_long=False):
    """A decoder layer's inputs; d_model is that of both sequences, and their lengths differ unless asked."""
    n_heads, d_head = [(2, 3), (2, 4), (3, 2), (3, 4)][draw.size(0, 4)]
    T, T_memory, *batch = draw.sizes(2 + n_batch_axes, low=3, high=7)
    T_memory = T if equally_long else T_memory
    d_model = n_heads * d_head
    inputs = {
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "memory": draw.normal(*batch, T_memory, d_model, dtype=dtype),
        "params": layer_params(draw, d_model, dtype),
        "n_heads": n_heads,
    }
    if masked:
        inputs["self_mask"] = np.tril(np.ones((T, T), bool))
        inputs["memory_mask"] = visible(draw, batch, T, T_memory)
    return inputs


@decoder_layer.cases("the idea", points=3)
def _(draw):
    yield "two sequences", to_decode(draw)
    yield "two sequences of one length", to_decode(draw, equally_long=True)


@decoder_layer.cases("masks", points=1)
def _(draw):
    yield "both masks", to_decode(draw, 1, masked=True)
    yield "both masks, sequences of one length", to_decode(draw, 1, masked=True, equally_long=True)
    inputs = to_decode(draw, 1, masked=True)
    inputs["memory_mask"][0] = False
    yield "a memory that is padding throughout", inputs


@decoder_layer.cases("batches, float32 and dropout", points=1)
def _(draw):
    yield "two batch axes", to_decode(draw, 2)
    yield "float32", to_decode(draw, 1, np.float32, masked=True)
    yield "dropout", to_decode(draw, 1) | {"rate": 0.3, "rng": np.random.default_rng(draw.size(0, 10_000))}


STEPS = (("attention", "x"), ("cross_attention", "memory"), ("feed_forward", None))


def layered(
    x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None, *,
    steps=STEPS, norms=None, add=add_norm, keys="memory", values="memory",
    feed=feed_forward, attend=multi_head_attention,
):  # fmt: skip
    """The decoder layer, with another order, other norms (by the sub-layer's name), or other sources."""
    norms = norms or {}
    for name, _ in steps:
        if name == "feed_forward":
            update, _ = feed(x, params[name])
        elif name == "attention":
            update, _ = attend(x, x, x, params[name], n_heads, self_mask)
        else:
            sources = {"x": x, "memory": memory}
            update, _ = attend(x, sources[keys], sources[values], params[name], n_heads, memory_mask)
        x, _ = add(x, update, params[f"norm_{norms.get(name, name)}"], rate, rng)
    return x, None


@decoder_layer.mistake("never uses the third norm")
def first_norm_twice(*inputs, **named):
    """norm_attention stands behind the feed-forward as well, and norm_feed_forward is never used. Fresh norms are all
    alike, so a comparison with a fresh layer passes; after training it does not, and the third norm never learns. (A
    published decoder does this.) Reread 'The decoder layer'."""
    return layered(*inputs, **named, norms={"feed_forward": "attention"})


@decoder_layer.mistake("uses the first norm for the cross-attention too")
def first_norm_for_cross(*inputs, **named):
    """norm_attention stands behind both attentions, and norm_cross_attention is never used. Each sub-layer has a
    norm of its own. Reread 'The decoder layer'."""
    return layered(*inputs, **named, norms={"cross_attention": "attention"})


@decoder_layer.mistake("puts cross-attention before self-attention")
def cross_first(*inputs, **named):
    """You look at the source before you have looked at what is written. A query for the source needs to know what came
    before, so self-attention is first. All shapes agree either way. Reread 'The decoder layer'."""
    return layered(*inputs, **named, steps=(STEPS[1], STEPS[0], STEPS[2]))


@decoder_layer.mistake("thinks before it asks the memory")
def thinks_too_early(*inputs, **named):
    """The feed-forward stands between the two attentions. It comes last, when all has been gathered. Reread 'The
    decoder layer'."""
    return layered(*inputs, **named, steps=(STEPS[0], STEPS[2], STEPS[1]))


@decoder_layer.mistake("leaves out the cross-attention")
def no_cross(*inputs, **named):
    """The memory is never used: this is an encoder layer. The decoder would write without reading the source. Reread
    'The decoder layer'."""
    return layered(*inputs, **named, steps=(STEPS[0], STEPS[2]))


@decoder_layer.mistake("takes the memory's keys from x")
def layer_keys_from_x(*inputs, **named):
    """In the cross-attention the keys come from the decoder. Keys and values are both made from the memory. Reread 'Who
    asks, and who answers'."""
    return layered(*inputs, **named, keys="x")


@decoder_layer.mistake("takes the memory's values from x")
def layer_values_from_x(*inputs, **named):
    """In the cross-attention the values come from the decoder, so it searches the source and hears itself. Keys and
    values are both made from the memory. Reread 'Who asks, and who answers'."""
    return layered(*inputs, **named, values="x")


@decoder_layer.mistake("leaves out the memory mask")
def layer_without_memory_mask(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """memory_mask does not reach the cross-attention, so the decoder reads the padding of the source. Reread 'The
    memory mask'."""
    return layered(x, memory, params, n_heads, self_mask, None, rate, rng)


@decoder_layer.mistake("leaves out the causal mask")
def layer_without_self_mask(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """self_mask does not reach the self-attention, so the decoder sees the words it is to write. Reread 'The decoder
    layer'."""
    return layered(x, memory, params, n_heads, None, memory_mask, rate, rng)


@decoder_layer.mistake("exchanges the two masks")
def masks_exchanged(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """The causal mask hides parts of the source, and the padding mask lets the decoder see its future. One is (T, T),
    the other (T, T_memory); only equal lengths let you exchange them. Reread 'The memory mask'."""
    return layered(x, memory, params, n_heads, memory_mask, self_mask, rate, rng)


@decoder_layer.mistake("uses one set of attention weights for both attentions")
def attention_shared(x, memory, params, n_heads, *rest, **named):
    """The cross-attention uses the self-attention's weights. They are two layers, with two sets of parameters. Reread
    'The decoder layer'."""
    return layered(x, memory, params | {"cross_attention": params["attention"]}, n_heads, *rest, **named)


@decoder_layer.mistake("leaves out the residual connections")
def no_residuals(*inputs, **named):
    """Only the updates are normalised, and the stream stops at every sub-layer. Reread 'The decoder layer'."""

    def norm_only(x, update, params, rate, rng):
        return layer_norm(dropout(update, rate, rng)[0], **params)

    return layered(*inputs, **named, add=norm_only)


@decoder_layer.mistake("does not drop")
def layer_without_dropout(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """`rate` and `rng` do not reach the three sums, so nothing is ever forgotten. Reread 'The decoder layer'."""
    return layered(x, memory, params, n_heads, self_mask, memory_mask)


@decoder_layer.equivalent
def in_a_loop(*inputs, **named):
    return layered(*inputs, **named)


@decoder_layer.equivalent
def with_heads_in_turn(*inputs, **named):
    return layered(*inputs, **named, attend=heads.one_head_after_the_other, feed=wraps.unit_by_unit)


@decoder_layer.equivalent
def with_rows_and_einsum(*inputs, **named):
    return layered(*inputs, **named, attend=heads.all_by_einsum, feed=wraps.with_einsum, add=wraps.row_for_row)


# ----------------------------------------------------------------------------------- decoder_layer_backward

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


def decoded_back(
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


@decoder_layer_backward.mistake("memory gradient through the values only")
def layer_values_only(grad_output, cache):
    """The memory's gradient lacks what comes back through the keys. The encoder would learn what to say and never
    how to be found. Reread 'Two gradients come back'."""
    return decoded_back(grad_output, cache, keys=0)


@decoder_layer_backward.mistake("memory gradient through the keys only")
def layer_keys_only(grad_output, cache):
    """The memory's gradient lacks what comes back through the values. Add both. Reread 'Two gradients come back'."""
    return decoded_back(grad_output, cache, values=0)


@decoder_layer_backward.mistake("swaps the roles of x and the memory")
def layer_roles_swapped(grad_output, cache):
    """The gradients of x and of the memory stand in each other's place. Only equal lengths hide it. Reread 'The decoder
    layer, walked backwards'."""
    grad_x, grad_memory, grad_params = decoded_back(grad_output, cache)
    return grad_memory, grad_x, grad_params


@decoder_layer_backward.mistake("loses the queries' path through the cross-attention")
def queries_lost(grad_output, cache):
    """At the cross-attention only the straight path goes on towards x. The stream was also the *query* there, so its
    gradient is added. Reread 'The decoder layer, walked backwards'."""
    return decoded_back(grad_output, cache, asked=0)


@decoder_layer_backward.mistake("loses the straight path past the cross-attention")
def not_past_the_cross(grad_output, cache):
    """At the cross-attention only the queries' gradient goes on. The stream went past it as well. Reread 'The decoder
    layer, walked backwards'."""
    return decoded_back(grad_output, cache, past_2=0)


@decoder_layer_backward.mistake("loses the straight path past the feed-forward")
def not_past_the_thinking(grad_output, cache):
    """Below the feed-forward only what came through it goes on. The stream went past it as well. Reread 'The decoder
    layer, walked backwards'."""
    return decoded_back(grad_output, cache, past_3=0)


@decoder_layer_backward.mistake("loses the path through the feed-forward")
def not_through_the_thinking(grad_output, cache):
    """What the feed-forward sends back to its input is not added. Reread 'The decoder layer, walked backwards'."""
    return decoded_back(grad_output, cache, thought=0)


@decoder_layer_backward.mistake("loses the straight path past the self-attention")
def not_past_the_attention(grad_output, cache):
    """grad_x lacks what came past the self-attention. All parameters are right, so this layer learns, and the one below
    does not. Reread 'The decoder layer, walked backwards'."""
    return decoded_back(grad_output, cache, past_1=0)


@decoder_layer_backward.mistake("keeps the queries' gradient alone")
def own_queries_only(grad_output, cache):
    """In the *self*-attention x has three roles, and all three gradients belong to it. Only in the cross-attention
    is it the query alone. Reread 'The decoder layer, walked backwards'."""
    return decoded_back(grad_output, cache, k=0, v=0)


@decoder_layer_backward.mistake("gives the first norm the third norm's gradient")
def norms_confused(grad_output, cache):
    """The gradients of norm_attention and norm_feed_forward stand under each other's names. Walking backwards, the
    first norm you meet is the feed-forward's. Reread 'The decoder layer, walked backwards'."""
    grad_x, grad_memory, grads = decoded_back(grad_output, cache)
    other = {"norm_attention": grads["norm_feed_forward"], "norm_feed_forward": grads["norm_attention"]}
    return grad_x, grad_memory, grads | other


@decoder_layer_backward.equivalent
def layer_back_in_turn(grad_output, cache):
    return decoded_back(grad_output, cache, heads_back=heads.back_head_by_head)


@decoder_layer_backward.equivalent
def layer_back_by_rows(grad_output, cache):
    return decoded_back(grad_output, cache, add_norm_back=wraps.add_norm_by_rows, heads_back=heads.back_by_einsum)


@decoder_layer_backward.equivalent
def layer_back_by_jacobians(grad_output, cache):
    return decoded_back(grad_output, cache, add_norm_back=wraps.add_norm_by_jacobian, feed_back=wraps.by_sign)


# ----------------------------------------------------------------------------------- repaired_decoder_norms

repaired_decoder_norms = Exercise(
    reference.repaired_decoder_norms, outputs={"output": "... T d_model"}, section="Find the bug"
)


def everything_seen(inputs):
    """The same inputs, the whole memory visible."""
    return inputs | {"memory_mask": np.ones_like(inputs["memory_mask"])}


@repaired_decoder_norms.cases("the norms", points=2)
def _(draw):
    yield "three trained norms, everything visible", everything_seen(to_decode(draw, 1, masked=True))


@repaired_decoder_norms.cases("the memory", points=1)
def _(draw):
    inputs = to_decode(draw, 1, masked=True)
    norm = inputs["params"]["norm_attention"]
    one_norm = {"norm_cross_attention": norm, "norm_feed_forward": norm}
    yield "three equal norms, some padding", inputs | {"params": inputs["params"] | one_norm}


@repaired_decoder_norms.cases("all of it together", points=1)
def _(draw):
    yield "trained norms, some padding", to_decode(draw, 1, masked=True)
    yield "float32", to_decode(draw, 1, np.float32, masked=True)


@repaired_decoder_norms.mistake("nothing is mended yet")
def as_published(x, memory, params, n_heads, self_mask, memory_mask):
    """Both mistakes are still there. Start with the norms: how many does the layer hold, and how many are used? Reread
    'The decoder layer'."""
    return layered(x, memory, params, n_heads, self_mask, norms={"feed_forward": "attention"})[0]


@repaired_decoder_norms.mistake("one found: the norms are right; one to go")
def padding_left(x, memory, params, n_heads, self_mask, memory_mask):
    """Each sub-layer has its norm now. One is left: which argument of the function has no effect? Reread 'The memory
    mask'."""
    return layered(x, memory, params, n_heads, self_mask)[0]


@repaired_decoder_norms.mistake("one found: the memory mask is in; one to go")
def norm_left(x, memory, params, n_heads, self_mask, memory_mask):
    """The memory mask is in. One is left: change norm_feed_forward, and nothing happens. Reread 'The decoder layer'."""
    return layered(x, memory, params, n_heads, self_mask, memory_mask, norms={"feed_forward": "attention"})[0]


@repaired_decoder_norms.mistake("uses the second norm for the third sum")
def second_norm_twice(x, memory, params, n_heads, self_mask, memory_mask):
    """The third sum goes through norm_cross_attention now. It needs a norm of its own, norm_feed_forward. Reread 'The
    decoder layer'."""
    return layered(x, memory, params, n_heads, self_mask, memory_mask, norms={"feed_forward": "cross_attention"})[0]


@repaired_decoder_norms.equivalent
def mended_in_a_loop(*inputs, **named):
    return layered(*inputs, **named)[0]


@repaired_decoder_norms.equivalent
def mended_with_rows(*inputs, **named):
    return with_rows_and_einsum(*inputs, **named)[0]


@repaired_decoder_norms.equivalent
def mended_with_heads_in_turn(*inputs, **named):
    return with_heads_in_turn(*inputs, **named)[0]
