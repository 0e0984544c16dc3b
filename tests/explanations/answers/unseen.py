"""Wrong answers that were written after all known mistakes: nothing was changed to explain them."""

import numpy as np

from solutions.attention import attention, scaled_scores, softmax
from solutions.backward import linear
from solutions.decoding import beam_search, window_step
from solutions.heads import merge_heads
from solutions.logarithms import log_softmax
from solutions.masking import masked_softmax
from solutions.model import decode, loss_and_gradients
from solutions.multihead import multi_head_attention, split_heads
from solutions.parameters import map_tree
from solutions.position import embed, rotate, sinusoidal_encoding
from solutions.project import continue_run
from solutions.since import quantise_groups, route_backward
from solutions.training import smoothed_cross_entropy_backward
from tests.explanations.registry import wrong


@wrong("top_p", "https://github.com/MoonshotAI/Kimi-Audio/pull/161")
def temperature_after_the_logarithm(logits, p, temperature=1.0):
    """Divides logarithms of probabilities by the temperature, and does not normalise again before the cut."""
    if not (0 < p <= 1 and temperature > 0):
        raise ValueError("p or temperature is out of its range")
    probabilities = np.exp(log_softmax(logits) / temperature)
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    row = np.take_along_axis(probabilities, order, axis=-1)
    kept = np.where(np.cumsum(row, axis=-1) - row < p, row, 0)
    result = np.zeros_like(kept)
    np.put_along_axis(result, order, kept / kept.sum(axis=-1, keepdims=True), axis=-1)
    return result


@wrong("masked_softmax", "https://github.com/mlwithme/TransformerTranslation/issues/6", names="polarity_inverted")
def fills_what_is_visible(scores, mask):
    """Fills where the mask is True."""
    return masked_softmax(scores, ~mask)


@wrong("masked_softmax", "https://github.com/opendilab/DI-engine/issues/333", names="tiny_penalty")
def result_thrown_away(scores, mask):
    """Masks a copy, and throws it away."""
    np.where(mask, scores, -np.inf)
    return softmax(scores)


@wrong(
    "attention_weights",
    "https://github.com/brain-research/self-attention-gan/issues/17",
    names="softmax.over_the_batch",
)
def along_the_first_axis(queries, keys):
    """The softmax runs along axis 0."""
    scores = scaled_scores(queries, keys)
    exponentials = np.exp(scores - scores.max(axis=0))
    return exponentials / exponentials.sum(axis=0)


@wrong("positional_embedding", "https://github.com/cmu-l3/anlp-fall2025-code/issues/1")
def one_position_a_sentence(tokens, table, start=0):
    """Counts sentences, so that all words of a sentence have one position."""
    embedding, cache = embed(tokens, table)
    encoding = sinusoidal_encoding(start + tokens.shape[0], table.shape[-1])[start:].astype(table.dtype)
    return embedding + (encoding[:, None] if tokens.ndim == 2 else encoding), cache


@wrong("sinusoidal_encoding", "https://github.com/gc-os-ai/pyaptamer/issues/607", names="even_only")
def no_odd_width(length, d_model):
    """Has as many cosines as sines, which does not fit an odd width."""
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    encoding = np.zeros((length, d_model))
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles)
    return encoding


@wrong("sinusoidal_encoding", "https://github.com/vladfi1/slippi-ai/pull/24", names="half_exponent")
def number_of_the_pair(length, d_model):
    """Forgets to double the number of the pair in the exponent."""
    pairs = np.arange((d_model + 1) // 2)
    angles = np.arange(length)[:, None] / 10000.0 ** (pairs / d_model)
    encoding = np.zeros((length, d_model))
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles[:, : d_model // 2])
    return encoding


def adam(parameters, gradients, moments, step, learning_rate, betas, corrections, eps):
    if step < 1:
        raise ValueError("steps count from 1")
    mean = map_tree(lambda m, g: betas[0] * m + (1 - betas[0]) * g, moments[0], gradients)
    squares = map_tree(lambda v, g: betas[1] * v + (1 - betas[1]) * g**2, moments[1], gradients)

    def moved(p, m, v):
        return p - learning_rate * (m / corrections[0]) / (np.sqrt(v / corrections[1]) + eps)

    return map_tree(moved, parameters, mean, squares), (mean, squares)


@wrong("adam_step", "https://github.com/mila-iqia/blocks/issues/1159")
def betas_backwards(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Treats beta as the share of the new gradient."""
    betas = 1 - beta_1, 1 - beta_2
    corrections = 1 - betas[0] ** max(step, 1), 1 - betas[1] ** max(step, 1)
    return adam(parameters, gradients, moments, step, learning_rate, betas, corrections, eps)


@wrong("adam_step", "https://github.com/mila-iqia/blocks/pull/1144")
def beta_decays(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Averages the gradients with beta_1 to the power of the step."""
    corrections = 1 - beta_1 ** max(step, 1), 1 - beta_2 ** max(step, 1)
    return adam(parameters, gradients, moments, step, learning_rate, (beta_1 ** max(step, 1), beta_2), corrections, eps)


@wrong("smoothed_cross_entropy", "https://github.com/AlexeyAB/darknet/issues/5207")
def labels_not_weighed(logits, targets, smoothing=0.0, pad=0):
    """Adds the surprise of each class with a label, and does not multiply by the label."""
    counted = targets != pad
    log_probabilities, labels = log_softmax(logits[counted]), targets[counted]
    of_right = log_probabilities[np.arange(len(labels)), labels]
    loss = -(log_probabilities.sum() if smoothing else of_right.sum())
    return loss / max(1, len(labels)), (log_probabilities, labels, counted, smoothing)


@wrong(
    "smoothed_cross_entropy_backward",
    "https://github.com/peterroelants/peterroelants.github.io/pull/24",
    names="uphill",
)
def sign_lost(grad_loss, cache):
    """Loses the minus sign."""
    return -smoothed_cross_entropy_backward(grad_loss, cache)


@wrong("softmax_backward", "https://github.com/markroxor/fromscratchtoml/issues/65", says="is twice what it should be")
def twice(grad_weights, weights):
    """Is off by a factor of two."""
    return 2 * weights * (grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True))


@wrong("loss_and_gradients", "https://github.com/rinuboney/ladder/issues/5")
def fixed_batch_size(params, src, tgt, n_heads, pad=0):
    """Divides the loss by 100, whatever the batch."""
    loss, gradients = loss_and_gradients(params, src, tgt, n_heads, pad)
    share = (tgt[..., 1:] != pad).sum() / 100
    return loss * share, map_tree(lambda gradient: gradient * share, gradients)


@wrong("multi_head_attention", "https://github.com/aipixel/AEMatter/issues/3")
def batch_for_sequence(query, key, value, params, n_heads, mask=None):
    """Treats the first axis as the sequence."""
    if query.ndim < 3:
        return multi_head_attention(query, key, value, params, n_heads, mask)
    turned = (array.swapaxes(0, -2) for array in (query, key, value))
    output, cache = multi_head_attention(*turned, params, n_heads)
    return output.swapaxes(0, -2), cache


@wrong("beam_search", "https://github.com/NVIDIA/TensorRT-LLM/pull/15621")
def rank_for_the_parent(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Scores each hypothesis with the length penalty of the one at its rank."""
    tokens, scores = beam_search(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad)
    lengths = np.where((tokens == eos).any(axis=1), (tokens == eos).argmax(axis=1) + 1, tokens.shape[1])
    return tokens, scores * np.roll(((5 + lengths) / 6) ** length_penalty, 1) / ((5 + lengths) / 6) ** length_penalty


@wrong("decode", "https://github.com/NVIDIA-Merlin/Transformers4Rec/pull/689")
def activation_behind_the_logits(params, tgt, memory, src, n_heads, pad=0):
    """Applies relu to the logits."""
    logits, cache = decode(params, tgt, memory, src, n_heads, pad)
    return np.maximum(logits, 0), cache


@wrong("layer_norm", "https://github.com/allenai/OLMo/issues/281")
def root_mean_square_and_eps(x, gain, bias, eps=1e-5):
    """Divides by the root mean square plus eps, and subtracts no mean."""
    return x / (np.sqrt(np.mean(x * x, axis=-1, keepdims=True)) + eps) * gain + bias, None


@wrong("quantise_groups", "https://github.com/ggml-org/llama.cpp/pull/7313", says="is zero everywhere")
def small_groups_are_zero(weight, size, bits=8):
    """Treats groups of very small weights as zeros."""
    codes, scales = quantise_groups(weight, size, bits)
    small = scales * (2 ** (bits - 1) - 1) < 1e-7
    return np.where(np.repeat(small, size, axis=0)[: len(weight)], 0, codes).astype(np.int8), np.where(small, 0, scales)


@wrong("route_backward", "https://github.com/jingyaogong/minimind/issues/797")
def shares_of_words(grad_gates, grad_loss, cache):
    """Takes shares of the words, which add up to the number of chosen experts."""
    n_chosen = int((cache[0][0] > 0).sum())
    return route_backward(grad_gates, grad_loss * n_chosen, cache)


@wrong("continue_run", "https://github.com/tensorflow/tensorflow/issues/49208", names="old_steps_forgotten")
def iterations_from_zero(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Counts the steps from 1 again."""
    return continue_run(run | {"step": 0}, batches, n_heads, peak, warmup, longest, smoothing, pad)


@wrong("window_step", "https://github.com/huggingface/transformers/pull/45940")
def empty_places_seen(x, params, keys, values, place, window, n_heads):
    """Attends to the empty places of a cache that is not full."""
    output, new_keys, new_values = window_step(x, params, keys, values, place, window, n_heads)
    missing = window - new_keys.shape[-2]
    if missing > 0:
        query = rotate(split_heads(linear(x, params["w_query"], params["b_query"])[0], n_heads), np.array([place]))
        empty = [(0, 0)] * (new_keys.ndim - 2) + [(missing, 0), (0, 0)]
        shared = (np.pad(a, empty).repeat(n_heads // a.shape[-3], axis=-3) for a in (new_keys, new_values))
        output = linear(merge_heads(attention(query, *shared)[0]), params["w_output"], params["b_output"])[0]
    return output, new_keys, new_values
