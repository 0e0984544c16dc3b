"""Right ways to write gradients, losses, Adam and decoding, as public code writes them."""

import math

import numpy as np

from solutions.logarithms import log_softmax
from solutions.model import decode, encode
from solutions.parameters import map_tree
from tests.explanations.registry import right

LLM_C = "https://github.com/karpathy/llm.c/blob/master/train_gpt2.c"
NUMPY_ML = "https://github.com/ddbourgin/numpy-ml"
FAIRSEQ = "https://github.com/facebookresearch/fairseq/blob/main/fairseq/criterions/label_smoothed_cross_entropy.py"
ADAM = "https://github.com/pytorch/pytorch/blob/main/torch/optim/adam.py"
ANNOTATED = "https://github.com/harvardnlp/annotated-transformer/blob/master/the_annotated_transformer.py"


@right("linear_backward", "https://github.com/HIPS/autograd")
def by_einsum(grad_output, cache):
    """Sums over all leading axes with a tuple of axes, after einsum."""
    x, weight = cache
    leading = tuple(range(x.ndim - 1))
    products = np.einsum("...i,...o->...io", x, grad_output)
    return np.einsum("...o,io->...i", grad_output, weight), products.sum(axis=leading), grad_output.sum(axis=leading)


@right("linear_backward", NUMPY_ML)
def outer_products(grad_output, cache):
    """Adds up one outer product for each row."""
    x, weight = cache
    grad_weight, grad_bias = np.zeros_like(weight), np.zeros_like(grad_output, shape=weight.shape[1])
    for index in np.ndindex(x.shape[:-1]):
        grad_weight += np.outer(x[index], grad_output[index])
        grad_bias += grad_output[index]
    return grad_output @ weight.T, grad_weight, grad_bias


@right("softmax_backward", "https://github.com/mantasu/cs231n/issues/10")
def with_the_jacobian(grad_weights, weights):
    """Builds every row's Jacobian."""
    jacobians = weights[..., None] * np.eye(weights.shape[-1], dtype=weights.dtype)
    jacobians = jacobians - weights[..., None] * weights[..., None, :]
    return (jacobians @ grad_weights[..., None])[..., 0]


@right("softmax_backward", "https://github.com/pocketpy/cTensor/pull/31")
def product_less_its_share(grad_weights, weights):
    """Subtracts the weights' share of the sum from the products."""
    products = weights * grad_weights
    return products - weights * np.sum(products, axis=-1, keepdims=True)


@right("attention_backward", LLM_C)
def row_sums_of_the_output(grad_output, cache):
    """Takes the softmax's sums from output and gradient, as FlashAttention does."""
    queries, keys, values, weights = cache
    scale = keys.dtype.type(1 / math.sqrt(keys.shape[-1]))
    sums = (grad_output * (weights @ values)).sum(axis=-1, keepdims=True)
    grad_scores = weights * (grad_output @ values.swapaxes(-1, -2) - sums) * scale
    return grad_scores @ keys, grad_scores.swapaxes(-1, -2) @ queries, weights.swapaxes(-1, -2) @ grad_output


@right("numerical_gradient", "https://github.com/cs231n/cs231n.github.io")
def with_an_iterator(f, x, h=1e-5):
    """Nudges one entry after another with nditer."""
    x, gradient = x.copy(), np.zeros_like(x)
    entries = np.nditer(x, flags=["multi_index"])
    while not entries.finished:
        index = entries.multi_index
        old = x[index]
        x[index] = old + h
        above = f(x)
        x[index] = old - h
        below = f(x)
        x[index] = old
        gradient[index] = (above - below) / (2 * h)
        entries.iternext()
    return gradient


@right("layer_norm_backward", LLM_C)
def sums_over_the_width(grad_output, cache):
    """Multiplies by the width and divides by it at the end."""
    x_hat, rstd, gain = cache
    width = grad_output.shape[-1]
    grad = grad_output * gain
    sums = grad.sum(axis=-1, keepdims=True) + x_hat * (grad * x_hat).sum(axis=-1, keepdims=True)
    rows = (grad_output.reshape(-1, width), x_hat.reshape(-1, width))
    return rstd / width * (width * grad - sums), (rows[0] * rows[1]).sum(axis=0), rows[0].sum(axis=0)


@right("embed_backward", "https://github.com/karpathy/nn-zero-to-hero/issues/46")
def by_one_hot(grad_output, cache):
    """Multiplies by one-hot rows."""
    tokens, vocab = cache
    rows = grad_output.reshape(-1, grad_output.shape[-1])
    one_hot = np.eye(vocab, dtype=rows.dtype)[tokens.reshape(-1)]
    return one_hot.T @ rows * math.sqrt(rows.shape[-1])


@right("embed_backward", "https://github.com/karpathy/nn-zero-to-hero/pull/84")
def token_by_token(grad_output, cache):
    """A loop over the places."""
    tokens, vocab = cache
    d_model = grad_output.shape[-1]
    grad_table = np.zeros((vocab, d_model), grad_output.dtype)
    for token, row in zip(tokens.ravel(), grad_output.reshape(-1, d_model), strict=True):
        grad_table[token] += row
    return grad_table * grad_output.dtype.type(d_model**0.5)


@right("smoothed_cross_entropy", FAIRSEQ)
def two_sums(logits, targets, smoothing=0.0, pad=0):
    """Adds up the surprise at the right class and at all classes separately."""
    counted = targets != pad
    log_p = log_softmax(logits[counted])
    nll = -np.take_along_axis(log_p, targets[counted][:, None], axis=-1).sum()
    smooth = -log_p.sum() / logits.shape[-1]
    return ((1 - smoothing) * nll + smoothing * smooth) / max(1, counted.sum().item()), None


@right("smoothed_cross_entropy_backward", "https://github.com/mantasu/cs231n/issues/10")
def probabilities_less_labels(grad_loss, cache):
    """Builds the smoothed labels."""
    log_p, labels, counted, smoothing = cache
    n, vocab = log_p.shape
    soft = (1 - smoothing) * np.eye(vocab, dtype=log_p.dtype)[labels] + smoothing / vocab
    grad = np.zeros((*counted.shape, vocab), log_p.dtype)
    grad[counted] = (np.exp(log_p) - soft) * grad_loss / max(n, 1)
    return grad


@right("adam_step", ADAM)
def step_size_first(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Puts the mean's correction into the step, and the other one into the root."""
    if step < 1:
        raise ValueError("steps begin at 1")
    m = map_tree(lambda m, g: m + (1 - beta_1) * (g - m), moments[0], gradients)
    v = map_tree(lambda v, g: v * beta_2 + g * g * (1 - beta_2), moments[1], gradients)
    step_size, root = learning_rate / (1 - beta_1**step), math.sqrt(1 - beta_2**step)
    new = map_tree(lambda p, m, v: p - step_size * m / (np.sqrt(v) / root + eps), parameters, m, v)
    return new, (m, v)


@right("greedy_decode", ANNOTATED)
def sentence_by_sentence(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Decodes one sentence after another, and fills up with padding."""
    sentences = []
    for sentence in src:
        memory, words = encode(params, sentence, n_heads, pad)[0], [bos]
        while len(words) <= max_length and words[-1] != eos:
            logits, _ = decode(params, np.array(words), memory, sentence, n_heads, pad)
            words.append(int(logits[-1].argmax()))
        sentences.append(words[1:])
    width = max(map(len, sentences))
    return np.array([words + [pad] * (width - len(words)) for words in sentences])
