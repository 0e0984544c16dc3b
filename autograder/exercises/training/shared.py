"""Draw logits and targets, some of them padding, for the exercises of chapter 9."""

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
        # Sentences of different lengths, so that a mean of means differs.
        targets.reshape(-1, T)[0, 1:] = pad
    logits = scale * draw.normal(*batch, T, vocab)
    smoothing = float(draw.rng.uniform(0.1, 0.4))
    return {"logits": logits, "targets": targets, "smoothing": smoothing, "pad": pad}


def with_strange_padding(inputs, value):
    logits = inputs["logits"].copy()
    logits[inputs["targets"] == inputs["pad"]] = value
    return inputs | {"logits": logits}


def with_padding_before_words(inputs):
    """Put padding before the words of one sentence and between those of the next. There must be a batch axis."""
    targets = inputs["targets"].copy()
    rows = targets.reshape(-1, targets.shape[-1])
    rows[::2, 1] = rows[1::2, 0] = inputs["pad"]
    return inputs | {"targets": targets}


def up_to_the_last_word(targets, pad):
    """Return for each target whether it comes no later than the last word of its sentence."""
    return np.logical_or.accumulate((targets != pad)[..., ::-1], axis=-1)[..., ::-1]


def up_to_the_first_padding(targets, pad):
    """Return for each target whether it comes before the first padding of its sentence."""
    return np.logical_and.accumulate(targets != pad, axis=-1)


def checked(step):
    if step < 1:
        raise ValueError("steps count from 1")
    return step


def of_the_first_step(inputs):
    """Return the inputs of a first step, whose moments are zero."""
    return inputs | {"step": 1, "moments": tuple(map_tree(np.zeros_like, moment) for moment in inputs["moments"])}


def adam(
    parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9, *,
    shares=lambda b: (b, 1 - b), corrected=(True, True), correct=lambda average, share: average / share,
    crossed=False, root=lambda v, e: np.sqrt(v) + e, power=lambda b, s: b**s,
):  # fmt: skip
    """Run Adam with some of its parts replaced.

    shares: the weights of the old average and of the new value. corrected: whether to correct the mean, and the mean of
    squares. correct: a function that corrects an average. crossed: whether each average uses the other's beta.
    root: the divisor of a step. power: a function of beta and the step.
    """
    checked(step)
    mean, squares = moments
    (old_1, new_1), (old_2, new_2) = shares(beta_1), shares(beta_2)
    mean = map_tree(lambda m, g: old_1 * m + new_1 * g, mean, gradients)
    squares = map_tree(lambda v, g: old_2 * v + new_2 * g**2, squares, gradients)
    betas = (beta_2, beta_1) if crossed else (beta_1, beta_2)

    def unbiased(average, i):
        return correct(average, 1 - power(betas[i], step)) if corrected[i] else average

    def moved(parameter, m, v):
        return parameter - learning_rate * unbiased(m, 0) / root(unbiased(v, 1), eps)

    return map_tree(moved, parameters, mean, squares), (mean, squares)
