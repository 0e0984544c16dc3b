"""What the exercises of chapter 9 share: logits and targets to draw, some of them padding."""

import numpy as np

from solutions.parameters import map_tree


def one_hot(targets, vocab):
    return (targets[..., None] == np.arange(vocab)).astype(float)


def to_judge(draw, n_batch_axes=1, n_padded=0, pad=0, scale=1.0):
    T, vocab, *batch = draw.sizes(2 + n_batch_axes, low=3, high=10)
    targets = draw.rng.integers(1, vocab, size=(*batch, T))
    targets[targets == pad] = 1 if pad != 1 else 2
    if n_padded:
        targets[..., -n_padded:] = pad
        # Sentences of different lengths, so that a mean of means is another number.
        targets.reshape(-1, T)[0, 1:] = pad
    logits = scale * draw.normal(*batch, T, vocab)
    smoothing = float(draw.rng.uniform(0.1, 0.4))
    return {"logits": logits, "targets": targets, "smoothing": smoothing, "pad": pad}


def with_strange_padding(inputs, value):
    logits = inputs["logits"].copy()
    logits[inputs["targets"] == inputs["pad"]] = value
    return inputs | {"logits": logits}


def checked(step):
    if step < 1:
        raise ValueError("steps count from 1")
    return step


def of_the_first_step(inputs):
    """With moments of zero."""
    return inputs | {"step": 1, "moments": tuple(map_tree(np.zeros_like, moment) for moment in inputs["moments"])}
