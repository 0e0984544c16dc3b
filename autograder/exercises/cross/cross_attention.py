"""cross_attention: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.cross.shared import square, turned, two_sequences
from autograder.exercises.masking.masked_softmax import softmax_before_and_after, softmax_of_the_weights
from solutions import cross as reference
from solutions.attention import softmax
from solutions.masking import masked_attention, masked_softmax

cross_attention = Exercise(
    reference.cross_attention,
    outputs={"output": "... T d_value", "cache": UNJUDGED},
    section="Who asks, and who answers",
)


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
    inputs = two_sequences(draw, 1)
    yield "a mask of one axis", inputs | {"mask": inputs["mask"][0, 0]}


@cross_attention.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", two_sequences(draw, 1)
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
    """Your keys are made from x, the sequence that asks. A query must be compared with what it looks *for*, and that is
    in the memory: K = memory @ w_key. (With two sequences of the same length your code even runs.)"""
    return masked_attention(x @ w_query, x @ w_key, memory @ w_value, mask)


@cross_attention.mistake("takes the values from x")
def values_from_x(x, memory, w_query, w_key, w_value, mask):
    """Your values are made from x: the memory is searched, but x answers. So nothing of the source reaches the output.
    Keys and values both come from the memory."""
    return masked_attention(x @ w_query, memory @ w_key, x @ w_value, mask)


@cross_attention.mistake("takes keys and values from x")
def only_x(x, memory, w_query, w_key, w_value, mask):
    """This is self-attention: the memory is never used. Only the queries come from x."""
    return masked_attention(x @ w_query, x @ w_key, x @ w_value, mask)


@cross_attention.mistake("lets the memory ask")
def memory_asks(x, memory, w_query, w_key, w_value, mask):
    """The roles are swapped: the memory asks and x answers. The output has a row for each *query*, so as many rows as
    x."""
    return masked_attention(memory @ w_query, x @ w_key, x @ w_value, mask)


@cross_attention.mistake("exchanges w_key and w_value")
def weights_exchanged(x, memory, w_query, w_key, w_value, mask):
    """Keys are made with w_value and values with w_key. If d_key = d_value there is no error."""
    return masked_attention(x @ w_query, memory @ w_value, memory @ w_key, mask)


@cross_attention.mistake("assumes that both sequences are equally long", reread="A rectangle")
def square_only(x, memory, w_query, w_key, w_value, mask):
    """Your function runs only where T = T_memory. The scores are (T, T_memory), a rectangle; never write one length for
    both."""
    T = x.shape[-2]
    keys, values = ((memory @ w).reshape(*x.shape[:-2], T, w.shape[-1]) for w in (w_key, w_value))
    return masked_attention(x @ w_query, keys, values, mask)


@cross_attention.mistake("takes the memory's length from outside the function", reread="A rectangle")
def length_from_outside(x, memory, w_query, w_key, w_value, mask):
    """You read the first seven rows of the memory, however many it has. The chapter's own example `m` has seven, so
    your length seems to come from the notebook and not from the argument. A longer memory is cut off, or does not fit
    its mask. Take the length from `memory.shape[-2]`, or do not name it at all."""
    seen = memory[..., :7, :]
    return masked_attention(x @ w_query, seen @ w_key, seen @ w_value, mask)


@cross_attention.mistake("leaves out the memory mask", reread="The memory mask")
def mask_left_out(x, memory, w_query, w_key, w_value, mask):
    """The mask has no effect, so the decoder reads the source's padding. In a batch with sentences of one length this
    does not show."""
    return masked_attention(x @ w_query, memory @ w_key, memory @ w_value, np.ones_like(mask))


@cross_attention.mistake("transposes the memory mask", reread="The memory mask")
def mask_transposed(x, memory, w_query, w_key, w_value, mask):
    """The mask is transposed. Its rows are the queries, its columns the memory: (T, T_memory). Where both lengths
    agree, the transpose fits, but it hides the wrong words."""
    return masked_attention(x @ w_query, memory @ w_key, memory @ w_value, turned(mask))


@cross_attention.mistake("inverts the memory mask", reread="The memory mask")
def mask_inverted(x, memory, w_query, w_key, w_value, mask):
    """What may be seen is hidden, and the padding is read. Here True means *may attend*."""
    return masked_attention(x @ w_query, memory @ w_key, memory @ w_value, ~mask)


@cross_attention.mistake("masks after the softmax", reread="The memory mask")
def mask_late(x, memory, w_query, w_key, w_value, mask):
    """The weights are set to zero after the softmax, so the rows no longer add up to one. Mask the scores, as chapter
    3's `masked_attention` does."""
    queries, keys = x @ w_query, memory @ w_key
    weights = softmax(queries @ turned(keys) / math.sqrt(keys.shape[-1])) * mask
    return weights.astype(x.dtype) @ (memory @ w_value), None


@cross_attention.mistake("overflows on large scores")
def unstable(x, memory, w_query, w_key, w_value, mask):
    """Right for small scores, NaN for large ones, because your softmax does not subtract each row's maximum. Chapter
    3's `masked_attention` does so."""
    keys = memory @ w_key
    strengths = np.where(mask, np.exp(x @ w_query @ turned(keys) / math.sqrt(keys.shape[-1])), 0)
    total = strengths.sum(axis=-1, keepdims=True)
    return (strengths / np.where(total == 0, 1, total)).astype(x.dtype) @ (memory @ w_value), None


@cross_attention.mistake("does not scale the scores")
def not_scaled(x, memory, w_query, w_key, w_value, mask):
    """The division by the root of d_key is missing. Cross-attention is ordinary attention with keys and values from
    elsewhere."""
    return masked_attention(x @ w_query * math.sqrt(w_key.shape[-1]), memory @ w_key, memory @ w_value, mask)


@cross_attention.mistake("multiplies by the root")
def times_root(x, memory, w_query, w_key, w_value, mask):
    """The scores are multiplied by the root of d_key. Divide by it instead; otherwise the softmax saturates.
    Cross-attention is ordinary attention with keys and values from elsewhere."""
    return masked_attention(x @ w_query * w_key.shape[-1], memory @ w_key, memory @ w_value, mask)


@cross_attention.mistake("divides by d_key, not its root")
def by_whole_width(x, memory, w_query, w_key, w_value, mask):
    """You divide the scores by d_key, or twice by its root, which is the same. Their spread grows like the *root*, so
    divide once, by the root."""
    return masked_attention(x @ w_query / math.sqrt(w_key.shape[-1]), memory @ w_key, memory @ w_value, mask)


@cross_attention.mistake("scales by the width of x")
def by_d_model(x, memory, w_query, w_key, w_value, mask):
    """The scores are divided by the root of d_model. They are sums of d_key products, so the width of the projected
    keys counts. Where both widths are equal, this does not show."""
    scale = math.sqrt(w_key.shape[-1] / x.shape[-1])
    return masked_attention(x @ w_query * scale, memory @ w_key, memory @ w_value, mask)


def with_weights(weighted, x, memory, w_query, w_key, w_value, mask):
    """The attention with other weights: weighted(scores, mask), the mask as large as the scores."""
    keys = memory @ w_key
    scores = x @ w_query @ turned(keys) / math.sqrt(keys.shape[-1])
    return weighted(scores, np.broadcast_to(mask, scores.shape)).astype(x.dtype) @ (memory @ w_value), None


@cross_attention.mistake("normalises over the queries", reread="A rectangle")
def over_the_queries(x, memory, w_query, w_key, w_value, mask):
    """The softmax runs along axis -2, so the queries compete for each position of the memory. Each *query* shares out
    one unit of attention over the memory: the rows add up to one, axis=-1."""
    inputs = (x, memory, w_query, w_key, w_value, mask)
    return with_weights(lambda scores, mask: turned(masked_softmax(turned(scores), turned(mask))), *inputs)


@cross_attention.mistake("hides by a score of zero", reread="The memory mask")
def hidden_by_zero(x, memory, w_query, w_key, w_value, mask):
    """Where the mask is False the score becomes 0, and the exponential of 0 is 1: what is hidden keeps a weight, and
    often a large one. Only minus infinity hides."""
    return with_weights(lambda scores, mask: softmax(scores * mask), x, memory, w_query, w_key, w_value, mask)


@cross_attention.mistake("gives NaN for a query that sees nothing", reread="The memory mask")
def nan_for_nothing(x, memory, w_query, w_key, w_value, mask):
    """Minus infinity hides, but a row of nothing else gives 0/0. A query that may attend to nothing gets zeros, as in
    chapter 3's `masked_attention`."""

    def weighted(scores, mask):
        with np.errstate(invalid="ignore"):
            return softmax(np.where(mask, scores, -np.inf))

    return with_weights(weighted, x, memory, w_query, w_key, w_value, mask)


@cross_attention.mistake("gives even weights to a query that sees nothing", reread="The memory mask")
def even_for_nothing(x, memory, w_query, w_key, w_value, mask):
    """A large negative number hides as long as the query sees something else. Where it sees nothing, all scores are
    equal, and the query gets the mean of all values, including padding. It should get zeros, as in chapter 3's
    `masked_attention`."""
    inputs = (x, memory, w_query, w_key, w_value, mask)
    return with_weights(lambda scores, mask: softmax(np.where(mask, scores, -1e9)), *inputs)


@cross_attention.mistake("applies the softmax twice")
def weighed_twice(x, memory, w_query, w_key, w_value, mask):
    """The masked weights go through a softmax once more. A weight of 0 is a score of 0 there, and exp(0) = 1, so what
    is hidden gets weight again, and all weights come out nearly even. Apply one softmax, to the masked scores."""
    return with_weights(softmax_of_the_weights, x, memory, w_query, w_key, w_value, mask)


@cross_attention.mistake("masks between two softmaxes", reread="The memory mask")
def weighed_before_and_after(x, memory, w_query, w_key, w_value, mask):
    """There are two softmaxes, one before the mask and one after it. The second one sees weights between 0 and 1 in
    place of scores, so what is allowed comes out nearly even. Mask the scores themselves, then apply one softmax."""
    return with_weights(softmax_before_and_after, x, memory, w_query, w_key, w_value, mask)


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
