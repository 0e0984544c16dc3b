"""Make the runs of chapter 12: what the loss says about wrong programs.

    python -m autograder.exercises.dictionary.make_runs [NAME ...]

trains with one thread and writes `chapters/flawed_runs.npz`. The right program trains with three seeds, and each wrong
one of `programs.py` with the first of them, for 1,000 steps, which is half a pass over the entries. Runs that the file
has are not made again, so an interrupted script continues.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # set before NumPy is imported: more threads would add in a different order

import sys
from collections.abc import Iterator
from functools import partial
from time import process_time
from types import SimpleNamespace

import numpy as np

from autograder.exercises.dictionary.programs import PROGRAMS, RIGHT, Program, model_of
from autograder.layout import REPO
from solutions import definer
from solutions.definitions import endless_batches, load_entries, load_merges, numbered, padded, vocabulary_of
from solutions.dictionary import text_tokens
from solutions.training import zero_moments

ENTRIES, STORED = (REPO / "chapters" / f"{name}.npz" for name in ("definitions", "flawed_runs"))
N_STEPS, N_SEEDS, SIZE, PEAK = 1_000, 3, 32, 3e-3
MEASURED = (100, 250, 500, 1_000)  # the steps after which the held-out loss is measured

Parts = dict[str, list[list[int]]]


def short_run(program: Program, seed: int, parts: Parts) -> Iterator[float]:
    """Train a program, and yield its losses.

    Yields:
        The loss of the first batch, and the held-out losses after the steps of MEASURED, all as the program measures
        them. Then the last held-out loss once more, as the right program measures it with the same weights.
    """
    params = definer.fresh_definer(np.random.default_rng(seed), **definer.SIZES)
    model, moments = model_of(program), zero_moments(params)
    with np.errstate(all="ignore"):
        batches = endless_batches(seed, parts["known"], SIZE)
        for step, tokens in zip(range(1, N_STEPS + 1), batches, strict=False):
            rate = definer.cosine_rate(step / N_STEPS, PEAK)
            params, moments, loss = model.definer_step(params, moments, step, tokens, model.SIZES["n_heads"], rate)
            if step == 1:
                yield loss
            if step in MEASURED:
                yield held_out_loss(model, params, parts["held_out"])
    yield held_out_loss(model_of(PROGRAMS[RIGHT]), params, parts["held_out"])


def held_out_loss(model: SimpleNamespace, params: dict, texts: list[list[int]]) -> float:
    """The mean loss of a token of these texts, in nats, as a model measures it."""
    total, n_tokens = 0.0, 0
    texts = sorted(texts, key=len)
    for start in range(0, len(texts), SIZE):
        tokens = padded(texts[start : start + SIZE])
        logits, _ = model.definer_forward(params, tokens[:, :-1], model.SIZES["n_heads"])
        loss, (_, labels, *_) = model.smoothed_cross_entropy(logits, tokens[:, 1:])
        total, n_tokens = total + float(loss) * len(labels), n_tokens + len(labels)
    return total / n_tokens


def entries() -> Parts:
    """Return the tokens of the entries to train on, and of those held out."""
    merges = load_merges(ENTRIES)
    tokens_of, vocabulary = partial(text_tokens, merges=merges), vocabulary_of(merges)
    return {name: numbered(texts, tokens_of, vocabulary) for name, texts in load_entries(ENTRIES).items()}


def main(*names: str) -> None:
    parts = entries()
    made = dict(np.load(STORED)) if STORED.exists() else {}
    runs = {f"{name}.{seed}": (name, seed) for name in PROGRAMS for seed in range(N_SEEDS if name == RIGHT else 1)}
    for key, (name, seed) in runs.items():
        if key not in made and (name in names or not names):
            start = process_time()
            made[key] = np.array(list(short_run(PROGRAMS[name], seed, parts)), np.float32)
            print(f"{key:50} {process_time() - start:3.0f} s", made[key].round(3), flush=True)
            np.savez_compressed(STORED, **made)


if __name__ == "__main__":
    main(*sys.argv[1:])
