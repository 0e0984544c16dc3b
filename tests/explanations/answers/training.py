"""Wrong answers to chapter 9, training."""

import numpy as np

from solutions.logarithms import log_softmax
from solutions.model import backward, forward
from solutions.parameters import map_tree
from solutions.smoothing import smooth_labels
from solutions.training import (
    adam_step,
    smoothed_cross_entropy,
    smoothed_cross_entropy_backward,
)
from tests.explanations.registry import wrong


def one_hot(targets, vocab):
    return np.eye(vocab)[targets]


def adam(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, update):
    """A step of Adam with update(m, v) as a parameter."""
    if step < 1:
        raise ValueError
    m = map_tree(lambda m, g: beta_1 * m + (1 - beta_1) * g, moments[0], gradients)
    v = map_tree(lambda v, g: beta_2 * v + (1 - beta_2) * g**2, moments[1], gradients)
    return map_tree(lambda p, m, v: p - learning_rate * update(m, v), parameters, m, v), (m, v)


@wrong("smoothed_cross_entropy", "https://github.com/eladhoffer/utils.pytorch/issues/4", names="mean_over_padding")
def averaged_over_all_places(logits, targets, smoothing=0.0, pad=0):
    """Divides by all places, padding too."""
    loss, cache = smoothed_cross_entropy(logits, targets, smoothing, pad)
    return loss * logits.dtype.type((targets != pad).mean()), cache


@wrong("smoothed_cross_entropy", "https://github.com/DaoyuanLi2816/Molecule-Generator/pull/20", names="padding_counts")
def padding_as_a_word(logits, targets, smoothing=0.0, pad=0):
    """Counts padding like any word."""
    return smoothed_cross_entropy(logits, targets, smoothing, pad=-1)


@wrong(
    "smoothed_cross_entropy",
    "https://github.com/ZhugeKongan/torch-template-for-deep-learning/issues/2",
    names="one_class_less",
)
def one_class_less(logits, targets, smoothing=0.0, pad=0):
    """Divides the even part by K - 1, although its sum includes the right class."""
    counted = targets != pad
    log_p, labels = log_softmax(logits[counted]), targets[counted]
    right = log_p[np.arange(len(labels)), labels].sum()
    even = log_p.sum() / (logits.shape[-1] - 1)
    return -((1 - smoothing) * right + smoothing * even) / max(1, len(labels)), None


@wrong("smoothed_cross_entropy", "https://github.com/pytorch/pytorch/issues/32520", names="divergence")
def divergence(logits, targets, smoothing=0.0, pad=0):
    """Returns the Kullback-Leibler divergence, with a small number in the logarithm."""
    counted = targets != pad
    log_p, labels = log_softmax(logits[counted]), smooth_labels(targets[counted], logits.shape[-1], smoothing)
    terms = labels * (np.log(np.maximum(labels, 1e-12)) - log_p)
    return (terms.sum() / max(1, counted.sum())).astype(logits.dtype), None


@wrong("smoothed_cross_entropy_backward", "https://github.com/fetchai/ledger/pull/1580", names="divided_twice")
def divided_twice(grad_loss, cache):
    """Divides by the number of targets twice."""
    return smoothed_cross_entropy_backward(grad_loss / max(1, len(cache[1])), cache)


@wrong(
    "smoothed_cross_entropy_backward",
    "https://github.com/jxgu1016/MNIST_center_loss_pytorch/issues/9",
    names="not_divided",
)
def not_divided(grad_loss, cache):
    """Does not divide by the number of targets."""
    return smoothed_cross_entropy_backward(grad_loss * max(1, len(cache[1])), cache)


@wrong("smoothed_cross_entropy_backward", "https://github.com/paiml/aprender/pull/2182", names="divided_by_all")
def all_places_for_the_targets(grad_loss, cache):
    """Divides by all places."""
    return smoothed_cross_entropy_backward(grad_loss * max(1, len(cache[1])) / cache[2].size, cache)


@wrong("adam_step", "https://github.com/oxiglade/mlx-rs/issues/301", names="uncorrected")
def bias_not_corrected(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Corrects the bias of neither average."""
    parts = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2)
    return adam(*parts, lambda m, v: m / (np.sqrt(v) + eps))


@wrong("adam_step", "https://github.com/tensorflow/tensorflow/issues/9047", names="eps_hat")
def eps_corrected_too(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Corrects the root with eps already added to it."""
    parts = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2)
    return adam(*parts, lambda m, v: (1 - beta_2**step) ** 0.5 / (1 - beta_1**step) * m / (np.sqrt(v) + eps))


@wrong("adam_step", "https://github.com/tensorflow/tensorflow/pull/61411", names="eps_subtracted")
def eps_subtracted(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Subtracts eps from the root."""
    parts = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2)
    c_1, c_2 = 1 - beta_1**step, 1 - beta_2**step
    return adam(*parts, lambda m, v: m / c_1 / (np.sqrt(v / c_2) - eps))


@wrong("adam_step", "https://github.com/karpathy/convnetjs/pull/107", names="correction_multiplied")
def correction_multiplied(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Multiplies by the corrections."""
    parts = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2)
    c_1, c_2 = 1 - beta_1**step, 1 - beta_2**step
    return adam(*parts, lambda m, v: m * c_1 / (np.sqrt(v * c_2) + eps))


@wrong("adam_step", "https://github.com/eriklindernoren/ML-From-Scratch/issues/35", names="without_power")
def correction_without_the_step(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Corrects by 1 - beta in every step."""
    parts = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2)
    return adam(*parts, lambda m, v: m / (1 - beta_1) / (np.sqrt(v / (1 - beta_2)) + eps))


@wrong("adam_step", "https://github.com/keras-team/keras/issues/17391", names="eps_inside")
def eps_in_the_root(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Adds eps below the root."""
    parts = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2)
    c_1, c_2 = 1 - beta_1**step, 1 - beta_2**step
    return adam(*parts, lambda m, v: m / c_1 / np.sqrt(v / c_2 + eps))


@wrong("train_step", "https://github.com/huggingface/transformers/issues/16940", names="not_cut")
def label_not_shifted(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """Predicts the token that the decoder just read."""
    logits, cache = forward(params, src, tgt, n_heads, pad)
    loss, loss_cache = smoothed_cross_entropy(logits, tgt, smoothing, pad)
    gradients = backward(smoothed_cross_entropy_backward(1.0, loss_cache), cache)
    return *adam_step(params, gradients, moments, step, learning_rate), float(loss)


@wrong("train_step", "https://github.com/karpathy/micrograd/pull/102", says="twice")
def gradient_added_up_twice(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """Adds the gradient to one that was not set back to zero."""
    logits, cache = forward(params, src, tgt[:, :-1], n_heads, pad)
    loss, loss_cache = smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
    gradients = backward(smoothed_cross_entropy_backward(2.0, loss_cache), cache)
    return *adam_step(params, gradients, moments, step, learning_rate), float(loss)
