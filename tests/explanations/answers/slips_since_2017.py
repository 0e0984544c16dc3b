"""Wrong answers to the exercises of chapter 11."""

import numpy as np

from solutions.attention import softmax
from solutions.logarithms import log_softmax
from tests.explanations.registry import wrong


def per_group(weight, size, bits, to_code):
    """Scales by a loop over the groups, and codes from weights over scales."""
    most = 2 ** (bits - 1) - 1
    scales = np.stack([np.abs(weight[i : i + size]).max(axis=0) for i in range(0, len(weight), size)])
    scales = scales / weight.dtype.type(most)
    each = np.repeat(scales, size, axis=0)[: len(weight)]
    return to_code(np.divide(weight, each, out=np.zeros_like(weight), where=each > 0)), scales


@wrong("quantise_groups", names="codes_in_eight_bytes")
def whole_numbers_of_any_size(weight, size, bits=8):
    return per_group(weight, size, bits, lambda quotients: np.rint(quotients).astype(np.int64))


def drafted(draft, small, large, chances, place, missing):
    """Accept as the exercise asks, and draw from missing(large row, small row) after a refusal."""
    tokens = []
    for i, guess in enumerate(draft):
        if chances[i] * small[i, guess] >= large[i, guess]:
            weights = missing(large[i], small[i])
            break
        tokens.append(guess)
    else:
        weights = large[-1]
    last = np.searchsorted(np.cumsum(weights / weights.sum()), place, side="right")
    return np.array([*tokens, last])


@wrong("accept_draft", names="missing_exchanged")
def small_less_large(draft, small, large, chances, place):
    return drafted(draft, small, large, chances, place, lambda large, small: (small - large).clip(min=0))


def with_small_number(weight, size, bits, returned):
    """Codes from scales with a small number added. returned: whether the scales that come back include it."""
    groups = [weight[i : i + size] for i in range(0, len(weight), size)]
    exact = [np.abs(group).max(axis=0) / weight.dtype.type(2 ** (bits - 1) - 1) for group in groups]
    scales = [scale + weight.dtype.type(1e-9) for scale in exact]
    codes = [np.rint(group / scale).astype(np.int8) for group, scale in zip(groups, scales, strict=True)]
    return np.concatenate(codes), np.stack(scales if returned else exact)


@wrong("quantise_groups", names="scales_with_a_little_1e-9")
def scales_never_zero(weight, size, bits=8):
    return with_small_number(weight, size, bits, returned=True)


@wrong("quantise_groups", names="divided_by_a_little_more")
def divisors_never_zero(weight, size, bits=8):
    return with_small_number(weight, size, bits, returned=False)


@wrong("accept_draft", names="all_accepted_counted")
def passing_guesses_counted(draft, small, large, chances, place):
    guessed = np.arange(len(draft)), draft
    n = np.count_nonzero(chances < large[guessed] / small[guessed])
    weights = large[n] if n == len(draft) else (large[n] - small[n]).clip(min=0)
    return np.array([*draft[:n], np.searchsorted(np.cumsum(weights) / weights.sum(), place, side="right")])


@wrong("route_backward", names="loss_left_out")
def gates_alone(grad_gates, grad_loss, cache):
    gates, *_ = cache
    return gates * (grad_gates - np.einsum("te,te->t", gates, grad_gates)[:, None])


@wrong("quantise_groups", names="half_added")
def nearest_by_a_half(weight, size, bits=8):
    return per_group(weight, size, bits, lambda quotients: (quotients + 0.5).astype(np.int8))


@wrong("route_backward", names="diagonal_alone")
def as_for_a_sigmoid(grad_gates, grad_loss, cache):
    gates, probabilities, shares, weight = cache
    factor = gates.dtype.type(grad_loss * weight * gates.shape[1] / gates.shape[0])
    return grad_gates * gates * (1 - gates) + factor * shares * probabilities * (1 - probabilities)


@wrong("reverse_divergence", names="multiplied_by_p")
def elementwise(logits, teacher_logits, counts):
    p, own, teacher = softmax(logits), log_softmax(logits), log_softmax(teacher_logits)
    n = logits.dtype.type(counts.sum() or 1)
    loss = (p * (own - teacher))[counts].sum() / n
    return loss, np.where(counts[..., None], (p * own - p * teacher + p) / n, 0)


@wrong("delta_rule_backward", names="read_before_fading")
def missing_from_the_whole_state(grad_outputs, cache):
    queries, keys, values, fades, strengths, states = cache
    missing = values - np.einsum("tk,tkv->tv", keys, states[:-1])
    rows, carried = [], np.zeros_like(states[0])
    for t in range(len(queries) - 1, -1, -1):
        grad = carried + queries[t][:, None] * grad_outputs[t]
        written = grad.T @ keys[t]
        of_key = strengths[t] * (grad @ missing[t] - states[t] @ written)
        faded = grad - strengths[t] * keys[t][:, None] * written
        query = states[t + 1] @ grad_outputs[t]
        rows.append((query, of_key, strengths[t] * written, np.vdot(faded, states[t]), written @ missing[t]))
        carried = fades[t] * faded
    return tuple(np.array(gradient[::-1]) for gradient in zip(*rows, strict=True))
