"""Make the cases of an exercise that asks for the order of some runs before they are made.

The measure of such an exercise is `check.predictions.ORDER`, and UNSEEN are the inputs that only the measure gets.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from autograder.authoring.exercise import Draw, Exercise
from check.key import UNJUDGED

UNSEEN = ("made", "moved", "asks")
OUTPUTS = {"order": "4", "reasons": "3", "sentence": UNJUDGED}  # the function returns the first two

Settings = dict[str, Any]
Make = Callable[[list[Settings], int], list[float]]


def ask_for_order(
    exercise: Exercise,
    make: Make,
    aspect: str,
    runs: Mapping[str, Callable[[Draw], Sequence[Settings]]],
    *,
    points: float,
    reasons: bool = False,
) -> None:
    """Add an aspect to an exercise: the order of some runs and, with `reasons`, the reasons for it.

    Args:
        exercise: the exercise that gets the aspect.
        make: makes the runs; see `runs_to_order`.
        aspect: its name.
        runs: name of each case -> the function that draws the settings of its runs.
        points: the points of the aspect.
        reasons: whether the cases ask for reasons.
    """

    @exercise.cases(aspect, points=points)
    def _(draw: Draw) -> Iterator[tuple[str, dict[str, Any]]]:
        cases = runs_to_order(draw, make, [settings(draw) for settings in runs.values()], reasons=reasons)
        yield from zip(runs, cases, strict=True)


def runs_to_order(
    draw: Draw, make: Make, cases: Sequence[Sequence[Settings]], *, reasons: bool
) -> list[dict[str, Any]]:
    """Return the inputs of each case: runs in a drawn order, and the results that they have if they are made.

    All runs are made at once, because that is much faster than making them one case after another.

    Args:
        draw: draws the order of the runs and the seed with which they are made.
        make: takes a list of settings and a seed, and returns the result of each run.
        cases: the settings of each run, all with the same names, for each case.
        reasons: whether the cases ask for reasons. If so, runs with one setting of another run are made as well.
    """
    shuffled = [[runs[i] for i in draw.rng.permutation(len(runs))] for runs in cases]
    moved = [_moved(runs) if reasons else [] for runs in shuffled]
    every = [*chain(*shuffled), *(run for rows in chain(*moved) for row in rows for run in row)]
    different = {tuple(run.items()): run for run in every}
    made = make(list(different.values()), int(draw.rng.integers(2**32)))
    result = dict(zip(different, made, strict=True))
    return [
        {
            "runs": runs,
            "made": np.array([result[tuple(run.items())] for run in runs]),
            "moved": np.array([[[result[tuple(run.items())] for run in row] for row in rows] for rows in others]),
            "asks": ["order", "reasons"] if reasons else ["order"],
        }
        for runs, others in zip(shuffled, moved, strict=True)
    ]


def _moved(runs: Sequence[Settings]) -> list[list[list[Settings]]]:
    """Return for each run and each other one the runs with one setting of the other."""
    return [[[run | {name: other[name]} for name in run] for other in runs] for run in runs]
