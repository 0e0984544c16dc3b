"""Chapter 5, residual connections and layer normalisation: what surrounds attention in an encoder layer.

Parameters are plain nested dicts; their gradients come back as dicts of the same structure.
"""

from typing import Any, NamedTuple

import numpy as np

from solutions.backward import linear, linear_backward
from solutions.dropout import dropout, dropout_backward
from solutions.multihead import multi_head_attention, multi_head_attention_backward


class EncoderLayerCache(NamedTuple):
    """What `encoder_layer` keeps: the cache of each of its four steps. A plain tuple of the four also works."""

    attention_cache: Any
    norm_attention_cache: Any
    feed_forward_cache: Any
    norm_feed_forward_cache: Any


def layer_norm(x, gain, bias, eps=1e-5):
    """Bring each row to mean zero and variance one, then stretch and shift.

    Args:
        x: (..., d_model)
        gain: (d_model,)
        bias: (d_model,)
        eps: float, added to the variance, inside the root.

    Returns:
        output: (..., d_model), in the dtype of x.
        cache: (normalised, inverse_std, gain); normalised: (..., d_model),
            inverse_std: (..., 1), one over the root of variance plus eps.

    Source: Ba, Kiros & Hinton 2016 (arXiv 1607.06450), with the biased
    variance and the eps of `nn.LayerNorm`.
    """
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    inverse_std = 1 / np.sqrt(variance + eps)
    normalised = centred * inverse_std
    return normalised * gain + bias, (normalised, inverse_std, gain)


def tests_layer_norm(function):
    """Test a function that claims to be layer normalisation.

    Args:
        function: a candidate for `layer_norm`, with the same arguments:
            x (..., d_model), gain (d_model,) and bias (d_model,), all of the
            same dtype, and eps.

    Returns:
        verdict: True if the function keeps every promise of `layer_norm`:
            the right output for any leading axes and any eps, in the dtype
            of x, and x itself unchanged. Float32 rows with a mean of 1,000
            come out right to within 0.01. The cache may be anything. False
            if it breaks one. A failed `assert` or an exception also counts
            as False, and a test that ends without a `return` counts as
            True.
    """
    rng = np.random.default_rng(0)
    for shape in ((5,), (4, 6), (2, 3, 4), (2, 3, 4, 5)):
        x, gain, bias = (
            array.astype(np.float32) for array in (2 + 3 * rng.normal(size=shape), *rng.normal(size=(2, shape[-1])))
        )
        before = x.copy()
        output, _ = function(x, gain, bias, 0.5)
        spread = np.sqrt(before.var(axis=-1, keepdims=True) + 0.5)
        expected = (before - before.mean(axis=-1, keepdims=True)) / spread * gain + bias
        if output.dtype != x.dtype or output.shape != x.shape or not np.array_equal(x, before):
            return False
        if not np.allclose(output, expected, atol=1e-4):
            return False
    far = (1000 + rng.normal(size=(8, 16))).astype(np.float32)
    output, _ = function(far, np.ones(16, np.float32), np.zeros(16, np.float32))
    exact = (far - far.mean(axis=-1, keepdims=True, dtype=float)) / far.std(axis=-1, keepdims=True, dtype=float)
    return np.allclose(output, exact, rtol=0, atol=0.01)


def rms_norm_backward(grad_output, cache):
    """Return the gradients of `rms_norm`: of x by two paths, and of the gain.

    Args:
        grad_output: (..., d_model)
        cache: (normalised, inverse_rms, gain) of `rms_norm`.

    Returns:
        grad_x: (..., d_model)
        grad_gain: (d_model,), summed over all leading axes.

    Both gradients are in the dtype of grad_output.

    Source: derived in this chapter from Zhang & Sennrich 2019.
    """
    normalised, inverse_rms, gain = cache
    grad_normalised = grad_output * gain
    through_size = normalised * np.mean(grad_normalised * normalised, axis=-1, keepdims=True)
    leading_axes = tuple(range(grad_output.ndim - 1))
    return inverse_rms * (grad_normalised - through_size), np.sum(grad_output * normalised, axis=leading_axes)


def layer_norm_backward(grad_output, cache):
    """Three paths back to x: direct, through the mean, through the variance.

    Args:
        grad_output: (..., d_model)
        cache: (normalised, inverse_std, gain) of `layer_norm`.

    Returns:
        grad_x: (..., d_model); each row adds up to zero, because a number
            added to a whole row does not change the output.
        grad_gain: (d_model,), summed over all leading axes.
        grad_bias: (d_model,), summed over all leading axes.

    All gradients are in the dtype of grad_output.

    Source: derived in this chapter.
    """
    normalised, inverse_std, gain = cache
    grad_normalised = grad_output * gain
    through_mean = grad_normalised.mean(axis=-1, keepdims=True)
    through_variance = normalised * np.mean(grad_normalised * normalised, axis=-1, keepdims=True)
    grad_x = inverse_std * (grad_normalised - through_mean - through_variance)
    leading_axes = tuple(range(grad_output.ndim - 1))
    return grad_x, np.sum(grad_output * normalised, axis=leading_axes), np.sum(grad_output, axis=leading_axes)


def feed_forward(x, params):
    """Each position on its own: widen, keep what is positive, narrow.

    Args:
        x: (..., d_model)
        params: dict of w_in (d_model, d_ff), b_in (d_ff,),
            w_out (d_ff, d_model), b_out (d_model,).

    Returns:
        output: (..., d_model), in the dtype of x.
        cache: (in_cache, out_cache), those of the two linear layers;
            out_cache[0] is relu's output, (..., d_ff).

    Source: Vaswani et al. 2017, equation 2.
    """
    hidden, in_cache = linear(x, params["w_in"], params["b_in"])
    output, out_cache = linear(np.maximum(hidden, 0), params["w_out"], params["b_out"])
    return output, (in_cache, out_cache)


def feed_forward_backward(grad_output, cache):
    """Back through `feed_forward`: a gradient passes where the input did.

    Args:
        grad_output: (..., d_model)
        cache: (in_cache, out_cache) of `feed_forward`.

    Returns:
        grad_x: (..., d_model)
        grad_params: dict with the keys and shapes of params.

    All gradients are in the dtype of grad_output.

    Source: derived in this chapter.
    """
    in_cache, out_cache = cache
    grad_active, grad_w_out, grad_b_out = linear_backward(grad_output, out_cache)
    active, _ = out_cache
    grad_x, grad_w_in, grad_b_in = linear_backward(grad_active * (active > 0), in_cache)
    return grad_x, {"w_out": grad_w_out, "b_out": grad_b_out, "w_in": grad_w_in, "b_in": grad_b_in}


def residual_connection(x, update, rate=0.0, rng=None):
    """A note in the margin: x + dropout(update). Drop the update, never the stream.

    Args:
        x: (..., d_model), the stream.
        update: (..., d_model), what a sub-layer has to say about it.
        rate, rng: see `dropout`.

    Returns:
        output: (..., d_model)
        cache: the cache of `dropout`.

    Source: He et al. 2016 (arXiv 1512.03385); Vaswani et al. 2017, section 5.4.
    """
    update, dropout_cache = dropout(update, rate, rng)
    return x + update, dropout_cache


def residual_connection_backward(grad_output, cache):
    """A sum hands its gradient to both terms, unchanged.

    Args:
        grad_output: (..., d_model)
        cache: the cache of `residual_connection`.

    Returns:
        grad_x: (..., d_model)
        grad_update: (..., d_model)
    """
    return grad_output, dropout_backward(grad_output, cache)


def add_norm(x, update, params, rate=0.0, rng=None):
    """Add and norm: layer_norm(x + dropout(update)).

    Args:
        x: (..., d_model), what went into the sub-layer.
        update: (..., d_model), what came out of it.
        params: dict of gain (d_model,), bias (d_model,).
        rate, rng: see `dropout`.

    Returns:
        output: (..., d_model), in the dtype of x.
        cache: (dropout_cache, norm_cache)

    Source: Vaswani et al. 2017, sections 3.1 and 5.4 (post-norm).
    """
    kept, dropout_cache = dropout(update, rate, rng)
    output, norm_cache = layer_norm(x + kept, **params)
    return output, (dropout_cache, norm_cache)


def add_norm_backward(grad_output, cache):
    """Back through the norm, then through the sum to both of its terms.

    Args:
        grad_output: (..., d_model)
        cache: (dropout_cache, norm_cache) of `add_norm`.

    Returns:
        grad_x: (..., d_model), along the residual connection alone.
        grad_update: (..., d_model), zero where dropout dropped an entry.
        grad_params: dict of gain (d_model,), bias (d_model,).

    All gradients are in the dtype of grad_output.

    Source: derived in this chapter.
    """
    dropout_cache, norm_cache = cache
    grad_stream, grad_params = _norm_backward(grad_output, norm_cache)
    grad_x, grad_update = residual_connection_backward(grad_stream, dropout_cache)
    return grad_x, grad_update, grad_params


def encoder_layer(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Self-attention, then a feed-forward, each followed by "Add & Norm".

    Args:
        x: (..., T, d_model)
        params: dict of attention (see `multi_head_attention`),
            norm_attention (gain, bias), feed_forward (see `feed_forward`),
            norm_feed_forward (gain, bias).
        n_heads: int
        mask: None, or boolean, broadcastable to (..., T, T),
            True = may attend.
        rate, rng: see `dropout`.

    Returns:
        output: (..., T, d_model), in the dtype of x. In each head of the
            attention, a query that may attend to nothing gets zeros.
        cache: (attention_cache, norm_attention_cache, feed_forward_cache,
            norm_feed_forward_cache)

    Source: Vaswani et al. 2017, section 3.1 and figure 1, left.
    """
    attended, attention_cache = multi_head_attention(x, x, x, params["attention"], n_heads, mask)
    x, norm_attention_cache = add_norm(x, attended, params["norm_attention"], rate, rng)
    thought, feed_forward_cache = feed_forward(x, params["feed_forward"])
    output, norm_feed_forward_cache = add_norm(x, thought, params["norm_feed_forward"], rate, rng)
    return output, EncoderLayerCache(attention_cache, norm_attention_cache, feed_forward_cache, norm_feed_forward_cache)


def encoder_layer_backward(grad_output, cache):
    """The gradients of `encoder_layer`: its four steps in reverse.

    Args:
        grad_output: (..., T, d_model)
        cache: (attention_cache, norm_attention_cache, feed_forward_cache,
            norm_feed_forward_cache) of `encoder_layer`.

    Returns:
        grad_x: (..., T, d_model)
        grad_params: nested dict with the keys and shapes of params.

    All gradients are in the dtype of grad_output.

    Source: derived in this chapter.
    """
    attention_cache, norm_attention_cache, feed_forward_cache, norm_feed_forward_cache = cache
    grad_residual, grad_thought, grad_norm_feed_forward = add_norm_backward(grad_output, norm_feed_forward_cache)
    grad_through, grad_feed_forward = feed_forward_backward(grad_thought, feed_forward_cache)
    grad_x = grad_residual + grad_through
    grad_residual, grad_attended, grad_norm_attention = add_norm_backward(grad_x, norm_attention_cache)
    grad_query, grad_key, grad_value, grad_attention = multi_head_attention_backward(grad_attended, attention_cache)
    grad_params = {
        "norm_feed_forward": grad_norm_feed_forward,
        "feed_forward": grad_feed_forward,
        "norm_attention": grad_norm_attention,
        "attention": grad_attention,
    }
    return grad_residual + grad_query + grad_key + grad_value, grad_params


def pre_norm_encoder_layer(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The same two sub-layers, each with its norm before it: nothing stands on the way from x to the output.

    Args:
        x: (..., T, d_model)
        params: as for `encoder_layer`.
        n_heads: int
        mask: None, or boolean, broadcastable to (..., T, T),
            True = may attend.
        rate, rng: see `dropout`.

    Returns:
        output: (..., T, d_model)
        cache: (norm_attention_cache, attention_cache, add_attention_cache,
            norm_feed_forward_cache, feed_forward_cache, add_feed_forward_cache)

    Source: Xiong et al. 2020 (arXiv 2002.04745).
    """
    normed, norm_attention_cache = layer_norm(x, **params["norm_attention"])
    attended, attention_cache = multi_head_attention(normed, normed, normed, params["attention"], n_heads, mask)
    x, add_attention_cache = residual_connection(x, attended, rate, rng)
    normed, norm_feed_forward_cache = layer_norm(x, **params["norm_feed_forward"])
    thought, feed_forward_cache = feed_forward(normed, params["feed_forward"])
    output, add_feed_forward_cache = residual_connection(x, thought, rate, rng)
    return output, (
        norm_attention_cache,
        attention_cache,
        add_attention_cache,
        norm_feed_forward_cache,
        feed_forward_cache,
        add_feed_forward_cache,
    )


def pre_norm_encoder_layer_backward(grad_output, cache):
    """The gradients of `pre_norm_encoder_layer`: grad_output reaches x as it came, and each sub-layer adds its own.

    Args:
        grad_output: (..., T, d_model)
        cache: (norm_attention_cache, attention_cache, add_attention_cache,
            norm_feed_forward_cache, feed_forward_cache, add_feed_forward_cache)
            of `pre_norm_encoder_layer`.

    Returns:
        grad_x: (..., T, d_model)
        grad_params: nested dict with the keys and shapes of params.

    Source: derived in this chapter.
    """
    (
        norm_attention_cache,
        attention_cache,
        add_attention_cache,
        norm_feed_forward_cache,
        feed_forward_cache,
        add_feed_forward_cache,
    ) = cache
    grad_residual, grad_thought = residual_connection_backward(grad_output, add_feed_forward_cache)
    grad_normed, grad_feed_forward = feed_forward_backward(grad_thought, feed_forward_cache)
    grad_through, grad_norm_feed_forward = _norm_backward(grad_normed, norm_feed_forward_cache)
    grad_x = grad_residual + grad_through
    grad_residual, grad_attended = residual_connection_backward(grad_x, add_attention_cache)
    grad_query, grad_key, grad_value, grad_attention = multi_head_attention_backward(grad_attended, attention_cache)
    grad_through, grad_norm_attention = _norm_backward(grad_query + grad_key + grad_value, norm_attention_cache)
    grad_params = {
        "feed_forward": grad_feed_forward,
        "norm_feed_forward": grad_norm_feed_forward,
        "attention": grad_attention,
        "norm_attention": grad_norm_attention,
    }
    return grad_residual + grad_through, grad_params


def _norm_backward(grad_output, cache):
    """`layer_norm_backward`, its gradients of gain and bias as a dict, like the params."""
    grad_x, grad_gain, grad_bias = layer_norm_backward(grad_output, cache)
    return grad_x, {"gain": grad_gain, "bias": grad_bias}
