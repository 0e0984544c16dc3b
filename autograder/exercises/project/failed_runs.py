"""Look up the logs of failed runs that chapter 10 asks readers to diagnose; `make_failed_runs` makes them."""

from functools import cache
from pathlib import Path

import numpy as np

from autograder.authoring.exercise import Draw

BANK = Path(__file__).with_name("failed_runs.npz")
BUGS = (
    "leak",
    "padding not masked",
    "no warm-up",
    "rate too high",
    "table not scaled",
    "labels not shifted",
    "layer frozen",
    "overfitting",
)
AT_HOME, N_RUNS = (1,), 6  # run 0 of each bug is in the chapter, run 1 in public keys, and the others are hidden

Log = dict[str, np.ndarray]


@cache
def _stored() -> dict[str, np.ndarray]:
    with np.load(BANK, allow_pickle=False) as file:
        return dict(file)


def log_of(bug: str, i: int) -> Log:
    """Return the log of run i with a bug, or with NOTHING, in double precision."""
    start = f"{bug}.{i}."
    return {
        name.removeprefix(start): array.astype(np.float64)
        for name, array in _stored().items()
        if name.startswith(start)
    }


def drawn(draw: Draw, bug: str) -> Log:
    """Return a log of a bug that the chapter does not show: for a public key one of AT_HOME, else a hidden log."""
    runs = AT_HOME if draw.at_home else range(max(AT_HOME) + 1, N_RUNS)
    return log_of(bug, int(draw.rng.choice(runs)))
