"""Wrong answers to the exercises of chapter 8 that write text."""

import numpy as np

from solutions.attention import attention
from solutions.backward import linear
from solutions.heads import merge_heads
from solutions.logarithms import log_softmax
from solutions.model import decode, encode
from solutions.multihead import split_heads
from solutions.position import rotate
from tests.explanations.registry import wrong


def greedy(params, src, n_heads, max_length, bos, eos, pad, freeze, end):
    memory, _ = encode(params, src, n_heads, pad)
    tokens, finished = np.full((len(src), 1), bos), np.zeros(len(src), bool)
    while tokens.shape[1] <= max_length and not finished.all():
        logits, _ = decode(params, tokens, memory, src, n_heads, pad)
        newest = logits[:, -1].argmax(axis=-1)
        ended = finished | (newest == eos)
        if freeze:
            newest = np.where(ended if end else finished, pad, newest)
        finished = ended
        tokens = np.concatenate([tokens, newest[:, None]], axis=1)
    return tokens[:, 1:]


@wrong("greedy_decode", "https://github.com/mistralai/mistral-inference/pull/270", names="words_after_the_end")
def finished_ones_continue(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Keeps writing after the end mark until all sentences have ended."""
    return greedy(params, src, n_heads, max_length, bos, eos, pad, freeze=False, end=False)


@wrong("greedy_decode", "https://github.com/thu-nics/C2C/pull/19", names="end_mark_lost")
def end_mark_padded(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Replaces the end mark by padding."""
    return greedy(params, src, n_heads, max_length, bos, eos, pad, freeze=True, end=True)


@wrong("greedy_decode", "https://github.com/guillaume-be/rust-bert/pull/86")
def source_not_masked(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Does not mask the padding of the source."""
    memory, _ = encode(params, src, n_heads, -1)
    tokens, finished = np.full((len(src), 1), bos), np.zeros(len(src), bool)
    while tokens.shape[1] <= max_length and not finished.all():
        logits, _ = decode(params, tokens, memory, src, n_heads, -1)
        newest = np.where(finished, pad, logits[:, -1].argmax(axis=-1))
        finished |= newest == eos
        tokens = np.concatenate([tokens, newest[:, None]], axis=1)
    return tokens[:, 1:]


def searched(params, src, n_heads, width, alpha, max_length, bos, eos, pad, *, copies=False, ends=True, steps=False):
    """Search with some of three bugs."""
    memory, _ = encode(params, src[None], n_heads, pad)
    tokens = np.full((width if copies else 1, 1), bos)
    sums = scores = np.zeros(len(tokens))
    while tokens.shape[1] <= max_length and not (ends and (tokens == eos).any(axis=1).all()):
        n = len(tokens)
        logits, _ = decode(params, tokens, memory.repeat(n, 0), np.tile(src, (n, 1)), n_heads, pad)
        candidates = log_softmax(logits[:, -1])
        finished = (tokens == eos).any(axis=1) & ends
        candidates[finished] = -np.inf
        candidates[finished, pad] = 0
        candidates = candidates + sums[:, None]
        lengths = np.where(finished & (not steps), (tokens == eos).argmax(axis=1), tokens.shape[1])
        ranked = (candidates / ((5 + lengths[:, None]) / 6) ** alpha).reshape(-1)
        best = np.argsort(-ranked, kind="stable")[:width]
        best = best[ranked[best] > -np.inf]
        parents, newest = np.divmod(best, candidates.shape[1])
        tokens = np.concatenate([tokens[parents], newest[:, None]], axis=1)
        sums, scores = candidates.reshape(-1)[best], ranked[best]
    return tokens[:, 1:], scores


@wrong("beam_search", "https://github.com/facebookresearch/ParlAI/pull/2047", names="identical_beams")
def equal_beginnings(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Begins with equal hypotheses, which stay equal."""
    return searched(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad, copies=True)


@wrong("beam_search", "https://github.com/jarobyte91/pytorch_beam_search/issues/5", names="not_normalised")
def no_length_penalty(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Does not divide by a power of the length."""
    return searched(params, src, n_heads, beam_width, 0.0, max_length, bos, eos, pad)


@wrong("beam_search", "https://github.com/OpenNMT/OpenNMT-tf/pull/456", names="padding_has_length")
def length_of_the_longest(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Divides finished hypotheses by the number of steps, too."""
    return searched(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad, steps=True)


@wrong("beam_search", "https://github.com/OpenNMT/OpenNMT-py/issues/60", names="ends_with_begin_mark")
def never_ends(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Goes on after the end mark."""
    return searched(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad, ends=False)


def step(x, params, keys, values, n_heads, kept, of_query, of_key):
    n_groups = keys.shape[-3]
    query, key, value = (linear(x, params[f"w_{role}"], params[f"b_{role}"])[0] for role in ("query", "key", "value"))
    queries = rotate(split_heads(query, n_heads), np.array([of_query]))
    new_keys = rotate(split_heads(key, n_groups), np.array([of_key]))
    keys = np.concatenate([keys, new_keys], axis=-2)
    values = np.concatenate([values, split_heads(value, n_groups)], axis=-2)
    first = max(0, keys.shape[-2] - kept) if kept else 0
    keys, values = keys[..., first:, :], values[..., first:, :]
    heads, _ = attention(queries, *(x.repeat(n_heads // n_groups, axis=-3) for x in (keys, values)))
    return linear(merge_heads(heads), params["w_output"], params["b_output"])[0], keys, values


@wrong("window_step", "https://github.com/sgl-project/sglang/pull/34273", names="one_too_many")
def sees_one_more(x, params, keys, values, place, window, n_heads):
    """Keeps one position too many."""
    return step(x, params, keys, values, n_heads, window + 1, place, place)


@wrong("window_step", "https://github.com/microsoft/unilm/issues/1612", names="one_too_few")
def sees_one_less(x, params, keys, values, place, window, n_heads):
    """Subtracts one from the window twice."""
    return step(x, params, keys, values, n_heads, max(1, window - 1), place, place)


@wrong("window_step", "https://github.com/EricLBuehler/mistral.rs/issues/246", names="never_trimmed")
def never_cut(x, params, keys, values, place, window, n_heads):
    """Keeps everything."""
    return step(x, params, keys, values, n_heads, None, place, place)


@wrong("window_step", "https://github.com/RobertCsordas/moeut/pull/6", names="query_not_rotated")
def query_at_zero(x, params, keys, values, place, window, n_heads):
    """Rotates the query as if it stood at position 0."""
    return step(x, params, keys, values, n_heads, window, 0, place)


@wrong("window_step", "https://github.com/fla-org/flash-linear-attention/issues/766", names="place_from_one")
def one_place_too_far(x, params, keys, values, place, window, n_heads):
    """Counts the new position before it rotates."""
    return step(x, params, keys, values, n_heads, window, place + 1, place + 1)
