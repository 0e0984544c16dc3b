"""More wrong answers to chapter 10, letters and sounds."""

import math

import numpy as np

from solutions.attention import attention
from solutions.backward import linear
from solutions.heads import merge_heads
from solutions.model import backward, forward, unembed
from solutions.multihead import split_heads
from solutions.parameters import flatten, map_tree
from solutions.position import positional_embedding
from solutions.project import clip_gradients
from solutions.residual import add_norm, feed_forward
from solutions.training import (
    adam_step,
    noam_learning_rate,
    smoothed_cross_entropy,
    smoothed_cross_entropy_backward,
    zero_moments,
)
from tests.explanations.registry import wrong


def continued(
    run, batches, n_heads, longest, smoothing, pad, rate_at, clip=clip_gradients, moments=None, counted_from=None
):
    params, moments, step = run["params"], moments or run["moments"], run["step"]
    adam_at = step if counted_from is None else counted_from
    log = []
    for src, tgt in batches:
        step, adam_at = step + 1, adam_at + 1
        logits, cache = forward(params, src, tgt[:, :-1], n_heads, pad)
        loss, loss_cache = smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
        clipped, length = clip(backward(smoothed_cross_entropy_backward(1.0, loss_cache), cache), longest)
        params, moments = adam_step(params, clipped, moments, adam_at, rate_at(step))
        log.append((float(loss), length))
    return {"params": params, "moments": moments, "step": step}, np.array(log).reshape(-1, 2)


def paper_rate(step, peak, warmup):
    return peak * math.sqrt(warmup) * noam_learning_rate(step, 1, warmup)


@wrong("continue_run", "https://github.com/PolymathicAI/the_well/pull/63", names="schedule_again")
def rate_starts_again(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Begins the schedule again."""
    before = run["step"]
    return continued(
        run, batches, n_heads, longest, smoothing, pad, lambda step: paper_rate(step - before, peak, warmup)
    )


@wrong("continue_run", "https://github.com/LibreYOLO/libreyolo/pull/277", names="new_moments")
def moments_dropped(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Begins with moments of zero."""
    zeros = zero_moments(run["params"])
    return continued(
        run, batches, n_heads, longest, smoothing, pad, lambda step: paper_rate(step, peak, warmup), moments=zeros
    )


@wrong("continue_run", "https://github.com/tugstugi/pytorch-saltnet/issues/7", names="schedule_behind")
def first_rate_twice(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """The schedule is one step late."""
    return continued(
        run, batches, n_heads, longest, smoothing, pad, lambda step: paper_rate(max(1, step - 1), peak, warmup)
    )


@wrong("continue_run", "https://github.com/huggingface/transformers/issues/581", names="each_array")
def each_array_alone(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Shortens each array by its own length."""

    def clip(gradients, longest):
        return map_tree(lambda g: clip_gradients(g, longest)[0], gradients), float(np.linalg.norm(flatten(gradients)))

    return continued(
        run, batches, n_heads, longest, smoothing, pad, lambda step: paper_rate(step, peak, warmup), clip=clip
    )


@wrong("continue_run", "https://github.com/facebookresearch/ParlAI/pull/4384", names="no_descent")
def rate_stays(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """The rate stays at its peak after the climb."""
    return continued(run, batches, n_heads, longest, smoothing, pad, lambda step: peak * min(1, step / warmup))


@wrong("continue_run", "https://github.com/tensorflow/tensor2tensor/issues/555")
def rate_climbs_exponentially(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """The rate climbs exponentially."""

    def rate(step):
        return peak * (100 ** (step / warmup - 1) if step < warmup else math.sqrt(warmup / step))

    return continued(run, batches, n_heads, longest, smoothing, pad, rate)


def stepped(params, token, past, n_heads, start, drop=0):
    table = params["embeddings"]["shared"]
    x, _ = positional_embedding(token[:, None], table, start=start)
    new_past = []
    for layer, (keys, values) in zip(params["layers"], past, strict=True):
        weights = layer["attention"]
        query, key, value = (
            split_heads(linear(x, weights[f"w_{role}"], weights[f"b_{role}"])[0], n_heads)
            for role in ("query", "key", "value")
        )
        keys, values = np.concatenate([keys, key], axis=-2), np.concatenate([values, value], axis=-2)
        seen = keys[..., : keys.shape[-2] - drop, :], values[..., : keys.shape[-2] - drop, :]
        heads, _ = attention(query, *(seen if seen[0].shape[-2] else (keys, values)))
        attended, _ = linear(merge_heads(heads), weights["w_output"], weights["b_output"])
        x, _ = add_norm(x, attended, layer["norm_attention"])
        x, _ = add_norm(x, feed_forward(x, layer["feed_forward"])[0], layer["norm_feed_forward"])
        new_past.append((keys, values))
    return unembed(x[:, 0], table)[0], new_past


@wrong("stack_step", "https://github.com/Blaizzy/mlx-vlm/issues/1983", names="first_place")
def always_at_zero(params, token, past, n_heads):
    """Every token stands at position 0."""
    return stepped(params, token, past, n_heads, 0)


@wrong("stack_step", "https://github.com/skyzh/tiny-llm/pull/46", names="positional_embedding.start_counted_twice")
def offset_counted_twice(params, token, past, n_heads):
    """Counts the older tokens twice."""
    return stepped(params, token, past, n_heads, 2 * past[0][0].shape[-2])


@wrong("stack_step", "https://github.com/fla-org/flash-linear-attention/issues/766", names="one_too_far")
def one_position_too_far(params, token, past, n_heads):
    """Counts the new token among the older ones."""
    return stepped(params, token, past, n_heads, past[0][0].shape[-2] + 1)


@wrong("stack_step", "https://github.com/tenstorrent/tt-forge-onnx/issues/422", names="not_itself")
def itself_not_seen(params, token, past, n_heads):
    """Does not attend to the newest position."""
    return stepped(params, token, past, n_heads, past[0][0].shape[-2], drop=1)
