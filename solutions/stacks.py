"""Fresh stacks of feed-forward sub-layers, and the gradient that reaches the last one.

The exercise `predicted_gradients` of chapter 5 predicts the sizes of these gradients. A stack takes a few milliseconds.
The sub-layers have tanh instead of relu, because its outputs have mean zero, so all seeds give nearly the same sizes.
Sizes are only compared with each other, so float32 is exact enough.
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
    stream, grad_output = rng.normal(size=(2, N_WORDS, WIDTH)).astype(np.float32)
    deepest = max(run["depth"] for run in runs)
    weights = [(rng.normal(size=(WIDTH, HIDDEN)), rng.normal(size=(HIDDEN, WIDTH))) for _ in range(deepest)]
    weights = [((w_in / np.sqrt(WIDTH)).astype(np.float32), w_out.astype(np.float32)) for w_in, w_out in weights]
    wanted = [(run["norm"], run["update"], run["depth"]) for run in runs]
    # A shallow stack is the bottom of a deeper one with the same norm and the same updates.
    made = {stack: values for stack, *values in _sub_layers(wanted, stream, weights) if stack in wanted}
    hidden, tops = map(np.stack, zip(*made.values(), strict=True))
    grads = hidden.swapaxes(-1, -2) @ _through_the_last_norm(grad_output, tops)
    sizes = dict(zip(made, np.linalg.norm(grads, axis=(-2, -1)).tolist(), strict=True))
    return [sizes[stack] for stack in wanted]


def _sub_layers(wanted, stream, weights):
    """Yield each sub-layer as (the stack that ends with it, its hidden values, the stream after it).

    A stack is (norm, update, depth). All stacks grow at once, which is twice as fast as growing them in turn.
    """
    depths = {}
    for norm, update, depth in wanted:
        depths[norm, update] = max(depth, depths.get((norm, update), 0))
    stacks = sorted(depths, key=depths.get, reverse=True)
    is_post = np.array([norm == "post" for norm, _ in stacks])[:, None, None]
    scale = np.array([update / np.sqrt(VARIANCE * HIDDEN) for _, update in stacks], np.float32)[:, None, None]
    streams = np.stack([stream] * len(stacks))
    for layer, (w_in, w_out) in enumerate(weights):
        n = sum(layer < depth for depth in depths.values())
        streams, post = streams[:n], is_post[:n]
        levelled = _levelled(streams)
        below = np.where(post, levelled, streams) if layer else streams  # no norm precedes post-norm's first sub-layer
        hidden = np.tanh(np.where(post, below, levelled) @ w_in)
        streams = below + scale[:n] * (hidden @ w_out)
        yield from (((*stacks[i], layer + 1), hidden[i], streams[i]) for i in range(n))


def _levelled(stream):
    centred = stream - stream.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True))


def _through_the_last_norm(grad, stream):
    """What a norm passes back: nothing along ones and along its output, and the rest divided by the spread."""
    for direction in (np.ones_like(stream), _levelled(stream)):
        grad = grad - direction * np.mean(grad * direction, axis=-1, keepdims=True)
    return grad / np.std(stream, axis=-1, keepdims=True)
