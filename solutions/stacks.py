"""Fresh stacks of feed-forward sub-layers, and the gradient that the last one gets.

Chapter 5 predicts the sizes of these gradients in `predicted_gradients`. A stack takes some milliseconds. The
sub-layers have tanh in place of relu: its outputs have mean zero, so all seeds give nearly the same sizes.
"""

import numpy as np

N_WORDS, WIDTH, HIDDEN = 24, 48, 96
VARIANCE = 0.394  # of the tanh of a standard normal number


def top_gradients(runs, seed):
    """Make fresh stacks, and return the size of the gradient of each last sub-layer's second weight.

    Args:
        runs: list of dicts of norm ("pre" or "post"), depth (the number of sub-layers) and update (the standard
            deviation of what a sub-layer adds).
        seed: draws the words, the weights and the gradient that arrives at the top.

    Returns:
        sizes: list of floats, one for each stack.
    """
    rng = np.random.default_rng(seed)
    stream, grad_output = rng.normal(size=(2, N_WORDS, WIDTH))
    deepest = max(run["depth"] for run in runs)
    drawn = [(rng.normal(size=(WIDTH, HIDDEN)), rng.normal(size=(HIDDEN, WIDTH))) for _ in range(deepest)]
    return [_top_gradient(**run, stream=stream, grad_output=grad_output, drawn=drawn) for run in runs]


def _top_gradient(norm, depth, update, stream, grad_output, drawn):
    for layer, (normal_in, normal_out) in enumerate(drawn[:depth]):
        w_in = normal_in / np.sqrt(WIDTH)
        w_out = update * normal_out / np.sqrt(VARIANCE * HIDDEN)
        if norm == "post" and layer:
            stream = _levelled(stream)
        hidden = np.tanh((_levelled(stream) if norm == "pre" else stream) @ w_in)
        stream = stream + hidden @ w_out
    return float(np.linalg.norm(hidden.T @ _through_the_last_norm(grad_output, stream)))


def _levelled(stream):
    return (stream - np.mean(stream, axis=-1, keepdims=True)) / np.std(stream, axis=-1, keepdims=True)


def _through_the_last_norm(grad, stream):
    """Return what a norm lets through: nothing along ones and along its output, and the rest divided by the spread."""
    for direction in (np.ones_like(stream), _levelled(stream)):
        grad = grad - direction * np.average(grad * direction, axis=-1)[:, None]
    return grad / np.std(stream, axis=-1)[:, None]
