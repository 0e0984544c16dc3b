"""Wrong answers to exercises about the parts of a layer: attention, masks, heads."""

import math
from functools import partial
from itertools import combinations, pairwise

import numpy as np

from autograder.exercises.masking.leaks import searched as leaks_found
from autograder.exercises.model.shared import decoded
from solutions import attention, cross, masking, model, model_torch, multihead
from solutions.masked_attention import masked_attention
from solutions.position import positional_embedding
from solutions.residual import add_norm, feed_forward
from tests.explanations.registry import MANY, SECRET, wrong

# ------------------------------------------------------------------------------------------- softmaxes


def softmax_less(shift):
    """A softmax that subtracts a number other than its maximum from each row."""

    def softmax(scores):
        strengths = np.exp(scores - shift(scores))
        return strengths / strengths.sum(axis=-1, keepdims=True)

    return softmax


SHIFTS = {
    "its mean": lambda scores: scores.mean(axis=-1, keepdims=True),
    "its minimum": lambda scores: scores.min(axis=-1, keepdims=True),
    "its median": lambda scores: np.median(scores, axis=-1, keepdims=True).astype(scores.dtype),
    "its first entry": lambda scores: scores[..., :1],
    "its last entry": lambda scores: scores[..., -1:],
}
for what, shift in SHIFTS.items():
    wrong("softmax", seeds=MANY, name=f"less {what}")(softmax_less(shift))

overflowing = softmax_less(lambda scores: scores.dtype.type(0))


def attend_with(softmax, queries, keys, values, mask=None):
    scores = queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1])
    if mask is None:
        return softmax(scores) @ values, None
    weights = softmax(np.where(mask, scores, scores.dtype.type(-1e30)))
    return np.where(mask & mask.any(axis=-1, keepdims=True), weights, 0) @ values, None


def multihead_inputs(query, key, value, params, n_heads):
    inputs = zip(("query", "key", "value"), (query, key, value), strict=True)
    return [multihead.split_heads(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads) for name, x in inputs]


def heads_with(softmax, query, key, value, params, n_heads, mask=None):
    heads = multihead_inputs(query, key, value, params, n_heads)
    output, _ = attend_with(softmax, *heads, None if mask is None else np.expand_dims(np.atleast_2d(mask), -3))
    return multihead.merge_heads(output) @ params["w_output"] + params["b_output"], None


wrong("multi_head_attention", seeds=MANY, name="softmax less nothing")(partial(heads_with, overflowing))


@wrong("cross_attention", seeds=MANY)
def softmax_less_nothing(x, memory, w_query, w_key, w_value, mask):
    return attend_with(overflowing, x @ w_query, memory @ w_key, memory @ w_value, mask)


def loss_with(probabilities):
    def repaired_model_loss(params, src, tgt, n_heads, pad):
        logits, _ = model.forward(params, src, tgt[:, :-1], n_heads, pad)
        p = np.take_along_axis(probabilities(logits), tgt[:, 1:, None], axis=-1)[..., 0]
        return -np.log(p[tgt[:, 1:] != pad]).mean()

    return repaired_model_loss


for what, softmax in (("less nothing", overflowing), ("and a logarithm", attention.softmax)):
    wrong("repaired_model_loss", seeds=MANY, name=f"softmax {what}")(loss_with(softmax))


@wrong("repaired_model_loss", seeds=MANY)
def unstable_in_the_encoder(params, src, tgt, n_heads, pad):
    x, _ = positional_embedding(src, params["embeddings"]["shared"])
    mask = masking.padding_mask(src, pad)
    for layer in params["encoder"]:
        update, _ = heads_with(overflowing, x, x, x, layer["attention"], n_heads, mask)
        x, _ = add_norm(x, update, layer["norm_attention"])
        x, _ = add_norm(x, feed_forward(x, layer["feed_forward"])[0], layer["norm_feed_forward"])
    logits, _ = decoded(params, tgt[:, :-1], x, src, n_heads, pad)
    return model.cross_entropy(logits, tgt[:, 1:], pad)[0]


def one_maximum(axis):
    """The loss by a log_softmax that takes the same maximum from several rows."""

    def loss(params, src, tgt, n_heads, pad):
        logits, _ = model.forward(params, src, tgt[:, :-1], n_heads, pad)
        shifted = logits - logits.max(axis=axis, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        surprises = -np.take_along_axis(log_p, tgt[:, 1:, None], axis=-1)[..., 0]
        return surprises[tgt[:, 1:] != pad].mean()

    return loss


for rows, axis in (("all", None), ("a sentence", (-2, -1))):
    wrong("repaired_model_loss", seeds=MANY, name=f"one maximum for {rows}")(one_maximum(axis))


@wrong("masked_softmax", seeds=MANY)
def finite_number_times_mask(scores, mask):
    return attention.softmax(np.where(mask, scores, scores.dtype.type(-1e4))) * mask


for fill in (-1e9, -1e20, -1e100):

    @wrong("masked_softmax", seeds=MANY, name=f"{fill:g} and a rule for empty rows")
    def hidden_by_a_number(scores, mask, fill=fill):
        empty = ~mask.any(axis=-1, keepdims=True)
        return np.where(mask, attention.softmax(np.where(mask | empty, scores, scores.dtype.type(fill))), 0)


MAXIMA = {
    "the whole array": lambda hidden: hidden.max(),
    "the first row": lambda hidden: hidden[..., :1, :].max(axis=-1, keepdims=True) if hidden.ndim > 1 else hidden.max(),
    "the row before": lambda hidden: np.roll(hidden, 1, axis=max(-2, -hidden.ndim)).max(axis=-1, keepdims=True),
    "each column": lambda hidden: hidden.max(axis=max(-2, -hidden.ndim), keepdims=True),
}
for whose, highest in MAXIMA.items():

    @wrong("masked_softmax", seeds=MANY, name=f"the maximum of {whose}")
    def less_another_maximum(scores, mask, highest=highest):
        hidden = np.where(mask, scores, -np.inf).astype(scores.dtype)
        shift = highest(hidden)
        strengths = np.exp(hidden - np.where(np.isfinite(shift), shift, 0).astype(scores.dtype))
        total = strengths.sum(axis=-1, keepdims=True)
        return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


@wrong("masked_softmax", seeds=MANY)
def penalty_added_and_empty_rows_as_zeros(scores, mask):
    weights = attention.softmax(scores + np.where(mask, 0, -1e9).astype(scores.dtype))
    return np.where(np.any(mask, axis=-1, keepdims=True), weights, 0).astype(scores.dtype)


# ------------------------------------------------------------------------------------------- one maximum for a batch


def highest_of_batch(scores):
    """The largest score of a query's row, over all sentences of a batch."""
    return scores.max(axis=(*range(scores.ndim - 2), -1), keepdims=True)


softmax_of_batch = wrong("softmax", seeds=MANY, name="the maximum over the batch")(softmax_less(highest_of_batch))


@wrong("masked_softmax", seeds=MANY, name="the maximum over the batch")
def masked_softmax_of_batch(scores, mask):
    hidden = np.where(mask, scores, -np.inf).astype(scores.dtype)
    shift = highest_of_batch(hidden)
    strengths = np.exp(hidden - np.where(np.isfinite(shift), shift, 0).astype(scores.dtype))
    total = strengths.sum(axis=-1, keepdims=True)
    return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


wrong("multi_head_attention", seeds=MANY, name="the maximum over the batch")(partial(heads_with, softmax_of_batch))


@wrong("cross_attention", seeds=MANY, name="the maximum over the batch")
def cross_attention_of_batch(x, memory, w_query, w_key, w_value, mask):
    scores = x @ w_query @ (memory @ w_key).swapaxes(-1, -2) / math.sqrt(w_key.shape[-1])
    return masked_softmax_of_batch(scores, mask) @ (memory @ w_value), None


def masks_of_two_axes(expand):
    def multi_head_attention(query, key, value, params, n_heads, mask=None):
        heads = multihead_inputs(query, key, value, params, n_heads)
        if mask is None:
            output, _ = attention.attention(*heads)
        else:
            output, _ = masked_attention(*heads, expand(mask))
        return multihead.merge_heads(output) @ params["w_output"] + params["b_output"], None

    return multi_head_attention


@wrong("multi_head_attention", seeds=SECRET)
def mask_transposed_where_it_fits(query, key, value, params, n_heads, mask=None):
    fits = mask is not None and mask.ndim > 1 and mask.shape[-1] == mask.shape[-2]
    return multihead.multi_head_attention(query, key, value, params, n_heads, mask.swapaxes(-1, -2) if fits else mask)


for _name, _masks in (
    ("needs a mask of two axes", lambda mask: np.expand_dims(mask, -3)),
    ("indexes two axes", lambda mask: mask[..., None, :, :]),
):
    wrong("multi_head_attention", seeds=SECRET, name=_name)(masks_of_two_axes(_masks))


# ------------------------------------------------------------------------------------------- masks of one axis


@wrong("cross_attention", seeds=SECRET)
def row_of_mask_repeated(x, memory, w_query, w_key, w_value, mask):
    if mask.shape[-2] == 1:
        mask = np.repeat(mask, x.shape[-2], axis=-2)
    return cross.cross_attention(x, memory, w_query, w_key, w_value, mask)


@wrong("decoder_layer", seeds=SECRET)
def layer_of_two_axes(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    masks = (None if mask is None else mask[..., :, :] for mask in (self_mask, memory_mask))
    return cross.decoder_layer(x, memory, params, n_heads, *masks, rate, rng)


@wrong("MultiHeadAttention", seeds=SECRET, name="an axis for the heads")
class MaskOfTwoAxes(model_torch.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, None if mask is None else mask.unsqueeze(-3).squeeze(-3))


# ------------------------------------------------------------------------------------------- key widths


def without_a_look_at_widths(queries, keys):
    return attention.softmax(np.einsum("...qd,...kd->...qk", queries, keys) / math.sqrt(keys.shape[-1]))


wrong("attention_weights", seeds=MANY)(without_a_look_at_widths)


@wrong("attention", seeds=MANY)
def widths_broadcast(queries, keys, values):
    return without_a_look_at_widths(queries, keys) @ values, None


@wrong("streaming_attention", seeds=SECRET)
def streaming_from_a_maximum_of_zero(queries, keys, values, size, causal=False):
    length = keys.shape[-2]
    seen = np.tri(queries.shape[-2], length, dtype=bool) | (not causal)
    scores = np.where(seen, queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1]), -np.inf).astype(keys.dtype)
    top = scores.max(axis=-1, keepdims=True, initial=0)
    strengths = np.exp(scores - top)
    total = strengths.sum(axis=-1, keepdims=True)
    return strengths @ values / total, top + np.log(total)


# ------------------------------------------------------------------------------------------- leaks


@wrong("leaks", seeds=MANY)
def sequence_cut_off(decoder, sequences):
    return any(not np.allclose(decoder(x[:t]), decoder(x)[:t]) for x in sequences for t in range(1, len(x)))


def leaks_in_pairs(pairs):
    return lambda decoder, sequences: leaks_found(decoder, sequences, pairs=pairs(sequences))


def leaks_if_not(close):
    return lambda decoder, sequences: leaks_found(decoder, sequences, close=close)


PAIRS = {
    "one added": lambda sequences: [(x, x + 1) for x in sequences],
    "zeros": lambda sequences: [(x, np.zeros_like(x)) for x in sequences],
    "the first pair": lambda sequences: [sequences[:2]],
    "neighbours": lambda sequences: pairwise(sequences),
    "pairs with an earlier past": lambda sequences: combinations(sequences, 2),
    "pairs with a later past": lambda sequences: combinations(sequences[::-1], 2),
}
for what, pairs in PAIRS.items():
    wrong("leaks", seeds=MANY, name=what)(leaks_in_pairs(pairs))

TOLERANCES = {
    "a tolerance of a thousandth": partial(np.allclose, rtol=0, atol=1e-3),
    "the tolerance of allclose": np.allclose,
    "sums": lambda a, b: np.allclose(a.sum(), b.sum(), rtol=0, atol=1e-6),
    "sums over features": lambda a, b: np.allclose(a.sum(axis=-1), b.sum(axis=-1), rtol=0, atol=1e-6),
    "means": lambda a, b: np.allclose(a.mean(), b.mean(), rtol=0, atol=1e-6),
}
for what, close in TOLERANCES.items():
    wrong("leaks", seeds=MANY, name=what)(leaks_if_not(close))


# ------------------------------------------------------------------------------------------- modules


@wrong("MultiHeadAttention", seeds=SECRET)
class MaskTransposedWhereItFits(model_torch.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        fits = mask is not None and mask.ndim > 1 and mask.shape[-1] == mask.shape[-2]
        return super().forward(query, key, value, mask.mT if fits else mask)


@wrong("EncoderLayer", seeds=SECRET)
class EncoderLayerThatNeverDrops(model_torch.EncoderLayer):
    def forward(self, x, mask=None):
        self.dropout.p = 0.0
        return super().forward(x, mask)


@wrong("DecoderLayer", seeds=SECRET)
class DecoderLayerThatNeverDrops(model_torch.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        self.dropout.p = 0.0
        return super().forward(x, memory, self_mask, memory_mask)


@wrong("layer_norm", seeds=MANY)
def variance_as_a_difference_that_stays_positive(x, gain, bias, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = np.maximum(np.square(x).sum(axis=-1, keepdims=True) / x.shape[-1] - mean * mean, 0)
    return (x - mean) / np.sqrt(variance + eps) * gain + bias, None
