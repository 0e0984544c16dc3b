"""Chapter 8, decoding: write a target word by word, greedily or with a beam.

No other part of the model has a loop over positions. Here each token depends on the tokens written before it.
"""

import numpy as np

from solutions.attention import attention
from solutions.backward import linear
from solutions.heads import merge_heads
from solutions.logarithms import log_softmax
from solutions.masked_attention import masked_attention
from solutions.masking import padding_mask
from solutions.model import decode, encode, table_for, unembed
from solutions.multihead import split_heads
from solutions.position import positional_embedding, rotate
from solutions.residual import add_norm, feed_forward


def greedy_decode(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Write the likeliest next token until every sentence has ended.

    Args:
        params: see `encode`.
        src: (N, T_src), integers.
        n_heads: int
        max_length: how many tokens may be written.
        bos, eos, pad: the begin mark, the end mark, the padding token.

    Returns:
        tokens: (N, T), T <= max_length, integers, without the begin mark;
            padding after the end mark.
    """
    memory, _ = encode(params, src, n_heads, pad)
    tokens = np.full((len(src), 1), bos)
    while not _all_written(tokens, max_length, eos):
        logits, _ = decode(params, tokens, memory, src, n_heads, pad)
        tokens = _write(tokens, logits[:, -1], eos, pad)
    return tokens[:, 1:]


def incremental_greedy_decode(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """The tokens of `greedy_decode`, without computing the keys and values of old positions again.

    Args and returns: as `greedy_decode`.
    """
    memory, _ = encode(params, src, n_heads, pad)
    tokens = np.full((len(src), 1), bos)
    past = start_past(params, memory, n_heads)
    while not _all_written(tokens, max_length, eos):
        logits, past = decode_step(params, tokens, past, src, n_heads, pad)
        tokens = _write(tokens, logits, eos, pad)
    return tokens[:, 1:]


def start_past(params, memory, n_heads):
    """What a decoder remembers before its first step: keys and values of the memory, and none of the target.

    Args:
        params: nested dict, see `model`.
        memory: (N, T_src, d_model)
        n_heads: int

    Returns:
        past: one (keys, values, memory_keys, memory_values) per decoder layer; the first two
            (N, n_heads, 0, d_head), the others (N, n_heads, T_src, d_head).
    """
    past = []
    for layer in params["decoder"]:
        memory_keys = _heads(memory, layer["cross_attention"], "key", n_heads)
        memory_values = _heads(memory, layer["cross_attention"], "value", n_heads)
        past.append((memory_keys[..., :0, :], memory_values[..., :0, :], memory_keys, memory_values))
    return past


def decode_step(params, tokens, past, src, n_heads, pad=0):
    """The last row of `decode`'s logits, from the newest token and what the decoder remembers of the older ones.

    Args:
        params: nested dict, see `model`.
        tokens: (N, t), integers, what is written so far; only the last is new.
        past: what the step before returned, or `start_past`; it holds t - 1 positions.
        src: (N, T_src), integers, of which only the padding matters here.
        n_heads: int
        pad: the padding token.

    Returns:
        logits: (N, vocab)
        past: the one for the next step, which holds t positions.
    """
    # This needs no causal mask, because later tokens do not exist yet.
    over_target, over_memory = padding_mask(tokens, pad), padding_mask(src, pad)
    embeddings = params["embeddings"]
    x, _ = positional_embedding(tokens[:, -1:], table_for(embeddings, "target"), start=tokens.shape[1] - 1)
    new_past = []
    for layer, (keys, values, memory_keys, memory_values) in zip(params["decoder"], past, strict=True):
        keys = np.concatenate([keys, _heads(x, layer["attention"], "key", n_heads)], axis=-2)
        values = np.concatenate([values, _heads(x, layer["attention"], "value", n_heads)], axis=-2)
        attended = _attend(x, keys, values, layer["attention"], n_heads, over_target)
        x, _ = add_norm(x, attended, layer["norm_attention"])
        recalled = _attend(x, memory_keys, memory_values, layer["cross_attention"], n_heads, over_memory)
        x, _ = add_norm(x, recalled, layer["norm_cross_attention"])
        thought, _ = feed_forward(x, layer["feed_forward"])
        x, _ = add_norm(x, thought, layer["norm_feed_forward"])
        new_past.append((keys, values, memory_keys, memory_values))
    logits, _ = unembed(x[:, 0], table_for(embeddings, "output"))
    return logits, new_past


def window_step(x, params, keys, values, place, window, n_heads):
    """Attend from the newest position to the last few.

    Args:
        x: (..., 1, d_model), the newest position.
        params: dict with w_query (d_model, n_heads d_head), w_key and
            w_value (d_model, n_groups d_head), w_output
            (n_heads d_head, d_model), and b_query, b_key, b_value,
            b_output to match.
        keys: (..., n_groups, T_kept, d_head), the stored keys of the
            positions before x, rotated; T_kept is 0 before the first
            position, and may exceed `window` if the beginning of the text
            was read at once.
        values: (..., n_groups, T_kept, d_head)
        place: int, the position of x in the whole text; the first is 0.
        window: int, how many positions x sees, including itself.
        n_heads: int, a multiple of n_groups. The first n_heads / n_groups
            heads share the first keys and values, and so on.

    Returns:
        output: (..., 1, d_model), in the dtype of x.
        keys: (..., n_groups, T_new, d_head), rotated, with those of x last;
            T_new = min(T_kept + 1, window).
        values: (..., n_groups, T_new, d_head), with those of x last.

    Source: Ainslie et al. 2023, Beltagy et al. 2020, Su et al. 2021.
    """
    n_groups, positions = keys.shape[-3], np.array([place])
    query, key, value = (linear(x, params[f"w_{role}"], params[f"b_{role}"])[0] for role in ("query", "key", "value"))
    queries, new_keys = rotate(split_heads(query, n_heads), positions), rotate(split_heads(key, n_groups), positions)
    keys = np.concatenate([keys, new_keys], axis=-2)[..., -window:, :]
    values = np.concatenate([values, split_heads(value, n_groups)], axis=-2)[..., -window:, :]
    shared = (kept.repeat(n_heads // n_groups, axis=-3) for kept in (keys, values))
    heads, _ = attention(queries, *shared)
    output, _ = linear(merge_heads(heads), params["w_output"], params["b_output"])
    return output, keys, values


def beam_search(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Keep the most promising beginnings at every step.

    Args:
        params: see `encode`.
        src: (T_src,), integers, one sentence.
        n_heads: int
        beam_width: how many hypotheses are kept; 1 is greedy decoding.
        length_penalty: alpha. A hypothesis of L tokens, including its end
            mark, scores log p / ((5 + L) / 6)^alpha.
        max_length: how many tokens may be written.
        bos, eos, pad: the begin mark, the end mark, the padding token.

    Returns:
        tokens: (beam_width, T), integers, best first, without the begin
            mark; padding after the end mark.
        scores: (beam_width,)

    Source: Wu et al. 2016 (arXiv 1609.08144), equation 14, with
    alpha = 0.6 and width 4 as in Vaswani et al. 2017, section 6.1.
    """
    memory, _ = encode(params, src[np.newaxis], n_heads, pad)
    tokens = np.array([[bos]])
    log_probabilities = scores = np.zeros(1)
    while not _all_written(tokens, max_length, eos):
        width = len(tokens)
        logits, _ = decode(params, tokens, memory.repeat(width, 0), np.tile(src, (width, 1)), n_heads, pad)
        candidates = log_softmax(logits[:, -1])
        # A finished hypothesis has one continuation, padding, which changes neither its score nor its length.
        finished = (tokens == eos).any(axis=1)
        candidates[finished] = -np.inf
        candidates[finished, pad] = 0
        candidates = candidates + log_probabilities[:, np.newaxis]
        lengths = np.where(finished, (tokens == eos).argmax(axis=1), tokens.shape[1])
        candidate_scores = (candidates / ((5 + lengths[:, np.newaxis]) / 6) ** length_penalty).reshape(-1)
        best = np.argsort(-candidate_scores, kind="stable")[:beam_width]
        best = best[candidate_scores[best] > -np.inf]
        parents, newest = np.divmod(best, candidates.shape[1])
        tokens = np.concatenate([tokens[parents], newest[:, np.newaxis]], axis=1)
        log_probabilities, scores = candidates.reshape(-1)[best], candidate_scores[best]
    return tokens[:, 1:], scores


def _all_written(tokens, max_length, eos):
    """Whether every row has its end mark, or max_length tokens after its begin mark."""
    return tokens.shape[1] > max_length or bool((tokens == eos).any(axis=1).all())


def _write(tokens, logits, eos, pad):
    """Append the likeliest token to each row, and padding to rows that have ended."""
    finished = (tokens == eos).any(axis=1)
    newest = np.where(finished, pad, logits.argmax(axis=-1))
    return np.concatenate([tokens, newest[:, np.newaxis]], axis=1)


def _heads(x, params, name, n_heads):
    """One of the projections "query", "key" and "value" of multi-head attention, split into heads."""
    projected, _ = linear(x, params[f"w_{name}"], params[f"b_{name}"])
    return split_heads(projected, n_heads)


def _attend(x, keys, values, params, n_heads, mask):
    """Multi-head attention of x to keys and values that are already projected and split."""
    attended, _ = masked_attention(_heads(x, params, "query", n_heads), keys, values, np.expand_dims(mask, -3))
    output, _ = linear(merge_heads(attended), params["w_output"], params["b_output"])
    return output
