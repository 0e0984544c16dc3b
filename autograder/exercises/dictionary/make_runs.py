"""Make the runs of chapter 12: what the loss says of wrong programs.

    python -m autograder.exercises.dictionary.make_runs

trains with one thread and writes `runs.npz` beside this script. Each program of `programs.py` trains three times for
2,000 steps, which is one pass over the entries. All runs together take about an hour of processor time.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # set before the import of NumPy: more threads add in another order

import sys
from functools import partial
from pathlib import Path

import numpy as np

from autograder.exercises.dictionary.programs import PROGRAMS, applied
from autograder.layout import REPO
from solutions import definer
from solutions.definitions import endless_batches, load_entries, load_merges, numbered, padded, vocabulary_of
from solutions.dictionary import text_tokens
from solutions.parameters import map_tree
from solutions.training import zero_moments

BANK = Path(__file__).with_name("runs.npz")
N_STEPS, N_SEEDS, SIZE, PEAK = 2_000, 3, 32, 3e-3
EVERY = 100  # steps between two rows of the curve


def short_run(name: str, seed: int, parts: dict[str, list[list[int]]]) -> dict[str, np.ndarray]:
    """Train a program.

    Returns:
        curve: (N_STEPS / EVERY,), the mean loss of the last EVERY batches.
        held_out: (2,), the loss of held-out entries as the program measures it, and as the right program does with the
            same weights.
    """
    params = definer.fresh_definer(np.random.default_rng(seed), **definer.SIZES)
    moments, losses = zero_moments(params), []
    with applied(PROGRAMS[name]), np.errstate(all="ignore"):
        batches = endless_batches(seed, parts["known"], SIZE)
        for step, tokens in zip(range(1, N_STEPS + 1), batches, strict=False):
            rate = definer.cosine_rate(step / N_STEPS, PEAK)
            params, moments, loss = definer.definer_step(params, moments, step, tokens, definer.SIZES["n_heads"], rate)
            losses.append(loss)
        own = held_out_loss(params, parts["held_out"])
    right = held_out_loss(map_tree(lambda array: array.astype(np.float32), params), parts["held_out"])
    return {"curve": np.array(losses).reshape(-1, EVERY).mean(axis=1), "held_out": np.array([own, right])}


def held_out_loss(params: dict, texts: list[list[int]]) -> float:
    """The mean loss of a token of these texts, in nats."""
    total, n_tokens = 0.0, 0
    texts = sorted(texts, key=len)
    for start in range(0, len(texts), 100):
        tokens = padded(texts[start : start + 100])
        logits, _ = definer.definer_forward(params, tokens[:, :-1], definer.SIZES["n_heads"])
        loss, (_, labels, *_) = definer.smoothed_cross_entropy(logits, tokens[:, 1:])
        total, n_tokens = total + float(loss) * len(labels), n_tokens + len(labels)
    return total / n_tokens


def main(*names: str) -> None:
    file = REPO / "chapters" / "definitions.npz"
    merges = load_merges(file)
    tokens_of, vocabulary = partial(text_tokens, merges=merges), vocabulary_of(merges)
    parts = {name: numbered(texts, tokens_of, vocabulary) for name, texts in load_entries(file).items()}
    made = dict(np.load(BANK)) if BANK.exists() else {}
    for seed in range(N_SEEDS):
        for name in names or PROGRAMS:
            if f"{name}.{seed}.curve" not in made:
                run = short_run(name, seed, parts)
                made |= {f"{name}.{seed}.{key}": array.astype(np.float32) for key, array in run.items()}
                print(f"{name:46} {seed}", np.round([*run["curve"][[0, 1, -1]], *run["held_out"]], 3), flush=True)
                np.savez_compressed(BANK, **made)


if __name__ == "__main__":
    main(*sys.argv[1:])
