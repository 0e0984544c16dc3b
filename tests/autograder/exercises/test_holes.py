"""Wrong answers that once earned full marks: none does now, whatever the key's seed."""

import copy
import math
from collections.abc import Callable
from functools import cache, partial
from itertools import combinations, pairwise

import numpy as np
import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import PUBLIC_SEED, make_key
from autograder.exercises.masking.leaks import searched as leaks_found
from autograder.exercises.model.beam_search import by_penalty
from autograder.exercises.model.beam_search import searched as beams_found
from autograder.exercises.model.greedy_decode import greedily, likeliest, padded_by
from autograder.exercises.model.loss_and_gradients import trained
from autograder.exercises.model.repaired_model_loss import PADS
from autograder.exercises.model.repaired_model_loss import padded_by as loss_by_pads
from autograder.exercises.model.shared import decoded
from autograder.house import chapter_names
from check.calling import run
from check.judge import judge
from solutions import attention, cross, decoding, masking, model, model_torch, multihead, position, residual, training
from solutions.position import positional_embedding
from solutions.residual import add_norm, feed_forward

pytestmark = pytest.mark.autograder

EVERY = {exercise.name: exercise for chapter in chapter_names() for exercise in exercises_of(chapter)}
SECRET = (20_260_101, 7)
MANY = tuple(range(18))  # for what some keys caught
SOME = MANY[:6]  # where a key takes a second
HOLES: list = []


def hole(exercise: str, seeds=SECRET, name=""):
    """Decorate a wrong answer that the public key, or a secret one of these seeds, accepted."""

    def register(wrong: Callable) -> Callable:
        HOLES.append(pytest.param(exercise, wrong, seeds, id=f"{exercise}-{name or wrong.__name__}"))
        return wrong

    return register


@cache
def key_of(exercise: str, seed: int):
    """The key without its known mistakes, which take most of the time that a key takes."""
    bare = copy.copy(EVERY[exercise])
    bare.mistakes = {}
    return make_key(bare, seed)


def accepted(exercise: str, function: Callable, seed: int) -> bool:
    """Whether a function passes every case of the key of that seed."""
    key = key_of(exercise, seed)
    return all(judge(key, case, run(function, case.inputs)).passed for case in key.cases)


# ------------------------------------------------------------------------------------------- softmaxes


def softmax_less(shift):
    """A softmax that takes something else than its maximum from each row."""

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
    hole("softmax", MANY, name=f"less {what}")(softmax_less(shift))

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


def self_attention_with(softmax, x, w_query, w_key, w_value):
    if w_query.shape != w_key.shape:
        raise ValueError
    return attend_with(softmax, x @ w_query, x @ w_key, x @ w_value)


for what, softmax in (("nothing", overflowing), ("its mean", softmax_less(SHIFTS["its mean"]))):
    hole("self_attention", MANY, name=f"softmax less {what}")(partial(self_attention_with, softmax))
hole("multi_head_attention", MANY, name="softmax less nothing")(partial(heads_with, overflowing))


@hole("cross_attention", MANY)
def softmax_less_nothing(x, memory, w_query, w_key, w_value, mask):
    return attend_with(overflowing, x @ w_query, memory @ w_key, memory @ w_value, mask)


def loss_with(probabilities):
    def repaired_model_loss(params, src, tgt, n_heads, pad):
        logits, _ = model.forward(params, src, tgt[:, :-1], n_heads, pad)
        p = np.take_along_axis(probabilities(logits), tgt[:, 1:, None], axis=-1)[..., 0]
        return -np.log(p[tgt[:, 1:] != pad]).mean()

    return repaired_model_loss


for what, softmax in (("less nothing", overflowing), ("and a logarithm", attention.softmax)):
    hole("repaired_model_loss", MANY, name=f"softmax {what}")(loss_with(softmax))


@hole("repaired_model_loss", MANY)
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
    hole("repaired_model_loss", MANY, name=f"one maximum for {rows}")(one_maximum(axis))


@hole("repaired_padded_loss", MANY)
def logarithm_of_softmax(logits, targets, pad):
    counted = targets != pad
    p = np.take_along_axis(attention.softmax(logits[counted]), targets[counted][:, None], axis=-1)
    return -np.log(p).mean()


@hole("masked_softmax", MANY)
def finite_number_times_mask(scores, mask):
    return attention.softmax(np.where(mask, scores, scores.dtype.type(-1e4))) * mask


for fill in (-1e9, -1e20, -1e100):

    @hole("masked_softmax", MANY, name=f"{fill:g} and a rule for empty rows")
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

    @hole("masked_softmax", MANY, name=f"the maximum of {whose}")
    def less_another_maximum(scores, mask, highest=highest):
        hidden = np.where(mask, scores, -np.inf).astype(scores.dtype)
        shift = highest(hidden)
        strengths = np.exp(hidden - np.where(np.isfinite(shift), shift, 0).astype(scores.dtype))
        total = strengths.sum(axis=-1, keepdims=True)
        return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


def masks_of_two_axes(expand):
    def multi_head_attention(query, key, value, params, n_heads, mask=None):
        heads = multihead_inputs(query, key, value, params, n_heads)
        if mask is None:
            output, _ = attention.attention(*heads)
        else:
            output, _ = masking.masked_attention(*heads, expand(mask))
        return multihead.merge_heads(output) @ params["w_output"] + params["b_output"], None

    return multi_head_attention


hole("multi_head_attention", name="needs a mask of two axes")(masks_of_two_axes(lambda mask: np.expand_dims(mask, -3)))
hole("multi_head_attention", name="indexes two axes")(masks_of_two_axes(lambda mask: mask[..., None, :, :]))


# ------------------------------------------------------------------------------------------- masks of one axis


@hole("cross_attention")
def row_of_mask_repeated(x, memory, w_query, w_key, w_value, mask):
    if mask.shape[-2] == 1:
        mask = np.repeat(mask, x.shape[-2], axis=-2)
    return cross.cross_attention(x, memory, w_query, w_key, w_value, mask)


@hole("multi_head_cross_attention")
def attend_with_two_axes(x, memory, params, n_heads, mask=None):
    mask = None if mask is None else mask[..., :, :]
    return cross.multi_head_cross_attention(x, memory, params, n_heads, mask)


@hole("decoder_layer")
def layer_of_two_axes(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    masks = (None if mask is None else mask[..., :, :] for mask in (self_mask, memory_mask))
    return cross.decoder_layer(x, memory, params, n_heads, *masks, rate, rng)


@hole("MultiHeadAttention", name="an axis for the heads")
class MaskOfTwoAxes(model_torch.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, None if mask is None else mask.unsqueeze(-3).squeeze(-3))


# ------------------------------------------------------------------------------------------- key widths


def without_a_look_at_widths(queries, keys):
    return attention.softmax(np.einsum("...qd,...kd->...qk", queries, keys) / math.sqrt(keys.shape[-1]))


hole("attention_weights", MANY)(without_a_look_at_widths)


@hole("attention", MANY)
def widths_broadcast(queries, keys, values):
    return without_a_look_at_widths(queries, keys) @ values, None


@hole("self_attention", MANY)
def projected_widths_broadcast(x, w_query, w_key, w_value):
    return widths_broadcast(x @ w_query, x @ w_key, x @ w_value)


@hole("masked_attention", MANY)
def masked_widths_broadcast(queries, keys, values, mask):
    scores = np.einsum("...qd,...kd->...qk", queries, keys) / math.sqrt(keys.shape[-1])
    return masking.masked_softmax(scores, mask) @ values, None


# ------------------------------------------------------------------------------------------- leaks


@hole("leaks", MANY)
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
    hole("leaks", MANY, name=what)(leaks_in_pairs(pairs))

TOLERANCES = {
    "a tolerance of a thousandth": partial(np.allclose, rtol=0, atol=1e-3),
    "the tolerance of allclose": np.allclose,
    "sums": lambda a, b: np.allclose(a.sum(), b.sum(), rtol=0, atol=1e-6),
    "sums over features": lambda a, b: np.allclose(a.sum(axis=-1), b.sum(axis=-1), rtol=0, atol=1e-6),
    "means": lambda a, b: np.allclose(a.mean(), b.mean(), rtol=0, atol=1e-6),
}
for what, close in TOLERANCES.items():
    hole("leaks", MANY, name=what)(leaks_if_not(close))


# ------------------------------------------------------------------------------------------- dropout's cache


def cached_by(training, resting):
    """A dropout whose output is right, with a cache of its own: training(scale), or `resting` without a generator."""

    def dropout(x, rate, rng=None):
        output, scale = residual.dropout(x, rate, rng)
        return output, resting if rng is None else training(scale)

    return dropout


def same(scale):
    return scale


hole("dropout", name="no cache without a generator")(cached_by(same, None))
hole("dropout", name="another number without a generator")(cached_by(same, 2.0))
hole("dropout", name="what was kept as a cache")(cached_by(lambda scale: scale > 0, 1.0))
hole("dropout", name="a cache of ones")(cached_by(np.ones_like, 1.0))


# ------------------------------------------------------------------------------------------- padding and marks


@hole("decode")
def decode_ignores_pad(params, tgt, memory, src, n_heads, pad=0):
    return decoded(params, tgt, memory, src, n_heads, 0)


@hole("decode")
def target_mask_ignores_pad(params, tgt, memory, src, n_heads, pad=0):
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=masking.target_mask(tgt, 0))


@hole("decode")
def memory_mask_ignores_pad(params, tgt, memory, src, n_heads, pad=0):
    over_memory = masking.memory_mask(src, tgt.shape[-1], 0)
    return decoded(params, tgt, memory, src, n_heads, pad, over_memory=over_memory)


@hole("loss_and_gradients")
def model_without_pad(params, src, tgt, n_heads, pad=0):
    return trained(params, src, tgt, n_heads, pad, forward=lambda p, s, t, n, pad: model.forward(p, s, t, n))


@hole("loss_and_gradients")
def loss_without_pad(params, src, tgt, n_heads, pad=0):
    return trained(params, src, tgt, n_heads, pad, loss=lambda logits, asked, pad: model.cross_entropy(logits, asked))


for part in PADS:

    @hole("repaired_model_loss", name=f"pad is 0 for the {part}")
    def repaired_model_loss(params, src, tgt, n_heads, pad, part=part):
        return loss_by_pads(params, src, tgt, n_heads, **dict.fromkeys(PADS, pad) | {part: 0})


for part, told in (("model", (False, False)), ("decoder", (True, False)), ("encoder", (False, True))):
    hole("greedy_decode", SOME, name=f"pad is 0 for the {part}")(padded_by(*told))


@hole("greedy_decode", SOME)
def zeros_after_the_end(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    def keep(newest, ended):
        return np.where(ended, 0, newest)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, keep=keep)


@hole("greedy_decode", SOME)
def begin_mark_is_one(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    return decoding.greedy_decode(params, src, n_heads, max_length, 1, eos, pad)


def beams_by(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad, **changed):
    return beams_found(
        params, src, n_heads, beam_width, max_length, bos, eos, pad, score=by_penalty(length_penalty), **changed
    )


@hole("beam_search", MANY)
def beams_without_pad(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    tokens, scores = beams_by(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, 0)
    ends = np.cumsum(tokens == eos, axis=1) - (tokens == eos) > 0
    return np.where(ends, pad, tokens), scores


@hole("beam_search", MANY)
def beams_of_begin_mark_one(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    return beams_by(params, src, n_heads, beam_width, length_penalty, max_length, 1, eos, pad)


@hole("beam_search", MANY)
def beams_of_end_mark_two(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    return beams_by(params, src, n_heads, beam_width, length_penalty, max_length, bos, 2, pad)


@hole("beam_search", MANY)
def beams_pruned_by_log_p(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    settings = (beam_width, length_penalty, max_length, bos, eos, pad)
    return beams_by(params, src, n_heads, *settings, rank=by_penalty(0))


@hole("Transformer", name="pad is 0")
class ModelOfPadZero(model_torch.Transformer):
    def padding_mask(self, tokens):
        return (tokens != 0).unsqueeze(-2)


# ------------------------------------------------------------------------------------------- positions


def with_a_table_of(n_rows):
    def embedding(tokens, table, start=0):
        output, cache = position.embed(tokens, table)
        encoding = position.sinusoidal_encoding(n_rows, table.shape[1])[start : start + tokens.shape[-1]]
        return output + encoding.astype(table.dtype), cache

    return embedding


for n_rows in (10, 100, 512):
    hole("positional_embedding", MANY, name=f"a table of {n_rows} rows")(with_a_table_of(n_rows))


# ------------------------------------------------------------------------------------------- training


def before_the_last_word(targets, pad):
    """The targets up to the last word of each sentence, padding before a word included."""
    return np.logical_or.accumulate((targets != pad)[..., ::-1], axis=-1)[..., ::-1]


def before_the_first_padding(targets, pad):
    return np.logical_and.accumulate(targets != pad, axis=-1)


def as_many_as_words(targets, pad):
    """The first places of each sentence, as many as it has words."""
    return np.arange(targets.shape[-1]) < (targets != pad).sum(axis=-1, keepdims=True)


for counted in (before_the_last_word, before_the_first_padding, as_many_as_words):

    @hole("smoothed_cross_entropy", name=counted.__name__)
    def smoothed(logits, targets, smoothing=0.0, pad=0, counted=counted):
        counts = counted(targets, pad)
        return training.smoothed_cross_entropy(logits[counts], targets[counts], smoothing, pad=-1)

    @hole("repaired_padded_loss", name=counted.__name__)
    def hard(logits, targets, pad, counted=counted):
        counts = counted(targets, pad)
        return model.cross_entropy(logits[counts], targets[counts], pad=-1)[0]


@hole("smoothed_cross_entropy_backward")
def rows_in_the_first_places(grad_loss, cache):
    counted = cache[2]
    first = np.arange(counted.shape[-1]) < counted.sum(axis=-1, keepdims=True)
    return training.smoothed_cross_entropy_backward(grad_loss, (*cache[:2], first, cache[3]))


@hole("exact_match", MANY)
def cut_before_the_end(predictions, references, eos=2):
    def words(tokens):
        return tokens[: tokens.tolist().index(eos)].tolist() if eos in tokens else tokens.tolist()

    pairs = zip(predictions, references, strict=True)
    return sum(words(p) == words(r) for p, r in pairs) / len(references)


@hole("adam_step")
def only_step_zero_refused(parameters, gradients, moments, step, *constants, **named):
    if step == 0:
        raise ValueError("steps count from 1")
    return training.adam_step(parameters, gradients, moments, max(step, 1), *constants, **named)


# ------------------------------------------------------------------------------------------- the test


@pytest.mark.parametrize(("exercise", "wrong", "seeds"), HOLES)
def test_it_is_rejected(exercise, wrong, seeds):
    assert [seed for seed in (PUBLIC_SEED, *seeds[:2]) if accepted(exercise, wrong, seed)] == []


@pytest.mark.thorough("more keys, for wrong answers that only some keys accepted")
@pytest.mark.parametrize(("exercise", "wrong", "seeds"), [hole for hole in HOLES if len(hole.values[2]) > 2])
def test_no_other_key_accepts_it(exercise, wrong, seeds):
    assert [seed for seed in seeds[2:] if accepted(exercise, wrong, seed)] == []
