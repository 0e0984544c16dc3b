"""Train the small language model of `runs.py` in many runs at once, with different rates, warm-ups and smoothings.

The exercise `predicted_final_losses` of chapter 9 predicts where their losses end. Twenty runs take less than a second.
"""

import numpy as np

from solutions.runs import ENDS, N_WORDS, PAD, PAST, SHAPES, STARTS, loss_and_gradient, one_hot, random_sentences

N_STEPS, N_LAST, N_SENTENCES = 80, 8, 16
N_CLASSES = N_WORDS + 1  # with the padding


def final_losses(runs, seed):
    """Train a model in each run, and return the mean loss of its last steps.

    Args:
        runs: list of dicts of rate, warmup and smoothing. The learning rate rises linearly to `rate` at step
            `warmup`, then falls as 1 / sqrt(step). A run has 80 steps, so it may end during the warm-up.
        seed: draws the data, and the parameters with which all runs start.

    Returns:
        losses: list of floats, each the mean over the last 8 steps of the loss that the run minimises.
    """
    highest, warmup, smoothing = (
        np.array([run[name] for run in runs], float) for name in ("rate", "warmup", "smoothing")
    )
    rng = np.random.default_rng(seed)
    sentences = random_sentences(rng, N_SENTENCES)
    length = (sentences != PAD).sum(axis=1).max() - 1  # no position beyond it has a target
    inputs, targets = sentences[:, :length], sentences[:, 1 : length + 1]
    seen, labels = one_hot(inputs), _smoothed(targets, smoothing) * ((targets != PAD) / (targets != PAD).sum()).ravel()
    theta = np.tile(0.3 * rng.normal(size=ENDS[-1]), (len(runs), 1))
    mean, squares, losses = np.zeros_like(theta), np.zeros_like(theta), []
    for step in range(1, N_STEPS + 1):
        layers = [
            theta[:, start:end].reshape(-1, *shape) for start, end, shape in zip(STARTS, ENDS, SHAPES, strict=True)
        ]
        loss, gradient = loss_and_gradient(layers, seen, labels, PAST[:length, :length])
        losses.append(loss)
        mean, squares = 0.9 * mean + 0.1 * gradient, 0.98 * squares + 0.02 * gradient**2
        rate = highest * np.minimum(step / warmup, np.sqrt(warmup / step))
        update = mean / (1 - 0.9**step) / (np.sqrt(squares / (1 - 0.98**step)) + 1e-9)
        theta = theta - rate[:, None] * update
    return [float(loss) for loss in np.mean(losses[-N_LAST:], axis=0)]


def _smoothed(targets, smoothing):
    """The smoothed labels of all runs: (n_runs, N_CLASSES, n_tokens)."""
    share = smoothing[:, None, None]
    return (1 - share) * one_hot(targets) + share / N_CLASSES
