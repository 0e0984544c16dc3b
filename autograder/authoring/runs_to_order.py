"""Make the cases of an exercise that asks for the order of some runs before they are made.

The measure of such an exercise is `check.predictions.ORDER`, and UNSEEN are the inputs that only the measure gets.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
        for name, settings in runs.items():
            yield name, runs_to_order(draw, make, settings(draw), reasons=reasons)


def runs_to_order(draw: Draw, make: Make, runs: Sequence[Settings], *, reasons: bool) -> dict[str, Any]:
    """Return the inputs of a case: runs in a drawn order, and the results that they have if they are made.

    Args:
        draw: draws the order of the runs and the seed with which they are made.
        make: takes a list of settings and a seed, and returns the result of each run.
        runs: the settings of each run, all with the same names.
        reasons: whether the case asks for reasons. If so, runs with one setting of another run are made as well.
    """
    shuffled = [runs[i] for i in draw.rng.permutation(len(runs))]
    seed = int(draw.rng.integers(2**32))
    moved = [[[run | {name: other[name]} for name in run] for other in shuffled] for run in shuffled] if reasons else []
    different = {
        tuple(run.items()): run for run in [*shuffled, *(run for rows in moved for row in rows for run in row)]
    }
    result = dict(zip(different, make(list(different.values()), seed), strict=True))
    return {
        "runs": shuffled,
        "made": np.array([result[tuple(run.items())] for run in shuffled]),
        "moved": np.array([[[result[tuple(run.items())] for run in row] for row in rows] for rows in moved]),
        "asks": ["order", "reasons"] if reasons else ["order"],
    }
