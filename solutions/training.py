"""Chapter 9, training: label smoothing, the learning-rate schedule, Adam, and one training step.

Shapes use the names of the book's notation page; `...` stands for any leading batch axes.
"""

import math

import numpy as np

from solutions.learning_rate import noam_learning_rate
from solutions.logarithms import log_softmax
from solutions.model import backward, forward, table_for
from solutions.parameters import flatten, initialise, map_tree, unflatten
from solutions.predictions import order_and_reasons
from solutions.smoothing import smooth_labels


def smoothed_cross_entropy(logits, targets, smoothing=0.0, pad=0):
    """Cross-entropy with smoothed labels, averaged over all but padding.

    Args:
        logits: (..., T, vocab)
        targets: (..., T), integers in 0 .. vocab - 1.
        smoothing: eps of `smooth_labels`.
        pad: targets equal to it do not count, whatever their logits are,
            even inf or NaN.

    Returns:
        loss: a scalar in the dtype of `logits`; 0 if every target is
            padding.
        cache: (log_probabilities, labels, counted, smoothing) with counted
            = (targets != pad), (..., T), and the first two for the n
            counted targets only: (n, vocab) and (n,), integers.

    Source: Vaswani et al. 2017, section 5.4. The smoothed labels need not
    be built: see 'Two cross-entropies'.
    """
    counted = targets != pad
    # Selected, not multiplied by 0: 0 * inf is NaN.
    log_probabilities, labels = log_softmax(logits[counted]), targets[counted]
    right = log_probabilities[np.arange(len(labels)), labels]
    surprise = -(1 - smoothing) * right.sum() - smoothing * log_probabilities.mean(axis=-1).sum()
    return surprise / max(1, len(labels)), (log_probabilities, labels, counted, smoothing)


def smoothed_cross_entropy_backward(grad_loss, cache):
    """Gradient of `smoothed_cross_entropy` with respect to the logits.

    Args:
        grad_loss: float, 1 for the gradient of the loss itself.
        cache: (log_probabilities, labels, counted, smoothing) of
            `smoothed_cross_entropy`: (n, vocab), (n,), (..., T), float.

    Returns:
        grad_logits: (..., T, vocab), the probabilities minus the smoothed
            labels, divided by the number of targets that count; zero at
            padding. In the dtype of log_probabilities.
    """
    log_probabilities, labels, counted, smoothing = cache
    n, vocab = log_probabilities.shape
    difference = np.exp(log_probabilities) - smoothing / vocab
    difference[np.arange(n), labels] -= 1 - smoothing
    grad_logits = np.zeros((*counted.shape, vocab), dtype=difference.dtype)
    grad_logits[counted] = difference * (grad_loss / max(1, n))
    return grad_logits


def adam_step(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """One step of Adam: the gradients' running mean, over their running size.

    Args:
        parameters: a tree: an array, or a list or a dict of trees.
        gradients: a tree with the same names and shapes.
        moments: (mean, mean_of_squares), two more such trees, of zeros
            before step 1.
        step: 1, 2, 3, ...
        learning_rate: length of the step.
        beta_1, beta_2: how much of the two running means stays.
        eps: keeps the quotient finite; added to the root, not under it.

    Returns:
        parameters: the new ones, each in its own dtype; the arguments are
            not modified.
        moments: (mean, mean_of_squares), the new ones, before bias correction.

    Raises:
        ValueError: step is smaller than 1.

    Source: Kingma & Ba 2015, algorithm 1; the constants from Vaswani et
    al. 2017, section 5.3.
    """
    if step < 1:
        raise ValueError(f"steps count from 1, and this one is {step}")
    mean, mean_of_squares = moments
    mean = map_tree(lambda m, g: beta_1 * m + (1 - beta_1) * g, mean, gradients)
    mean_of_squares = map_tree(lambda v, g: beta_2 * v + (1 - beta_2) * g**2, mean_of_squares, gradients)

    def moved(parameter, m, v):
        # Running means that start at zero are too small at first, by these factors.
        unbiased_mean = m / (1 - beta_1**step)
        unbiased_root = np.sqrt(v / (1 - beta_2**step))
        return parameter - learning_rate * unbiased_mean / (unbiased_root + eps)

    return map_tree(moved, parameters, mean, mean_of_squares), (mean, mean_of_squares)


def zero_moments(params):
    """What Adam remembers before step 1: (mean, mean_of_squares), two trees of zeros like params."""
    zeros = map_tree(np.zeros_like, params)
    return zeros, zeros


def train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """One step of training: forward, loss, backward, and Adam.

    Args:
        params: nested dict of arrays, as `initialise` makes it.
        moments: (mean, mean_of_squares), two trees like params, of zeros
            before step 1.
        step: 1, 2, 3, ...
        src: (N, T_src), integers.
        tgt: (N, T_tgt), integers, from the begin mark to the end mark, then
            padding.
        n_heads: int
        learning_rate: the rate of this step.
        smoothing: eps of the label smoothing.
        pad: the padding token.

    Returns:
        params: the new ones, in the same tree; the arguments are not modified.
        moments: (mean, mean_of_squares), the new ones.
        loss: float, the smoothed cross-entropy before the step.

    Source: Vaswani et al. 2017, section 5.
    """
    logits, model_cache = forward(params, src, tgt[:, :-1], n_heads, pad)
    loss, loss_cache = smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
    gradients = backward(smoothed_cross_entropy_backward(1.0, loss_cache), model_cache)
    params, moments = adam_step(params, gradients, moments, step, learning_rate)
    return params, moments, float(loss)


def tests_train_step(function):
    """Test a function that claims to make one step of training.

    Args:
        function: a candidate for `train_step`, with the same arguments.

    Returns:
        verdict: True if the function keeps every promise of `train_step`:
            the loss, the new parameters and both new moments, for any step,
            moments, smoothing and pad, and leaves all arguments unchanged.
            False if it breaks one. A failed `assert` or an exception also
            counts as False, and a test that ends without a `return` counts
            as True.
    """
    rng = np.random.default_rng(0)
    params = initialise(rng, {"shared": 9}, 4, 6, 1, 1)
    mean = map_tree(lambda array: 0.1 * rng.normal(size=array.shape), params)
    squares = map_tree(lambda array: 0.5 + rng.normal(size=array.shape) ** 2, params)
    src = np.array([[5, 6, 7, 4], [4, 8, 3, 3]])
    tgt = np.array([[1, 7, 5, 4, 2], [1, 6, 2, 3, 3]])
    arguments = [params, mean, squares, src, tgt]
    copies = map_tree(np.copy, arguments)
    new, (new_mean, new_squares), loss = function(params, (mean, squares), 4, src, tgt, 2, 0.1, 0.3, 3)
    if not np.array_equal(flatten(arguments), flatten(copies)):
        return False

    def loss_at(vector):
        logits, _ = forward(unflatten(vector, params), src, tgt[:, :-1], 2, 3)
        return smoothed_cross_entropy(logits, tgt[:, 1:], 0.3, 3)[0]

    start = flatten(params)
    gradient = (flatten(new_mean) - 0.9 * flatten(mean)) / 0.1  # the one that the function used
    direction = rng.normal(size=start.shape)
    slope = (loss_at(start + 1e-5 * direction) - loss_at(start - 1e-5 * direction)) / 2e-5
    moved, (_, squares) = adam_step(start, gradient, (flatten(mean), flatten(squares)), 4, 0.1)
    return bool(
        np.isclose(loss, loss_at(start))
        and np.isclose(gradient @ direction, slope, atol=1e-6)
        and np.allclose(flatten(new_squares), squares)
        and np.allclose(flatten(new), moved)
    )


def train(params, batches, n_heads, warmup, peak=1.0, smoothing=0.1, pad=0):
    """Train along the paper's schedule; a generator, so that the caller can watch each step and stop at any time.

    Args:
        params: nested dict of arrays, as `initialise` makes it.
        batches: iterable of (src, tgt), see `train_step`.
        n_heads: int
        warmup: see `noam_learning_rate`.
        peak: factor on the whole schedule; short runs of small models want less than the paper's 1.
        smoothing, pad: see `train_step`.

    Yields:
        params: the parameters after the step.
        loss: float, the loss before the step.
    """
    moments = zero_moments(params)
    d_model = table_for(params["embeddings"], "source").shape[1]
    for step, (src, tgt) in enumerate(batches, start=1):
        learning_rate = peak * noam_learning_rate(step, d_model, warmup)
        params, moments, loss = train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
        yield params, loss


def average(checkpoints):
    """The mean of several sets of parameters, array by array: the paper's checkpoint averaging.

    Args:
        checkpoints: list of nested dicts of arrays, all with the same tree.

    Returns:
        params: one such dict.

    Source: Vaswani et al. 2017, section 6.1.
    """
    return map_tree(lambda *arrays: sum(arrays) / len(arrays), *checkpoints)


def label_entropy(vocab, smoothing):
    """Entropy of a smoothed label: the loss of a model that is always right and exactly as sure as the label.

    Args:
        vocab: number of classes, K.
        smoothing: eps of `smooth_labels`.

    Returns:
        entropy: float, in nats; 0 for smoothing 0.
    """
    label = smooth_labels(np.array(0), vocab, smoothing)
    return float(-sum(q * math.log(q) for q in label if q > 0))


def predicted_final_losses(runs):
    """Predict the order of training runs by their final loss.

    Args:
        runs: list of dicts, one for each run of 80 steps.
            rate: highest rate of the schedule.
            warmup: the step at which the schedule reaches it.
            smoothing: eps of the label smoothing.

    Returns:
        order: list of indices of `runs`, from the lowest loss to the
            highest.
        reasons: list of names of settings, one for each pair of neighbours
            in the order: if the first of the two takes this setting from
            the second, its loss comes closest to the second's.
    """

    def final_loss(run):
        reached = run["rate"] * min(1, 80 / run["warmup"])
        still_to_learn = np.interp(math.log10(reached), (-3, -2, -1, 0), (0.9, 0.3, 0, 0.9))
        lowest = label_entropy(11, run["smoothing"])
        return lowest + still_to_learn * (math.log(11) - lowest)

    return order_and_reasons(final_loss, runs)


def diagnose_training(run):
    """Name the bug in a training run, and the first step that shows it.

    Args:
        run: dict of arrays with a row for each step, counted from 0.
            loss, copied, past_moves: (n_steps,).
            gradient_norms, update_norms: (n_steps, n_layers).
            See 'What a log shows'.

    Returns:
        bug: str, a name in the table of 'What a log shows'.
        first: int, the first step with the bug; None if the bug is
            "nothing".
    """
    loss, copied, past_moves = (run[name] for name in ("loss", "copied", "past_moves"))
    gradients, updates = run["gradient_norms"], run["update_norms"]
    updates_grow, gradients_grow = _growth(updates).mean(axis=-1), _growth(gradients).min(axis=-1)
    loss_grows = _growth(loss)
    jumps = loss_grows > 1.15
    stays_high = loss[-1] > 0.5 * loss[jumps.argmax()]
    jump = (
        "target not shifted" if copied[-1] > 0.4 else "labels of other sentences" if stays_high else "padding counted"
    )
    signs = {
        "mask forgotten": past_moves > 1e-9,
        "layer not updated": (updates == 0).any(axis=-1),
        "way back cut": (gradients == 0).any(axis=-1),
        "rate too high": updates_grow > 3,
        "moments lost": updates_grow > 1.1,
        "loss summed": loss_grows > 15,
        jump: jumps,
        "gradients not cleared": gradients_grow > 1.6,
    }
    shown = np.array(list(signs.values()))
    if not shown.any():
        return "nothing", None
    first = int(shown.any(axis=0).argmax())
    return list(signs)[shown[:, first].argmax()], first


def _growth(norms):
    """Each row divided by the row before it; 1 in the first row and where the row before is zero."""
    before = np.concatenate([norms[:1], norms[:-1]])
    return np.divide(norms, before, out=np.ones_like(norms), where=before > 0)
