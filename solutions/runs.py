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
    log = []
    for step in range(N_STEPS):
        now = bug if step >= first else "nothing"
        mixing = EVERYTHING if now == "mask forgotten" else PAST
        inputs, targets = batch[:, :-1], batch[:, 1:]
        if now == "target not shifted":
            targets = inputs
        if now == "labels of other sentences":
            targets = np.roll(targets, 1 + step % (N_SENTENCES - 1), axis=0)
        counted = np.ones(targets.shape, bool) if now == "padding counted" else (targets != PAD)
        loss, new_gradient = _loss_and_gradient(layers, inputs, targets, counted, mixing)
        if now == "way back cut":
            new_gradient[: STARTS[layer]] = 0
        if now == "loss summed":
            loss, new_gradient = counted.sum() * loss, counted.sum() * new_gradient
        gradient = gradient + new_gradient if now == "gradients not cleared" else new_gradient
        if now == "moments lost" and step == first:
            mean, squares, n_averaged = np.zeros_like(theta), np.zeros_like(theta), 0
        n_averaged += 1
        mean, squares = 0.9 * mean + 0.1 * gradient, 0.98 * squares + 0.02 * gradient**2
        update = mean / (1 - 0.9**n_averaged) / (np.sqrt(squares / (1 - 0.98**n_averaged)) + 1e-9)
        update *= -RATE * min(1, (20 / (step + 1)) ** 0.5) * (too_high if now == "rate too high" else 1)
        if now == "layer not updated":
            update[STARTS[layer] : ENDS[layer]] = 0
        copied, past_moves = _watched(layers, watched, mixing)
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


def _forward(layers, inputs, mixing):
    embedding, mix, hidden, output = layers
    x = embedding[inputs]
    past = mixing @ x
    y = x + past @ mix
    h = np.tanh(y @ hidden)
    return h @ output, (past, y, h)


def log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _loss_and_gradient(layers, inputs, targets, counted, mixing):
    embedding, mix, hidden, output = layers
    logits, (past, y, h) = _forward(layers, inputs, mixing)
    log_p = log_softmax(logits)
    labels = targets[..., None] == np.arange(N_WORDS + 1)
    n = counted.sum()
    loss = -log_p[labels][counted.ravel()].sum() / n
    grad_logits = (np.exp(log_p) - labels) * (counted[..., None] / n)

    def rows(array):
        return array.reshape(-1, array.shape[-1])

    grad_inner = (grad_logits @ output.T) * (1 - h**2)
    grad_y = grad_inner @ hidden.T
    grad_x = grad_y + mixing.T @ (grad_y @ mix.T)
    one_hot = (inputs.ravel()[:, None] == np.arange(N_WORDS + 1)).astype(float)
    gradients = (
        one_hot.T @ rows(grad_x),
        rows(past).T @ rows(grad_y),
        rows(y).T @ rows(grad_inner),
        rows(h).T @ rows(grad_logits),
    )
    return loss, np.concatenate([gradient.ravel() for gradient in gradients])


def _watched(layers, watched, mixing):
    """Return the share of words after which the model expects the same word again, and how far the past moves.

    watched: sentences, and the same sentences with another last token.
    """
    tokens = watched[:, :-1]
    logits, _ = _forward(layers, tokens, mixing)
    half = len(watched) // 2
    words = tokens[:half] != PAD
    copied = (logits[:half].argmax(axis=-1) == tokens[:half])[words].mean()
    return copied, np.abs(logits[:half, :-1] - logits[half:, :-1]).max()


def _norms(vector):
    return np.sqrt(np.add.reduceat(vector**2, STARTS))
