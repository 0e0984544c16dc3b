"""Records of fresh pre-norm stacks that have one bug in one sub-layer.

Chapter 5 reads such records, and the exercise `diagnose_depth` asks what is wrong, and where. A sub-layer is a norm and
a feed-forward without biases, and all gains are one. Making a record takes a few milliseconds.
"""

import numpy as np

BUGS = (
    "nothing",
    "residual missing",
    "residual missing on the way back",
    "stream normalised",
    "norm after the sum",
    "norm missing",
    "norm over the words",
    "gain at zero",
    "w_out at zero",
    "w_in not scaled",
    "w_out not scaled",
)
N_WORDS, WIDTH, HIDDEN = 10, 32, 96


def stack_record(bug, rng):
    """Make a fresh pre-norm stack with a bug in one sub-layer, and return a record of its first step.

    Args:
        bug: one of BUGS.
        rng: draws the depth, the sub-layer, the words, the weights and the gradient that arrives at the top.

    Returns:
        record: dict with a row for each sub-layer, counted from 0. Arrays of the stream have one row more.
            stream: (n_layers + 1, n_words, d_model); row l enters sub-layer l, and the last row leaves the stack.
            moved: (n_layers + 1, n_words), how far each word's vector moves if only the last word is replaced.
            stream_gradients: (n_layers + 1,), the length of the gradient of each row of `stream`.
            gain_gradients, w_in_gradients, w_out_gradients: (n_layers,), the length of each parameter's gradient.
        first: the sub-layer with the bug; None if the bug is "nothing".
    """
    n_layers = int(rng.integers(9, 14))
    first = int(rng.integers(4, n_layers - 2))
    bugs = [bug if layer == first else "nothing" for layer in range(n_layers)]
    weights = [_fresh_weights(each, rng) for each in bugs]
    x, grad = rng.normal(size=(2, N_WORDS, WIDTH))
    changed = x.copy()
    changed[-1] = rng.normal(size=WIDTH)
    stream, caches = _forward(x, weights, bugs)
    moved = np.linalg.norm(_forward(changed, weights, bugs)[0] - stream, axis=-1)
    stream_gradients, of_parameters = [np.linalg.norm(grad)], []
    for cache, each in zip(reversed(caches), reversed(bugs), strict=True):
        grad, gradients = _sub_layer_backward(grad, cache, each)
        stream_gradients.append(np.linalg.norm(grad))
        of_parameters.append([np.linalg.norm(gradient) for gradient in gradients])
    gain, w_in, w_out = np.array(of_parameters[::-1]).T
    record = {
        "stream": stream,
        "moved": moved,
        "stream_gradients": np.array(stream_gradients[::-1]),
        "gain_gradients": gain,
        "w_in_gradients": w_in,
        "w_out_gradients": w_out,
    }
    return record, (None if bug == "nothing" else first)


def _fresh_weights(bug, rng):
    """Draw gain, w_in and w_out of one sub-layer."""
    w_in = rng.normal(size=(WIDTH, HIDDEN)) / (1 if bug == "w_in not scaled" else np.sqrt(WIDTH))
    w_out = rng.normal(size=(HIDDEN, WIDTH)) / (1 if bug == "w_out not scaled" else np.sqrt(HIDDEN))
    return float(bug != "gain at zero"), w_in, 0 * w_out if bug == "w_out at zero" else w_out


def _forward(x, weights, bugs):
    """Return the stream before each sub-layer and after the last, and the caches of the sub-layers."""
    stream, caches = [x], []
    for (gain, w_in, w_out), bug in zip(weights, bugs, strict=True):
        x, cache = _sub_layer(x, gain, w_in, w_out, bug)
        stream.append(x)
        caches.append(cache)
    return np.array(stream), caches


def _sub_layer(x, gain, w_in, w_out, bug):
    axis = -2 if bug == "norm over the words" else -1
    normed, norm_cache = _norm(x, axis), (x, axis)
    read = x if bug in ("norm missing", "norm after the sum") else gain * normed
    hidden = np.maximum(read @ w_in, 0)
    kept = {"residual missing": 0, "stream normalised": normed}.get(bug, x)
    output = kept + hidden @ w_out
    if bug == "norm after the sum":
        normed, norm_cache = _norm(output, -1), (output, -1)
        output = gain * normed
    return output, (normed, norm_cache, gain, read, w_in, hidden, w_out)


def _sub_layer_backward(grad, cache, bug):
    """The gradients of x, and those of gain, w_in and w_out."""
    normed, norm_cache, gain, read, w_in, hidden, w_out = cache
    if bug == "norm after the sum":
        grad_gain = np.sum(grad * normed, axis=0)
        grad = _norm_backward(grad * gain, *norm_cache)
    grad_inner = (grad @ w_out.T) * (hidden > 0)
    through = grad_inner @ w_in.T
    if bug == "norm missing":
        grad_gain = np.zeros(WIDTH)
    elif bug != "norm after the sum":
        grad_gain = np.sum(through * normed, axis=0)
        through = _norm_backward(through * gain + (grad if bug == "stream normalised" else 0), *norm_cache)
    cut = bug in ("residual missing", "residual missing on the way back", "stream normalised")
    return through + (0 if cut else grad), (grad_gain, read.T @ grad_inner, hidden.T @ grad)


def _norm(x, axis):
    """Give x mean zero and variance one along an axis."""
    centred = x - x.mean(axis=axis, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=axis, keepdims=True) + 1e-5)


def _norm_backward(grad, x, axis):
    """Measure the gradient of x with a complex step, because deriving it is an exercise of this chapter.

    The Jacobian of a norm is symmetric, so the gradient of x is also the derivative in the direction `grad`.
    """
    step = 1e-20
    return _norm(x + 1j * step * grad, axis).imag / step
