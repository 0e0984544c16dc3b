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
    weights = [(rng.normal(size=(WIDTH, HIDDEN)), rng.normal(size=(HIDDEN, WIDTH))) for _ in range(deepest)]
    weights = [(normal_in / np.sqrt(WIDTH), normal_out) for normal_in, normal_out in weights]
    sizes = {}  # of stacks with one norm and one update: the shallow ones are the bottom of the deepest
    for norm, update in {(run["norm"], run["update"]) for run in runs}:
        depths = {run["depth"] for run in runs if (run["norm"], run["update"]) == (norm, update)}
        for depth, (hidden, top) in enumerate(_sub_layers(norm, update, stream, weights[: max(depths)]), start=1):
            if depth in depths:
                size = np.linalg.norm(hidden.T @ _through_the_last_norm(grad_output, top))
                sizes[norm, depth, update] = float(size)
    return [sizes[run["norm"], run["depth"], run["update"]] for run in runs]


def _sub_layers(norm, update, stream, weights):
    """Yield the hidden values of each sub-layer and the stream behind it, from the bottom to the top."""
    for layer, (w_in, normal_out) in enumerate(weights):
        w_out = update * normal_out / np.sqrt(VARIANCE * HIDDEN)
        if norm == "post" and layer:
            stream = _levelled(stream)
        hidden = np.tanh((_levelled(stream) if norm == "pre" else stream) @ w_in)
        stream = stream + hidden @ w_out
        yield hidden, stream


def _levelled(stream):
    centred = stream - stream.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True))


def _through_the_last_norm(grad, stream):
    """Return what a norm lets through: nothing along ones and along its output, and the rest divided by the spread."""
    for direction in (np.ones_like(stream), _levelled(stream)):
        grad = grad - direction * np.average(grad * direction, axis=-1)[:, None]
    return grad / np.std(stream, axis=-1)[:, None]
