"""Many training runs of the small language model of `runs.py` at once, with other rates, warm-ups and smoothings.

Chapter 9 predicts where their losses end in `predicted_ends`. Twenty runs take less than a second.
"""

import numpy as np

from solutions.runs import ENDS, LENGTH, N_WORDS, PAD, PAST, SHAPES, STARTS, log_softmax, random_sentences

N_STEPS, N_LAST, N_SENTENCES = 80, 8, 16
N_CLASSES = N_WORDS + 1  # with the padding


def final_losses(runs, seed):
    """Train a model in each run, and return the mean loss of its last steps.

    Args:
        runs: list of dicts of rate, warmup and smoothing. The learning rate climbs straight to `rate` at step
            `warmup` and falls with the root after it. A run has 80 steps, so it may end before.
        seed: draws the data, and the parameters with which all runs start.

    Returns:
        losses: list of floats, each the mean over the last 8 steps of the loss that the run minimises.
    """
    highest, warmup, smoothing = (
        np.array([run[name] for run in runs], float) for name in ("rate", "warmup", "smoothing")
    )
    rng = np.random.default_rng(seed)
    sentences = random_sentences(rng, N_SENTENCES)
    inputs, targets = sentences[:, :-1], sentences[:, 1:]
    labels = _smoothed(targets, smoothing) * (targets != PAD)[..., None] / (targets != PAD).sum()
    theta = np.tile(0.3 * rng.normal(size=ENDS[-1]), (len(runs), 1))
    mean, squares, losses = np.zeros_like(theta), np.zeros_like(theta), []
    for step in range(1, N_STEPS + 1):
        loss, gradient = _losses_and_gradients(theta, inputs, labels)
        losses.append(loss)
        mean, squares = 0.9 * mean + 0.1 * gradient, 0.98 * squares + 0.02 * gradient**2
        rate = highest * np.minimum(step / warmup, np.sqrt(warmup / step))
        update = mean / (1 - 0.9**step) / (np.sqrt(squares / (1 - 0.98**step)) + 1e-9)
        theta = theta - rate[:, None] * update
    return [float(loss) for loss in np.mean(losses[-N_LAST:], axis=0)]


def _smoothed(targets, smoothing):
    """Return the smoothed labels of all runs: (n_runs, n_sentences, LENGTH, N_CLASSES)."""
    one_hot = (targets[..., None] == np.arange(N_CLASSES)).astype(float)
    share = smoothing[:, None, None, None]
    return (1 - share) * one_hot + share / N_CLASSES


def _losses_and_gradients(theta, inputs, labels):
    """Return the loss (n_runs,) and the gradient (n_runs, n_parameters) of each run.

    labels: (n_runs, n_sentences, LENGTH, N_CLASSES), divided by the number of targets that count, zero at the others.
    """
    n_runs = len(theta)
    embedding, mix, hidden, output = (
        theta[:, start:end].reshape(n_runs, *shape) for start, end, shape in zip(STARTS, ENDS, SHAPES, strict=True)
    )
    one_hot = (inputs.ravel()[:, None] == np.arange(N_CLASSES)).astype(float)
    x = one_hot @ embedding  # (n_runs, n_sentences * LENGTH, WIDTH), as all that follows
    past = _mixed(PAST, x)
    y = x + past @ mix
    h = np.tanh(y @ hidden)
    log_p = log_softmax(h @ output)
    labels = labels.reshape(log_p.shape)
    loss = -(labels * log_p).sum(axis=(1, 2))
    grad_logits = np.exp(log_p) * labels.sum(axis=-1, keepdims=True) - labels
    grad_inner = (grad_logits @ _transposed(output)) * (1 - h**2)
    grad_y = grad_inner @ _transposed(hidden)
    grad_x = grad_y + _mixed(PAST.T, grad_y @ _transposed(mix))
    gradients = (
        one_hot.T @ grad_x,
        _transposed(past) @ grad_y,
        _transposed(y) @ grad_inner,
        _transposed(h) @ grad_logits,
    )
    return loss, np.concatenate([gradient.reshape(n_runs, -1) for gradient in gradients], axis=1)


def _mixed(mixing, rows):
    """Return the rows of each sentence, mixed over its positions."""
    sentences = rows.reshape(len(rows), -1, LENGTH, rows.shape[-1])
    return (mixing @ sentences).reshape(rows.shape)


def _transposed(matrices):
    return matrices.swapaxes(-1, -2)
