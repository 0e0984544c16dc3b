"""More wrong answers to chapter 9, training."""

import numpy as np

from solutions.logarithms import log_softmax
from solutions.model import forward
from solutions.parameters import map_tree
from solutions.training import adam_step, smoothed_cross_entropy, smoothed_cross_entropy_backward
from tests.explanations.registry import wrong


def loss_with(logits, targets, pad, right, others, counted=None):
    """Return the loss whose labels have `right` at the class and `others` elsewhere, besides it."""
    counted = targets != pad if counted is None else counted
    log_probabilities, labels = log_softmax(logits[counted]), targets[counted]
    of_right = log_probabilities[np.arange(len(labels)), labels]
    loss = -((right - others) * of_right.sum() + others * log_probabilities.sum())
    return loss / max(1, len(labels)), (log_probabilities, labels, counted, 0.0)


@wrong("smoothed_cross_entropy", "https://github.com/OpenNMT/OpenNMT-py/issues/1463", names="smoothing_without_padding")
def two_classes_less(logits, targets, smoothing=0.0, pad=0):
    """Divides among K - 2 classes, without padding and the right class."""
    counted = targets != pad
    log_probabilities, labels = log_softmax(logits[counted]), targets[counted]
    of_right = log_probabilities[np.arange(len(labels)), labels]
    others = log_probabilities.sum() - log_probabilities[:, pad].sum() - of_right.sum()
    loss = -(1 - smoothing) * of_right.sum() - smoothing / (logits.shape[-1] - 2) * others
    return loss / max(1, len(labels)), (log_probabilities, labels, counted, smoothing)


@wrong("smoothed_cross_entropy", "https://github.com/awslabs/sockeye/issues/200", says="`!=` and `==` exchanged")
def only_padding_counts(logits, targets, smoothing=0.0, pad=0):
    """Reverses the condition, so that only padding counts."""
    K = logits.shape[-1]
    return loss_with(logits, targets, pad, 1 - smoothing + smoothing / K, smoothing / K, targets == pad)


@wrong("smoothed_cross_entropy", "https://github.com/pytorch/pytorch/issues/73205", names="padding_in_the_even_part")
def even_part_of_padding_counts(logits, targets, smoothing=0.0, pad=0):
    """Counts padding in the even part."""
    loss, cache = smoothed_cross_entropy(logits, targets, 0.0, pad)
    even = -log_softmax(logits).mean(axis=-1).sum() / max(1, (targets != pad).sum())
    return (1 - smoothing) * loss + smoothing * even, (*cache[:3], smoothing)


@wrong("smoothed_cross_entropy", "https://github.com/TimDettmers/ConvE/issues/55", names="even_part_unscaled")
def even_part_not_scaled(logits, targets, smoothing=0.0, pad=0):
    """Adds 1 / K to each class, whatever the smoothing."""
    K = logits.shape[-1]
    return loss_with(logits, targets, pad, 1 - smoothing + 1 / K, 1 / K)


@wrong("smoothed_cross_entropy", "https://github.com/paiml/aprender/pull/2199", names="rest_spread")
def rest_among_all(logits, targets, smoothing=0.0, pad=0):
    """Gives each class (1 - eps) / K where eps / K belongs."""
    even = (1 - smoothing) / logits.shape[-1]
    return loss_with(logits, targets, pad, 1 - smoothing + even, even)


@wrong("smoothed_cross_entropy", "https://github.com/tensorflow/tensorflow/issues/32231")
def length_for_the_vocabulary(logits, targets, smoothing=0.0, pad=0):
    """Uses the length of axis 1 as the number of classes."""
    even = smoothing / logits.shape[min(1, logits.ndim - 1)]
    return loss_with(logits, targets, pad, 1 - smoothing + even, even)


@wrong("smoothed_cross_entropy_backward", "https://github.com/linkedin/Liger-Kernel/pull/198", names="hard_difference")
def smoothing_forgotten(grad_loss, cache):
    """Subtracts 1 at the right class, as if there were no smoothing."""
    return smoothed_cross_entropy_backward(grad_loss, (*cache[:3], 0.0))


def adam(parameters, gradients, moments, learning_rate, eps, betas, corrections, keep=False):
    beta_1, beta_2 = betas
    first, second = corrections
    mean = map_tree(lambda m, g: beta_1 * m + (1 - beta_1) * g, moments[0], gradients)
    squares = map_tree(lambda v, g: beta_2 * v + (1 - beta_2) * g**2, moments[1], gradients)
    unbiased, root = map_tree(lambda m: m / first, mean), map_tree(lambda v: v / second, squares)
    new = map_tree(lambda p, m, v: p - learning_rate * m / (np.sqrt(v) + eps), parameters, unbiased, root)
    return new, (unbiased, root) if keep else (mean, squares)


@wrong("adam_step", "https://github.com/tensorflow/tensorflow/issues/35444", names="one_step_ahead")
def one_step_ahead(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Corrects as in the next step."""
    powers = 1 - beta_1 ** (step + 1), 1 - beta_2 ** (step + 1)
    return adam(parameters, gradients, moments, learning_rate, eps, (beta_1, beta_2), powers)


@wrong("adam_step", "https://github.com/frgfm/holocron/issues/1", names="corrected_moments")
def corrected_moments_kept(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Returns the corrected averages."""
    powers = 1 - beta_1**step, 1 - beta_2**step
    return adam(parameters, gradients, moments, learning_rate, eps, (beta_1, beta_2), powers, keep=True)


@wrong("adam_step", "https://github.com/ufal/npfl114/pull/79", names="squared_betas")
def squared_betas(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Takes the square where the step is the exponent."""
    return adam(parameters, gradients, moments, learning_rate, eps, (beta_1, beta_2), (1 - beta_1**2, 1 - beta_2**2))


@wrong("adam_step", "https://github.com/PennyLaneAI/pennylane/pull/1929")
def factor_not_rooted(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Keeps averages that are divided by 1 - beta, and multiplies the rate by the factor of both."""
    mean = map_tree(lambda m, g: (beta_1 * m + (1 - beta_1) * g) / (1 - beta_1), moments[0], gradients)
    squares = map_tree(lambda v, g: (beta_2 * v + (1 - beta_2) * g**2) / (1 - beta_2), moments[1], gradients)
    rate = learning_rate * np.sqrt(1 - beta_2**step) / (1 - beta_1**step)
    new = map_tree(lambda p, m, v: p - rate * m / (np.sqrt(v) + eps), parameters, mean, squares)
    return new, (mean, squares)


@wrong("train_step", "https://github.com/sacmehta/EdgeNets/issues/14", names="cleared")
def cleared_before_the_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """Sets the gradients to zero before Adam sees them."""
    logits, _ = forward(params, src, tgt[:, :-1], n_heads, pad)
    loss, _ = smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
    params, moments = adam_step(params, map_tree(np.zeros_like, params), moments, step, learning_rate)
    return params, moments, float(loss)
