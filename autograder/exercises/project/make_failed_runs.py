"""Make the logs that chapter 10 asks readers to diagnose: short trainings of a small model, each with one bug.

    python -m autograder.exercises.project.make_failed_runs

trains with one thread and writes two files. `chapters/failed_runs.npz` holds a healthy log and one of each bug, under
letters. `failed_runs.npz` beside this script stays with the instructor: it holds the logs of all seeds under the names
of their bugs. A run has 160 steps, and run i of a bug has the seed [i, the place of the
bug in BUGS]. All runs together take about a hundred seconds of processor time.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # set before NumPy is imported: more threads would add in a different order

import math
from collections.abc import Callable
from string import ascii_uppercase
from typing import Any
from unittest import mock

import numpy as np

from autograder.authoring.diagnoses import NOTHING
from autograder.exercises.project.failed_runs import BANK, BUGS, N_RUNS
from autograder.layout import REPO
from solutions import model
from solutions.letters_to_sounds import N_HEADS, errors, transcribe
from solutions.masking import padding_mask
from solutions.parameters import flatten, initialise
from solutions.project import clip_gradients
from solutions.pronunciations import PAD, SOUNDS, VOCABULARY, Words, load_words, pairs, token_counts
from solutions.training import adam_step, smoothed_cross_entropy, smoothed_cross_entropy_backward, zero_moments

SHOWN = REPO / "chapters" / "failed_runs.npz"
N_STEPS, EVERY, BATCH, WATCHED = 160, 8, 32, 100
PEAK, WARMUP, SMOOTHING, D_MODEL = 0.01, 60, 0.1, 32
PARTS = ("embeddings", "encoder", "decoder")
N_BY_HEART = 60  # the known words of a run that overfits
FIRST_SOUND = VOCABULARY.index(SOUNDS[0])
LETTER_SEED = 2025

Arrays = dict[str, np.ndarray]


def logged_run(bug: str, seed: list[int], words: dict[str, Words]) -> Arrays:
    """Train a model with a bug, and return its log; see the table in the chapter.

    Returns:
        step, loss, held_out, copied, past_moves, padding_moves: (n_rows,).
        updates: (n_rows, 3), the root mean square of the change of the embeddings, of the encoder and of the decoder.
        wrong: (), the errors per sound of held-out words after the last step, by the decoder of the book.
    """
    rng = np.random.default_rng(seed)
    params = initialise(rng, {"shared": len(VOCABULARY)}, D_MODEL, 4 * D_MODEL, 1, 1, np.float32)
    if bug == "table not scaled":
        params["embeddings"]["shared"] *= np.float32(math.sqrt(D_MODEL))
    order = rng.permutation(len(words["known"].letters))
    known = words["known"].take(order[:N_BY_HEART] if bug == "overfitting" else order)
    families = words["held_out_families"]
    held_out = families.take(rng.permutation(len(families.letters))[:WATCHED])
    watched = pairs(*known.take(slice(WATCHED))), pairs(*held_out)
    factor = rng.uniform(8, 16) if bug == "rate too high" else 1.0
    frozen = PARTS[rng.integers(1, len(PARTS))] if bug == "layer frozen" else ""
    moments, rows = zero_moments(params), []
    with mock.patch.object(model, "target_mask", _without_future if bug == "leak" else model.target_mask):
        for step in range(N_STEPS):
            src, tgt = pairs(*known.take(rng.integers(len(known.letters), size=BATCH)))
            gradients, _ = clip_gradients(_gradients(params, src, tgt, bug), 1.0)
            warm = 1.0 if bug == "no warm-up" else (step + 1) / WARMUP
            rate = factor * PEAK * min(warm, math.sqrt(WARMUP / (step + 1)))
            new, moments = adam_step(params, gradients, moments, step + 1, rate)
            if frozen:
                new[frozen] = params[frozen]
            if step % EVERY == 0:
                updates = [np.sqrt(np.mean((flatten(new[part]) - flatten(params[part])) ** 2)) for part in PARTS]
                losses = [_loss(params, *both, bug)[0] for both in watched]
                rows.append((step, *losses, *_signs(params, *watched[1], bug), updates))
            params = new
    n_edits, n_sounds = errors(transcribe(params, held_out.letters, n_heads=N_HEADS), held_out.sounds)
    names = "step", "loss", "held_out", "copied", "past_moves", "padding_moves", "updates"
    columns = [np.array(column, np.float32) for column in zip(*rows, strict=True)]
    return dict(zip(names, columns, strict=True)) | {"wrong": np.float32(n_edits / n_sounds)}


def _without_future(tokens: np.ndarray, pad: int) -> np.ndarray:
    """Return a mask for the decoder that hides padding but not later tokens."""
    return padding_mask(tokens, pad)


def _logits(params: Any, src: np.ndarray, read: np.ndarray, bug: str) -> tuple[np.ndarray, Any]:
    hidden = -1 if bug == "padding not masked" else PAD  # no token is -1
    return model.forward(params, src, read, N_HEADS, hidden)


def _loss(params: Any, src: np.ndarray, tgt: np.ndarray, bug: str) -> tuple[float, Callable[[], Any]]:
    """Return the loss as the code with the bug computes it, and a function that returns the gradients."""
    read, following = tgt[:, :-1], tgt[:, 1:]
    logits, cache = _logits(params, src, read, bug)
    labels = read if bug == "labels not shifted" else following
    loss, loss_cache = smoothed_cross_entropy(logits, labels, SMOOTHING, PAD)
    return float(loss), lambda: model.backward(smoothed_cross_entropy_backward(1.0, loss_cache), cache)


def _gradients(params: Any, src: np.ndarray, tgt: np.ndarray, bug: str) -> Any:
    return _loss(params, src, tgt, bug)[1]()


def _signs(params: Any, src: np.ndarray, tgt: np.ndarray, bug: str) -> tuple[float, float, float]:
    """Return how often the model repeats what it reads, and how far outputs move that should not: those before a
    changed last sound, and all when padding follows a word.
    """
    read, is_real = tgt[:, :-1], tgt[:, 1:] != PAD
    logits, _ = _logits(params, src, read, bug)
    copied = (logits.argmax(axis=-1) == read)[is_real].mean()
    last = token_counts(read) - 1
    other = read.copy()
    rows = np.arange(len(read))
    other[rows, last] = FIRST_SOUND + (read[rows, last] - FIRST_SOUND + 1) % len(SOUNDS)
    before_last = np.arange(read.shape[1]) < last[:, None]
    past_moves = np.abs(_logits(params, src, other, bug)[0] - logits)[before_last].max()
    padded = np.pad(src, ((0, 0), (0, 3)))
    padding_moves = np.abs(_logits(params, padded, read, bug)[0] - logits)[is_real].max()
    return copied, past_moves, padding_moves


def main() -> None:
    words = load_words(REPO / "chapters" / "pronunciations.npz")
    runs = {}
    for place, bug in enumerate([NOTHING, *BUGS]):
        for i in range(N_RUNS):
            runs[bug, i] = logged_run(bug, [i, place], words)
            losses, wrong = runs[bug, i]["loss"], runs[bug, i]["wrong"]
            print(f"{bug} {i}: loss {losses[0]:.2f} to {losses[-1]:.2f}, {wrong:.0%} of sounds wrong", flush=True)
    shuffled = np.random.default_rng(LETTER_SEED).permutation(BUGS).tolist()
    letters = dict(zip(shuffled, ascii_uppercase, strict=False))
    shown = {"healthy": runs[NOTHING, 0]} | {letters[bug]: runs[bug, 0] for bug in sorted(BUGS, key=letters.get)}
    np.savez_compressed(SHOWN, **_named(shown))
    everything = _named({f"{bug}.{i}": log for (bug, i), log in runs.items()})
    np.savez_compressed(BANK, **everything)


def _named(logs: dict[str, Arrays]) -> Arrays:
    return {f"{run}.{name}": column for run, log in logs.items() for name, column in log.items()}


if __name__ == "__main__":
    main()
