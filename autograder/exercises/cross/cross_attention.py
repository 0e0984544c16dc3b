import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.cross.shared import square, turned, two_sequences
from solutions import cross as reference
from solutions.attention import softmax
from solutions.masked_attention import masked_attention

cross_attention = Exercise(
    reference.cross_attention,
    outputs={"output": "... T d_value", "cache": UNJUDGED},
    section="Who asks, and who answers",
)
wrong = short_mistakes(cross_attention)


@cross_attention.cases("the idea", points=2)
def _(draw):
    inputs = square(draw)
    yield "everything may be seen", two_sequences(draw) | {"mask": np.ones((1, 1), bool)}
    yield "two sequences of one length", inputs | {"mask": np.ones((1, 1), bool)}
    yield "a long memory", two_sequences(draw, T=3, T_memory=13) | {"mask": np.ones((1, 1), bool)}


@cross_attention.cases("masks", points=1)
def _(draw):
    yield "a mask, and a long memory", two_sequences(draw, T_memory=draw.size(10, 13))
    yield "a mask, sequences of one length", square(draw)
    inputs = two_sequences(draw)
    inputs["mask"][1] = False
    yield "a query that sees nothing", inputs
    inputs = two_sequences(draw, 1)
    yield "a mask of one axis", inputs | {"mask": inputs["mask"][0, 0]}


@cross_attention.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis, and a long memory", two_sequences(draw, 1, T_memory=draw.size(10, 13))
    yield "two batch axes", two_sequences(draw, 2)
    inputs = two_sequences(draw, 1)
    yield "a row of mask for each sentence", inputs | {"mask": inputs["mask"][..., :1, :]}
    yield "float32", two_sequences(draw, 1, np.float32)
    inputs = two_sequences(draw)
    scores = inputs["x"] @ inputs["w_query"] @ turned(inputs["memory"] @ inputs["w_key"])
    steeper = inputs["w_query"] * (10_000 / scores.flat[np.abs(scores).argmax()])
    inputs |= {"w_query": steeper, "mask": np.ones((1, 1), bool)}
    yield "scores in the thousands", inputs
    two = {"x": np.stack([inputs["x"], inputs["x"] / 100]), "memory": np.stack([inputs["memory"]] * 2)}
    yield "sentences with scores of very different size", inputs | two


@cross_attention.mistake("takes the keys from x")
def keys_from_x(x, memory, w_query, w_key, w_value, mask):
    """You make the keys from x, the sequence of the queries. A query must find words of the memory, so make the keys
    from the memory: K = memory @ w_key. (With two sequences of the same length, your code runs without an error.)"""
    return masked_attention(x @ w_query, x @ w_key, memory @ w_value, mask)


def asked(x, memory, w_query, w_key, w_value, mask, *, queries="x", keys="memory", values="memory", hide=None):
    """Compute the attention with each role made from "x" or "memory", and with the mask that `hide` returns."""
    sources = {"x": x, "memory": memory}
    mask = hide(mask) if hide else mask
    return masked_attention(sources[queries] @ w_query, sources[keys] @ w_key, sources[values] @ w_value, mask)


wrong("values_from_x", asked, values="x")("""
    takes the values from x
    You make the values from x, so the queries search the memory but read x, and nothing of the source reaches the
    output. Keys and values both come from the memory.""")
wrong("only_x", asked, keys="x", values="x")("""
    takes keys and values from x
    This is self-attention: you never use the memory. Only the queries come from x.""")
wrong("memory_asks", asked, queries="memory", keys="x", values="x")("""
    lets the memory ask
    The roles are swapped: you make the queries from the memory, and the keys and values from x. The output has a row
    for each *query*, so it must have as many rows as x.""")


@cross_attention.mistake("exchanges w_key and w_value")
def weights_exchanged(x, memory, w_query, w_key, w_value, mask):
    """You make the keys with w_value and the values with w_key. If d_key = d_value there is no error."""
    return masked_attention(x @ w_query, memory @ w_value, memory @ w_key, mask)


@cross_attention.mistake("assumes that both sequences are equally long", reread="A rectangle")
def square_only(x, memory, w_query, w_key, w_value, mask):
    """Your function runs only if T = T_memory. The scores are a rectangle, (T, T_memory): never use one length for
    both."""
    T = x.shape[-2]
    keys, values = ((memory @ w).reshape(*x.shape[:-2], T, w.shape[-1]) for w in (w_key, w_value))
    return masked_attention(x @ w_query, keys, values, mask)


@cross_attention.mistake("takes the memory's length from outside the function", reread="A rectangle")
def length_from_outside(x, memory, w_query, w_key, w_value, mask):
    """You read the first seven rows of the memory, however many rows it has. The chapter's example `m` has seven rows,
    so your length seems to come from the notebook and not from the argument. Your function cuts off a longer memory, or
    the memory does not fit its mask. Take the length from `memory.shape[-2]`, or do not name it at all."""
    seen = memory[..., :7, :]
    return masked_attention(x @ w_query, seen @ w_key, seen @ w_value, mask)


wrong("mask_left_out", asked, hide=np.ones_like)("""
    leaves out the memory mask -> The memory mask
    The mask has no effect, so the decoder reads the source's padding. In a batch with sentences of one length this does
    not show.""")
wrong("mask_transposed", asked, hide=turned)("""
    transposes the memory mask -> The memory mask
    You transpose the mask. Its rows are the queries, and its columns are the memory: (T, T_memory). If both lengths
    agree, the transpose fits, but it hides the wrong words.""")


@cross_attention.mistake("overflows on large scores")
def unstable(x, memory, w_query, w_key, w_value, mask):
    """Your output is right for small scores and NaN for large ones, because your softmax does not subtract each row's
    maximum. Chapter 3's `masked_attention` subtracts it."""
    keys = memory @ w_key
    strengths = np.where(mask, np.exp(x @ w_query @ turned(keys) / math.sqrt(keys.shape[-1])), 0)
    total = strengths.sum(axis=-1, keepdims=True)
    return (strengths / np.where(total == 0, 1, total)).astype(x.dtype) @ (memory @ w_value), None


@cross_attention.mistake("does not scale the scores")
def unscaled(x, memory, w_query, w_key, w_value, mask):
    """The division by the root of d_key is missing, so the wider the keys are, the sharper the weights are. Chapter 3's
    `masked_attention` divides."""
    return masked_attention(x @ w_query * math.sqrt(w_key.shape[-1]), memory @ w_key, memory @ w_value, mask)


@cross_attention.mistake("scales by the width of x")
def by_d_model(x, memory, w_query, w_key, w_value, mask):
    """You divide the scores by the root of d_model. Scores are sums of d_key products, so the width of the projected
    keys counts. If both widths are equal, this does not show."""
    scale = math.sqrt(w_key.shape[-1] / x.shape[-1])
    return masked_attention(x @ w_query * scale, memory @ w_key, memory @ w_value, mask)


def with_weights(x, memory, w_query, w_key, w_value, mask, *, weighted):
    """Compute the attention with other weights: weighted(scores, mask), in which the mask is as large as the scores."""
    keys = memory @ w_key
    scores = x @ w_query @ turned(keys) / math.sqrt(keys.shape[-1])
    return weighted(scores, np.broadcast_to(mask, scores.shape)).astype(x.dtype) @ (memory @ w_value), None


@cross_attention.mistake("gives NaN for a query that sees nothing", reread="The memory mask")
def nan_for_nothing(x, memory, w_query, w_key, w_value, mask):
    """You hide single keys, but if all keys of a query are hidden, you divide zero by zero or subtract minus infinity
    from itself. A query that may attend to nothing gets zeros, as in chapter 3's `masked_attention`."""

    def weighted(scores, mask):
        with np.errstate(invalid="ignore"):
            return softmax(np.where(mask, scores, -np.inf))

    return with_weights(x, memory, w_query, w_key, w_value, mask, weighted=weighted)


wrong("even_for_nothing", with_weights, weighted=lambda scores, mask: softmax(np.where(mask, scores, -1e9)))("""
    gives even weights to a query that sees nothing -> The memory mask
    A large negative number hides a key as long as the query sees other keys. If the query sees nothing, all scores are
    equal, and the query gets the mean of all values, including padding. It should get zeros, as in chapter 3's
    `masked_attention`.""")


@cross_attention.mistake("hides later words of the memory", reread="The memory mask")
def causal_as_well(x, memory, w_query, w_key, w_value, mask):
    """You apply a causal mask to the memory. The source is complete before the decoder writes, so each position may see
    the whole source except padding."""
    earlier = np.tri(x.shape[-2], memory.shape[-2], dtype=bool)
    return masked_attention(x @ w_query, memory @ w_key, memory @ w_value, mask & earlier)


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
