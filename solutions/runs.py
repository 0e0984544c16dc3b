"""Training runs of a small language model, healthy up to a step at which one line of the code changes.

Chapter 9 reads the logs of such runs, and the exercise `diagnose_training` asks which line changed. The model is a
mean over the past and two layers; it learns which word follows which. A run takes some milliseconds.
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
        first: the first step with the bug; None if there is nothing.
    """
    first = int(rng.integers(12, 20))
    layer, too_high = int(rng.integers(1, len(SHAPES))), rng.uniform(8, 16)
    sentences = random_sentences(rng, N_SENTENCES + N_WATCHED)
    batch, watched = sentences[:N_SENTENCES], sentences[N_SENTENCES:]
    last_token_changed = watched.copy()
    last_token_changed[:, -2] = 1 + watched[:, -2] % N_WORDS
    watched = np.concatenate([watched, last_token_changed])
    theta = 0.3 * rng.normal(size=ENDS[-1])
    layers = [theta[start:end].reshape(shape) for start, end, shape in zip(STARTS, ENDS, SHAPES, strict=True)]
    mean, squares, n_averaged, gradient = np.zeros_like(theta), np.zeros_like(theta), 0, np.zeros_like(theta)
    inputs, targets = batch[:, :-1], batch[:, 1:]
    n_targets, seen, usual_labels = (targets != PAD).sum(), one_hot(inputs), _labels(targets)
    words, seen_watched = watched[:N_WATCHED, :-1], one_hot(watched[:, :-1])
    log = []
    for step in range(N_STEPS):
        now = bug if step >= first else "nothing"
        mixing = EVERYTHING if now == "mask forgotten" else PAST
        labels = usual_labels
        if now == "target not shifted":
            labels = _labels(inputs)
        if now == "labels of other sentences":
            labels = _labels(np.roll(targets, 1 + step % (N_SENTENCES - 1), axis=0))
        if now == "padding counted":
            labels = one_hot(targets) / targets.size
        loss, new_gradient = loss_and_gradient(layers, seen, labels, mixing)
        if now == "way back cut":
            new_gradient[: STARTS[layer]] = 0
        if now == "loss summed":
            loss, new_gradient = n_targets * loss, n_targets * new_gradient
        gradient = gradient + new_gradient if now == "gradients not cleared" else new_gradient
        if now == "moments lost" and step == first:
            mean, squares, n_averaged = np.zeros_like(theta), np.zeros_like(theta), 0
        n_averaged += 1
        mean, squares = 0.9 * mean + 0.1 * gradient, 0.98 * squares + 0.02 * gradient**2
        update = mean / (1 - 0.9**n_averaged) / (np.sqrt(squares / (1 - 0.98**n_averaged)) + 1e-9)
        update *= -RATE * min(1, (20 / (step + 1)) ** 0.5) * (too_high if now == "rate too high" else 1)
        if now == "layer not updated":
            update[STARTS[layer] : ENDS[layer]] = 0
        copied, past_moves = _watched(layers, words, seen_watched, mixing)
        log.append((loss, copied, _norms(gradient), _norms(update), past_moves))
        theta += update
    names = "loss", "copied", "gradient_norms", "update_norms", "past_moves"
    run = {name: np.array(column) for name, column in zip(names, zip(*log, strict=True), strict=True)}
    return run, (None if bug == "nothing" else first)


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
    """Return the labels with their share in the mean: 1 / n for each of the n targets that are no padding."""
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
    """Return the loss and the gradient of all parameters in a row, of one run or of several at once.

    Args:
        layers: list of four arrays (..., rows, columns), with the runs in front.
        seen: (N_WORDS + 1, n_tokens), from `one_hot`.
        labels: (..., N_WORDS + 1, n_tokens), each label with its share in the mean; a column of zeros does not count.
        mixing: (length, length), how much each position takes from each.

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
    grad_x = grad_y + _mixed(mix @ grad_y, mixing.T)
    pairs = (seen, grad_x), (past, grad_y), (y, grad_inner), (h, grad_logits)
    gradients = (before @ transposed(after) for before, after in pairs)
    return loss, np.concatenate([gradient.reshape(*loss.shape, -1) for gradient in gradients], axis=-1)


def _mixed(columns, mixing):
    """Return the columns of each sentence, mixed over its positions."""
    sentences = columns.reshape(*columns.shape[:-1], -1, len(mixing))
    return (sentences @ mixing.T).reshape(columns.shape)


def transposed(matrices):
    return matrices.swapaxes(-1, -2)


def _watched(layers, words, seen, mixing):
    """Return the share of words after which the model expects the same word again, and how far the past moves.

    words: sentences. seen: one-hot, of these sentences and then of the same ones with another last token.
    """
    logits = _forward(layers, seen, mixing)[0].reshape(-1, 2, *words.shape)
    copied = (logits[:, 0].argmax(axis=0) == words)[words != PAD].mean()
    return copied, np.abs(logits[:, 0, :, :-1] - logits[:, 1, :, :-1]).max()


def _norms(vector):
    return np.sqrt(np.add.reduceat(vector**2, STARTS))
