"""Wrong answers to chapter 11, what has come since."""

import numpy as np

from solutions.attention import softmax
from solutions.logarithms import log_softmax
from solutions.since import accept_draft, delta_rule_backward, quantise_groups, reverse_divergence, route_backward
from tests.explanations.registry import wrong


def quantised(weight, size, bits, scale_of):
    n_in, n_out = weight.shape
    n_groups = -(-n_in // size)
    padded = np.zeros((n_groups * size, n_out), weight.dtype)
    padded[:n_in] = weight
    groups = padded.reshape(n_groups, size, n_out)
    scales = scale_of(groups, 2 ** (bits - 1) - 1)
    codes = np.round(groups / np.where(scales == 0, 1, scales)[:, None])
    return codes.astype(int).astype(np.int8).reshape(-1, n_out)[:n_in], scales


@wrong("quantise_groups", "https://github.com/siliconflow/onediff/issues/893", names="without_magnitudes")
def maximum_without_magnitude(weight, size, bits=8):
    """Takes the largest weight, not the largest magnitude."""
    return quantised(weight, size, bits, lambda groups, most: groups.max(axis=1) / weight.dtype.type(most))


@wrong("quantise_groups", "https://github.com/microsoft/onnxruntime/issues/3442", names="power_of_two")
def one_code_more(weight, size, bits=8):
    """Divides by 2^(bits - 1), which the largest positive weight then exceeds."""
    return quantised(weight, size, bits, lambda groups, most: np.abs(groups).max(axis=1) / weight.dtype.type(most + 1))


@wrong("quantise_groups", "https://github.com/ROCm/AMDMIGraphX/pull/4190", names="scale_of_one")
def scale_one_for_zeros(weight, size, bits=8):
    """Gives a group of zeros the scale 1."""
    codes, scales = quantise_groups(weight, size, bits)
    return codes, np.where(scales == 0, 1, scales).astype(weight.dtype)


@wrong("quantise_groups", "https://github.com/ml-explore/mlx/pull/1028", names="smallest_scale_1e-7")
def smallest_scale(weight, size, bits=8):
    """No scale is smaller than 1e-7."""

    def scale(groups, most):
        return np.maximum(np.abs(groups).max(axis=1) / weight.dtype.type(most), weight.dtype.type(1e-7))

    return quantised(weight, size, bits, scale)


@wrong("quantise_groups", "https://github.com/nntrainer/nntrainer/issues/4324", names="half_of_the_range")
def half_the_range(weight, size, bits=8):
    """Divides the range from the smallest to the largest weight in two."""

    def scale(groups, most):
        return (groups.max(axis=1) - groups.min(axis=1)) / weight.dtype.type(2 * most)

    return quantised(weight, size, bits, scale)


@wrong("route_backward", "https://github.com/NVIDIA-NeMo/Automodel/issues/1408", names="loss_left_out")
def loss_without_gradient(grad_gates, grad_loss, cache):
    """Lets no gradient of the balancing loss through."""
    return route_backward(grad_gates, 0.0, cache)


@wrong("route_backward", "https://github.com/NVIDIA-NeMo/Automodel/issues/1408", names="without_the_weight")
def coefficient_forgotten(grad_gates, grad_loss, cache):
    """Does not multiply by the weight of the loss."""
    return route_backward(grad_gates, grad_loss, (*cache[:3], 1.0))


@wrong("route_backward", "https://github.com/NVIDIA-NeMo/Automodel/issues/1408", names="without_the_number_of_words")
def multiplied_by_the_tokens(grad_gates, grad_loss, cache):
    """Does not divide by the number of words."""
    return route_backward(grad_gates, grad_loss * len(cache[0]), cache)


@wrong("route_backward", "https://github.com/AI-Hypercomputer/maxtext/pull/860", names="stops_at_probabilities")
def scores_for_probabilities(grad_gates, grad_loss, cache):
    """Treats the scores as probabilities, without a softmax on the way back."""
    gates, _, shares, weight = cache
    through = route_backward(grad_gates, 0.0, cache)
    return through + shares * gates.dtype.type(grad_loss * weight * len(shares) / len(gates))


@wrong("route_backward", "https://github.com/datawhalechina/llm-algo-leetcode/pull/43", names="divided_by_the_chosen")
def divided_by_the_active(grad_gates, grad_loss, cache):
    """Divides the mean probability by the number of chosen experts, too."""
    return route_backward(grad_gates, grad_loss / (cache[0][0] > 0).sum(), cache)


def drawn(weights, place):
    sums = np.cumsum(weights)
    return np.argmax(sums > place * sums[-1])


@wrong("accept_draft", "https://github.com/NJUNLP/MCSD/issues/5", names="replaced_from_large")
def drawn_from_large(draft, small, large, chances, place):
    """Draws the replacement from the large model's probabilities."""
    for i, guess in enumerate(draft):
        if not chances[i] * small[i, guess] < large[i, guess]:
            return np.append(draft[:i], drawn(large[i], place))
    return np.append(draft, drawn(large[-1], place))


@wrong("accept_draft", "https://github.com/1bit-MONSTER/1bit-MONSTER/issues/630", names="accepts_the_likeliest")
def likeliest_only(draft, small, large, chances, place):
    """Accepts a guess only if it is the large model's likeliest token."""
    for i, guess in enumerate(draft):
        if guess != large[i].argmax():
            return np.append(draft[:i], drawn(np.maximum(large[i] - small[i], 0), place))
    return np.append(draft, drawn(large[-1], place))


@wrong("accept_draft", "https://github.com/ohdearquant/lattice/issues/243", names="first_unchecked")
def first_guess_unchecked(draft, small, large, chances, place):
    """Accepts the first guess unchecked."""
    return accept_draft(draft, small, large, np.append(0 * chances[:1], chances[1:]), place)


@wrong("accept_draft", "https://github.com/ml-explore/mlx-swift-lm/pull/459")
def equal_to_a_draw(draft, small, large, chances, place):
    """Accepts a guess only if a draw from the large model equals it, and otherwise keeps the draw."""
    for i, guess in enumerate(draft):
        own = drawn(large[i], chances[i])
        if own != guess:
            return np.append(draft[:i], own)
    return np.append(draft, drawn(large[-1], place))


def recurrence(grad_outputs, cache, written_of, value_of=None, fade_of_state=True):
    queries, keys, values, fades, strengths, states = cache
    gradients = [np.zeros_like(array) for array in cache[:5]]
    grad_queries, grad_keys, grad_values, grad_fades, grad_strengths = gradients
    grad_state = np.zeros_like(states[0])
    for t in reversed(range(len(queries))):
        faded = fades[t] * states[t]
        missing = values[t] - keys[t] @ faded
        grad_queries[t] = states[t + 1] @ grad_outputs[t]
        grad_state = grad_state + np.outer(queries[t], grad_outputs[t])
        grad_written = keys[t] @ grad_state
        grad_strengths[t] = grad_written @ written_of(missing, values[t])
        grad_missing = strengths[t] * grad_written
        grad_values[t] = grad_missing if value_of is None else value_of(grad_missing, grad_written)
        grad_keys[t] = strengths[t] * (grad_state @ missing) - faded @ grad_missing
        grad_faded = grad_state - np.outer(keys[t], grad_missing)
        grad_fades[t] = (grad_faded * states[t]).sum()
        grad_state = fades[t] * grad_faded if fade_of_state else grad_faded
    return tuple(gradients)


@wrong(
    "delta_rule_backward", "https://github.com/fla-org/flash-linear-attention/pull/6", names="value_without_strength"
)
def strength_forgotten(grad_outputs, cache):
    """Does not multiply the values' gradient by the strength."""
    return recurrence(grad_outputs, cache, lambda missing, value: missing, lambda missing, written: written)


@wrong(
    "delta_rule_backward",
    "https://github.com/fla-org/flash-linear-attention/pull/43",
    says="one array in the place of another",
)
def value_for_what_is_missing(grad_outputs, cache):
    """Uses the value where what is missing was written."""
    return recurrence(grad_outputs, cache, lambda missing, value: value)


@wrong("delta_rule_backward", "https://github.com/hanbt/learn_dl/pull/63")
def copied_gradient(grad_outputs, cache):
    """Returns the fades' gradient for the strengths, too."""
    *rest, grad_fades, _ = delta_rule_backward(grad_outputs, cache)
    return *rest, grad_fades, grad_fades


@wrong("delta_rule_backward", "https://github.com/fla-org/flash-linear-attention/issues/104", names="not_faded")
def fades_forgotten(grad_outputs, cache):
    """Does not fade the state's gradient on the way back."""
    return recurrence(grad_outputs, cache, lambda missing, value: missing, fade_of_state=False)


@wrong("delta_rule_backward", "https://github.com/fla-org/flash-linear-attention/pull/584")
def row_sums_for_the_strengths(grad_outputs, cache):
    """Returns a sum from another step as the gradient of the strengths."""
    grad_queries, grad_keys, grad_values, grad_fades, _ = delta_rule_backward(grad_outputs, cache)
    return grad_queries, grad_keys, grad_values, grad_fades, (grad_queries * cache[0]).sum(axis=1)


def divergence(logits, counts, terms, gradient):
    counted = counts[..., None]
    n = logits.dtype.type(max(counts.sum(), 1))
    loss = np.where(counts, terms.sum(axis=-1), 0).sum() / n
    return logits.dtype.type(loss), np.where(counted, gradient / n, 0).astype(logits.dtype)


@wrong("reverse_divergence", "https://github.com/microsoft/ProDA/issues/43", names="forward_divergence")
def other_direction(logits, teacher_logits, counts):
    """Computes the divergence from the teacher to the student."""
    student, teacher = softmax(logits), softmax(teacher_logits)
    terms = teacher * (log_softmax(teacher_logits) - log_softmax(logits))
    return divergence(logits, counts, terms, student - teacher)


@wrong("reverse_divergence", "https://github.com/paiml/aprender/pull/2153", names="forward_gradient")
def gradient_of_the_other_direction(logits, teacher_logits, counts):
    """Returns the gradient of the other direction's divergence."""
    student, teacher = softmax(logits), softmax(teacher_logits)
    terms = student * (log_softmax(logits) - log_softmax(teacher_logits))
    return divergence(logits, counts, terms, student - teacher)


@wrong("reverse_divergence", "https://github.com/microsoft/ProDA/issues/20", names="no_logarithms")
def logarithm_forgotten(logits, teacher_logits, counts):
    """Compares probabilities instead of their logarithms."""
    student, teacher = softmax(logits), softmax(teacher_logits)
    surplus = student - teacher
    terms = student * surplus
    mean = terms.sum(axis=-1, keepdims=True)
    return divergence(
        logits, counts, terms, student * (surplus + student - (mean + (student**2).sum(-1, keepdims=True)))
    )


@wrong(
    "reverse_divergence",
    "https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/66",
    says="is zero everywhere",
)
def teacher_twice(logits, teacher_logits, counts):
    """Compares the teacher with itself."""
    return reverse_divergence(teacher_logits, teacher_logits, counts)


@wrong("reverse_divergence", "https://github.com/ServiceNow/Fast-LLM/pull/426", names="all_positions")
def divided_by_all_positions(logits, teacher_logits, counts):
    """Divides by all positions."""
    loss, grad_logits = reverse_divergence(logits, teacher_logits, counts)
    share = logits.dtype.type(counts.sum() / max(counts.size, 1))
    return loss * share, grad_logits * share
