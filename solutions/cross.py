"""Chapter 7, cross-attention: the decoder asks, the encoder's output answers.

The encoder's output is called the memory, (..., T_memory, d_model). It need not be as long as the decoder's
sequence.
"""

from typing import Any, NamedTuple

import numpy as np

from solutions.masked_attention import masked_attention
from solutions.masking import causal_mask
from solutions.multihead import multi_head_attention, multi_head_attention_backward
from solutions.residual import add_norm, add_norm_backward, feed_forward, feed_forward_backward


class DecoderLayerCache(NamedTuple):
    """What `decoder_layer` keeps: the cache of each of its six steps. A plain tuple of the six also works."""

    attention_cache: Any
    norm_attention_cache: Any
    cross_cache: Any
    norm_cross_cache: Any
    feed_forward_cache: Any
    norm_feed_forward_cache: Any


def cross_attention(x, memory, w_query, w_key, w_value, mask):
    """Attention of one sequence, x, to another, the memory.

    Args:
        x: (..., T, d_model)
        memory: (..., T_memory, d_memory)
        w_query: (d_model, d_key)
        w_key: (d_memory, d_key)
        w_value: (d_memory, d_value)
        mask: boolean, broadcastable to (..., T, T_memory),
            True = may attend.

    Returns:
        output: (..., T, d_value), in the dtype of x, finite however large
            the scores; zero for a query that may attend to nothing.
        cache: (x, memory, w_query, w_key, w_value, attention_cache)

    Source: Vaswani et al. 2017, section 3.2.3, "encoder-decoder attention".
    """
    output, attention_cache = masked_attention(x @ w_query, memory @ w_key, memory @ w_value, mask)
    return output, (x, memory, w_query, w_key, w_value, attention_cache)


def multi_head_cross_attention_backward(grad_output, cache):
    """The gradients of multi-head cross-attention, for both inputs.

    Args:
        grad_output: (..., T, d_model)
        cache: the cache of `multi_head_attention`, which got x as the
            query, and the memory as the key and the value.

    Returns:
        grad_x: (..., T, d_model)
        grad_memory: (..., T_memory, d_memory)
        grad_params: dict with the keys and shapes of params.

    All gradients are in the dtype of grad_output.

    Source: derived in this chapter.
    """
    grad_x, memory_from_keys, memory_from_values, grad_params = multi_head_attention_backward(grad_output, cache)
    return grad_x, memory_from_keys + memory_from_values, grad_params


def copies_source(n_words, backwards):
    """Choose cross-attention weights with which a decoder copies.

    Let n = n_words + 1; the number n_words stands for the mark. A row of x
    (T, n) has a one for the token that the decoder wrote last, which is the
    mark at first. A row of the memory (T_memory, 2 * n) has a one for the
    word at its place, and in the second half a one for the word before it.
    The mark follows the last word, and counts as the word before the first
    one. No word occurs twice in a sentence.

    Each position gives at least 99% of its weight to one place of the
    memory, and its output is largest for the token that comes next.

    Args:
        n_words: int, the number of words, up to 100.
        backwards: bool, whether the decoder writes from the last word to
            the first. The mark comes last in both directions.

    Returns:
        w_query: (n, d_key), for any d_key up to 512.
        w_key: (2 * n, d_key)
        w_value: (2 * n, n)
    """
    n = n_words + 1
    here, before = np.eye(2 * n, n), np.eye(2 * n, n, k=-n)
    w_key, w_value = (here, before) if backwards else (before, here)
    # The right key scores 12 and all others 0, after the division by sqrt(d_key).
    return 12 * np.sqrt(n) * np.eye(n), w_key, w_value


def finds_subject(kinds, length):
    """Choose self-attention weights with which each verb finds its subject.

    A row of the input x (T, n_words + length), with T <= length, has two
    ones: in the column of the word, and in the column n_words + position.
    A position sees itself and earlier positions. The subject of a verb is
    the last noun before it that has the verb's number. Every verb has one.

    Each verb gives at least 99% of its weight to its subject, and its
    output is largest in the column of the subject. Other words may attend
    to anything.

    Args:
        kinds: (n_words,), ints, what each word is: 1 for a singular noun, 2
            for a plural noun, 3 for a singular verb, 4 for a plural verb, 0
            for any other word.
        length: int, the most words in a sentence.

    Returns:
        w_query: (n_words + length, d_key), for any d_key up to 512.
        w_key: (n_words + length, d_key)
        w_value: (n_words + length, n_words)
    """
    n_words = len(kinds)
    w_query, w_key = np.zeros((2, n_words + length, 3))
    for column, (noun, verb) in enumerate(((1, 3), (2, 4))):
        w_query[:n_words, column] = kinds == verb
        w_key[:n_words, column] = length * (kinds == noun)  # more than any difference of positions
    w_query[:n_words, 2] = kinds >= 3
    w_key[n_words:, 2] = np.arange(length)
    # Each position later adds 10 to the score, and the division by sqrt(d_key) is undone.
    return 10 * np.sqrt(3) * w_query, w_key, np.eye(n_words + length, n_words)


def decoder_layer(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Self-attention, cross-attention, feed-forward, each with "Add & Norm".

    Args:
        x: (..., T, d_model)
        memory: (..., T_memory, d_model), the encoder's output.
        params: dict of attention and cross_attention (see
            `multi_head_attention`), feed_forward (see `feed_forward`),
            norm_attention, norm_cross_attention and norm_feed_forward
            (gain, bias), one norm after each sub-layer.
        n_heads: int
        self_mask: None, or boolean, broadcastable to (..., T, T),
            True = may attend.
        memory_mask: None, or boolean, broadcastable to (..., T, T_memory),
            True = may attend.
        rate, rng: see `dropout`.

    Returns:
        output: (..., T, d_model), in the dtype of x. In each head of both
            attentions, a query that may attend to nothing gets zeros.
        cache: (attention_cache, norm_attention_cache, cross_cache,
            norm_cross_cache, feed_forward_cache, norm_feed_forward_cache)

    Source: Vaswani et al. 2017, section 3.1 and figure 1, right.
    """
    attended, attention_cache = multi_head_attention(x, x, x, params["attention"], n_heads, self_mask)
    x, norm_attention_cache = add_norm(x, attended, params["norm_attention"], rate, rng)
    recalled, cross_cache = multi_head_attention(x, memory, memory, params["cross_attention"], n_heads, memory_mask)
    x, norm_cross_cache = add_norm(x, recalled, params["norm_cross_attention"], rate, rng)
    thought, feed_forward_cache = feed_forward(x, params["feed_forward"])
    output, norm_feed_forward_cache = add_norm(x, thought, params["norm_feed_forward"], rate, rng)
    return output, DecoderLayerCache(
        attention_cache,
        norm_attention_cache,
        cross_cache,
        norm_cross_cache,
        feed_forward_cache,
        norm_feed_forward_cache,
    )


def diagnose_decoder(inputs, weights, output):
    """Name the bug of a decoder's cross-attention, and what shows it first.

    Args:
        inputs: dict of what a correct sub-layer gets, with T = T_memory.
            x: (N, T, d), the input of the decoder layer.
            stream: (N, T, d), x after self-attention with "Add & Norm".
            memory: (N, T, d), the encoder's output.
            source_mask: (N, 1, T) boolean, True = a word of the source.
            target_mask: (N, 1, T) boolean, True = a word of the target.
            w_query, w_key, w_value: (d, d), of a single head.
            norm: dict of gain (d,), bias (d,), as for `add_norm`.
        weights: (N, T, T), from the cross-attention. A query that may
            attend to nothing has weights of zero.
        output: (N, T, d), of the cross-attention with "Add & Norm".

    Returns:
        bug: str, a name in the table of 'A decoder with one bug'.
        first: (array, sentence), a str and an int. The array is "weights",
            or "output" if all weights are right, and the sentence is the
            first in which it differs from that of a correct sub-layer; None
            if nothing differs.
    """
    stream, memory, source = inputs["stream"], inputs["memory"], inputs["source_mask"]

    def sublayer(asks=stream, searched=memory, handed_over=memory, mask=source, residual=stream):
        queries, keys, values = asks @ inputs["w_query"], searched @ inputs["w_key"], handed_over @ inputs["w_value"]
        update, (*_, shares) = masked_attention(queries, keys, values, mask)
        return shares, add_norm(residual, update, inputs["norm"])[0]

    right = sublayer()
    with_bug = {
        "keys from the target": lambda: sublayer(searched=stream),
        "values from the target": lambda: sublayer(handed_over=stream),
        "queries and keys exchanged": lambda: sublayer(asks=memory, searched=stream),
        "memory and target exchanged": lambda: sublayer(asks=memory, searched=stream, handed_over=stream),
        "no mask": lambda: sublayer(mask=np.ones_like(source)),
        "mask transposed": lambda: sublayer(mask=source.swapaxes(-1, -2)),
        "mask of the target": lambda: sublayer(mask=inputs["target_mask"]),
        "causal mask as well": lambda: sublayer(mask=source & causal_mask(stream.shape[1])),
        "residual from x": lambda: sublayer(residual=inputs["x"]),
        "no residual": lambda: sublayer(residual=np.zeros_like(stream)),
        "norm before the sum": lambda: (right[0], stream + sublayer(residual=np.zeros_like(stream))[1]),
    }
    for name, expected, array in zip(("weights", "output"), right, (weights, output), strict=True):
        wrong = ~np.isclose(array, expected).all(axis=(1, 2))
        if wrong.any():
            bug = next(bug for bug, make in with_bug.items() if all(map(np.allclose, make(), (weights, output))))
            return bug, (name, int(wrong.argmax()))
    return "nothing", None


def decoder_layer_backward(grad_output, cache):
    """The gradients of `decoder_layer`: its six steps in reverse.

    Args:
        grad_output: (..., T, d_model)
        cache: (attention_cache, norm_attention_cache, cross_cache,
            norm_cross_cache, feed_forward_cache, norm_feed_forward_cache)
            of `decoder_layer`.

    Returns:
        grad_x: (..., T, d_model)
        grad_memory: (..., T_memory, d_model)
        grad_params: nested dict with the keys and shapes of params.

    All gradients are in the dtype of grad_output.

    Source: derived in this chapter.
    """
    (
        attention_cache,
        norm_attention_cache,
        cross_cache,
        norm_cross_cache,
        feed_forward_cache,
        norm_feed_forward_cache,
    ) = cache
    grad_residual, grad_thought, grad_norm_feed_forward = add_norm_backward(grad_output, norm_feed_forward_cache)
    grad_through, grad_feed_forward = feed_forward_backward(grad_thought, feed_forward_cache)
    grad_x = grad_residual + grad_through
    grad_residual, grad_recalled, grad_norm_cross = add_norm_backward(grad_x, norm_cross_cache)
    grad_through, grad_memory, grad_cross = multi_head_cross_attention_backward(grad_recalled, cross_cache)
    grad_x = grad_residual + grad_through
    grad_residual, grad_attended, grad_norm_attention = add_norm_backward(grad_x, norm_attention_cache)
    grad_query, grad_key, grad_value, grad_attention = multi_head_attention_backward(grad_attended, attention_cache)
    # In the order of the derivation, from the output back.
    grad_params = {
        "norm_feed_forward": grad_norm_feed_forward,
        "feed_forward": grad_feed_forward,
        "norm_cross_attention": grad_norm_cross,
        "cross_attention": grad_cross,
        "norm_attention": grad_norm_attention,
        "attention": grad_attention,
    }
    return grad_residual + grad_query + grad_key + grad_value, grad_memory, grad_params
