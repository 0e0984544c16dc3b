"""Training runs of a small language model, healthy up to a step at which one line of the code changes.

Chapter 9 reads the logs of such runs, and the exercise `diagnose_training` asks which line changed. The model is a
mean over the past and two layers; it learns which word follows which. A run takes a few milliseconds.
"""

import numpy as np

BUGS = (
    "nothing",
    "rate too high",
    "moments lost",
    "layer not updated",
    "way back cut",
    "gradients not cleared",
    "loss summed",
    "target not shifted",
    "labels of other sentences",
    "padding counted",
    "mask forgotten",
)
N_WORDS, WIDTH, N_SENTENCES, LENGTH, N_STEPS, RATE = 10, 8, 24, 9, 48, 0.025
PAD, N_WATCHED = 0, 8
PAST = np.tri(LENGTH) / np.arange(1, LENGTH + 1)[:, None]  # row t is the mean over positions 0 .. t
EVERYTHING = np.full((LENGTH, LENGTH), 1 / LENGTH)
SHAPES = ((N_WORDS + 1, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, N_WORDS + 1))
CLASSES = np.arange(N_WORDS + 1)[:, None]
ENDS = np.cumsum([rows * columns for rows, columns in SHAPES])
STARTS = ENDS - [rows * columns for rows, columns in SHAPES]


def training_run(bug, rng):
    """Train the model, put one bug in at a step, and return what a training log shows.

    Args:
        bug: one of BUGS.
        rng: draws the data, the parameters and the step.

    Returns:
        run: dict with a row for each step, counted from 0.
            loss: (n_steps,), as the code computes it on its batch.
            copied: (n_steps,), the share of unseen words after which the model expects the same word again.
            gradient_norms, update_norms: (n_steps, 4), the length of each layer's gradient, and of its change by Adam.
            past_moves: (n_steps,), the largest change of an output when only later tokens change.
        first: the first step with the bug; None if the bug is "nothing".
    """
    return training_runs([bug], rng)[0]


def training_runs(bugs, rng):
    """Train several models at once, which is faster; see `training_run`.

    Args:
        bugs: list of names in BUGS.
        rng: draws everything for the first run, then for the second, and so on.

    Returns:
        list of (run, first), one for each bug.
    """
    first, layer, too_high, sentences, theta = (
        np.array(drawn) for drawn in zip(*(_drawn(rng) for _ in bugs), strict=True)
    )
    batch, watched = sentences[:, :N_SENTENCES], sentences[:, N_SENTENCES:]
    last_token_changed = watched.copy()
    last_token_changed[:, :, -2] = 1 + watched[:, :, -2] % N_WORDS
    watched = np.concatenate([watched, last_token_changed], axis=1)
    inputs, targets = batch[..., :-1], batch[..., 1:]
    words, seen, seen_watched = watched[:, :N_WATCHED, :-1], _each(one_hot, inputs), _each(one_hot, watched[..., :-1])
    layers = [
        theta[:, start:end].reshape(-1, *shape) for start, end, shape in zip(STARTS, ENDS, SHAPES, strict=True)
    ]  # views, which change with theta
    labels, mixing = _each(_labels, targets), np.repeat(PAST[None], len(bugs), axis=0)
    mean, squares, gradient = np.zeros_like(theta), np.zeros_like(theta), np.zeros_like(theta)
    passed, updated = np.ones_like(theta), np.ones_like(theta)
    n_averaged, scale, kept, rate = (np.full((len(bugs), 1), number) for number in (0, 1.0, 0.0, RATE))
    log = []
    for step in range(N_STEPS):
        for i in np.flatnonzero(first == step):
            match bugs[i]:
                case "rate too high":
                    rate[i] *= too_high[i]
                case "moments lost":
                    mean[i], squares[i], n_averaged[i] = 0, 0, 0
                case "layer not updated":
                    updated[i, STARTS[layer[i]] : ENDS[layer[i]]] = 0
                case "way back cut":
                    passed[i, : STARTS[layer[i]]] = 0
                case "gradients not cleared":
                    kept[i] = 1
                case "loss summed":
                    scale[i] = (targets[i] != PAD).sum()
                case "target not shifted":
                    labels[i] = _labels(inputs[i])
                case "padding counted":
                    labels[i] = one_hot(targets[i]) / targets[i].size
                case "mask forgotten":
                    mixing[i] = EVERYTHING
        for i in np.flatnonzero((first <= step) & (np.array(bugs) == "labels of other sentences")):
            labels[i] = _labels(np.roll(targets[i], 1 + step % (N_SENTENCES - 1), axis=0))
        loss, new_gradient = loss_and_gradient(layers, seen, labels, mixing)
        gradient = kept * gradient + scale * passed * new_gradient
        n_averaged += 1
        mean, squares = 0.9 * mean + 0.1 * gradient, 0.98 * squares + 0.02 * gradient**2
        update = mean / (1 - 0.9**n_averaged) / (np.sqrt(squares / (1 - 0.98**n_averaged)) + 1e-9)
        update *= -rate * min(1, (20 / (step + 1)) ** 0.5) * updated
        copied, past_moves = _watched(layers, words, seen_watched, mixing)
        log.append((scale[:, 0] * loss, copied, _norms(gradient), _norms(update), past_moves))
        theta += update
    names = "loss", "copied", "gradient_norms", "update_norms", "past_moves"
    columns = {name: np.array(column) for name, column in zip(names, zip(*log, strict=True), strict=True)}
    return [
        ({name: column[:, i] for name, column in columns.items()}, None if bug == "nothing" else int(first[i]))
        for i, bug in enumerate(bugs)
    ]


def _drawn(rng):
    """Draw what differs between runs: the bug's first step, its layer and rate, the sentences and the parameters."""
    first, layer, too_high = int(rng.integers(12, 20)), int(rng.integers(1, len(SHAPES))), rng.uniform(8, 16)
    return first, layer, too_high, random_sentences(rng, N_SENTENCES + N_WATCHED), 0.3 * rng.normal(size=ENDS[-1])


def _each(function, arrays):
    return np.array([function(array) for array in arrays])


def random_sentences(rng, count):
    """Sentences in which nine words of ten are followed by a word of their own, padded at the end."""
    circle = rng.permutation(N_WORDS)
    follower = np.zeros_like(circle)
    follower[circle] = np.roll(circle, -1)
    tokens = rng.integers(N_WORDS, size=(count, LENGTH + 1))
    usual = rng.random(size=tokens.shape) < 0.9
    for t in range(1, LENGTH + 1):
        tokens[:, t] = np.where(usual[:, t], follower[tokens[:, t - 1]], tokens[:, t])
    lengths = rng.integers(LENGTH // 2, LENGTH - 1, size=(count, 1))
    return np.where(np.arange(LENGTH + 1) < lengths, tokens + 1, PAD)


def one_hot(tokens):
    """Return an array (N_WORDS + 1, n_tokens) that is 1 at each token. All arrays here have a column for each token."""
    return (tokens.ravel() == CLASSES).astype(float)


def _labels(targets):
    """The labels with their share in the mean: 1 / n for each of the n targets that are not padding."""
    counted = targets.ravel() != PAD
    return one_hot(targets) * (counted / counted.sum())


def _forward(layers, seen, mixing):
    embedding, mix, hidden, output = map(transposed, layers)
    x = embedding @ seen
    past = _mixed(x, mixing)
    y = x + mix @ past
    h = np.tanh(hidden @ y)
    return output @ h, (past, y, h)


def loss_and_gradient(layers, seen, labels, mixing):
    """Return the loss and the gradient of all parameters as one row, for one run or for several at once.

    Args:
        layers: list of four arrays (..., rows, columns), with the runs in front.
        seen: (..., N_WORDS + 1, n_tokens), from `one_hot`; or without the runs, if all see the same.
        labels: (..., N_WORDS + 1, n_tokens), each label with its share in the mean; a column of zeros does not count.
        mixing: (..., length, length), how much each position takes from each position; or without the runs.

    Returns:
        loss: (...)
        gradient: (..., n_parameters)
    """
    _, mix, hidden, output = layers
    logits, (past, y, h) = _forward(layers, seen, mixing)
    logits = logits - logits.max(axis=-2, keepdims=True)
    e = np.exp(logits)
    total, share = e.sum(axis=-2, keepdims=True), labels.sum(axis=-2, keepdims=True)
    loss = (share * np.log(total)).sum(axis=(-1, -2)) - (labels * logits).sum(axis=(-1, -2))
    grad_logits = e * (share / total) - labels
    grad_inner = (output @ grad_logits) * (1 - h**2)
    grad_y = hidden @ grad_inner
    grad_x = grad_y + _mixed(mix @ grad_y, transposed(mixing))
    pairs = (seen, grad_x), (past, grad_y), (y, grad_inner), (h, grad_logits)
    gradients = (before @ transposed(after) for before, after in pairs)
    return loss, np.concatenate([gradient.reshape(*loss.shape, -1) for gradient in gradients], axis=-1)


def _mixed(columns, mixing):
    """The columns of each sentence, mixed over its positions."""
    rows = columns.reshape(*columns.shape[:-2], -1, mixing.shape[-1])  # of one feature and one sentence each
    return (rows @ transposed(mixing)).reshape(columns.shape)


def transposed(matrices):
    return matrices.swapaxes(-1, -2)


def _watched(layers, words, seen, mixing):
    """The share of words after which the model expects the same word again, and how far the past moves.

    words: (n_runs, n_sentences, length). seen: one-hot, of these sentences and then of the same ones with the last
    token replaced.
    """
    logits = _forward(layers, seen, mixing)[0].reshape(len(words), -1, 2, *words.shape[1:])
    real = words != PAD
    copied = ((logits[:, :, 0].argmax(axis=1) == words) & real).sum(axis=(1, 2)) / real.sum(axis=(1, 2))
    return copied, np.abs(logits[:, :, 0, :, :-1] - logits[:, :, 1, :, :-1]).max(axis=(1, 2, 3))


def _norms(vectors):
    return np.sqrt(np.add.reduceat(vectors**2, STARTS, axis=-1))
