"""Make the cases of an exercise that asks for the order of some runs before they are made.

The measure of such an exercise is `check.predictions.ORDER`, and UNSEEN are the inputs that only the measure gets.
Each list of runs comes twice, the second time backwards. A rule that finds two runs equal leaves them in the order of
the list, so it is right about them in one of the two lists, whatever the draw.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from autograder.authoring.exercise import Draw, Exercise
from check.key import UNJUDGED
from check.predictions import pairs_in_order

UNSEEN = ("made", "moved", "asks")
OUTPUTS = {"order": "4", "reasons": "3", "counts": "2", "sentence": UNJUDGED}  # the function returns the first two

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
        runs: name of each list -> the function that draws the settings of its runs, four or more.
        points: the points of the aspect.
        reasons: whether the cases ask for reasons.
    """

    @exercise.cases(aspect, points=points)
    def _(draw: Draw) -> Iterator[tuple[str, dict[str, Any]]]:
        cases = runs_to_order(draw, make, [settings(draw) for settings in runs.values()], reasons=reasons)
        yield from zip(chain(*map(both_names, runs)), cases, strict=True)


def both_names(name: str) -> tuple[str, str]:
    """Return the names of the two cases of one list of runs."""
    return name, f"{name}, backwards"


def runs_to_order(
    draw: Draw, make: Make, lists: Sequence[Sequence[Settings]], *, reasons: bool
) -> Iterator[dict[str, Any]]:
    """Yield the inputs of two cases for each list: the runs in both orders, and the results of making them.

    All runs are made at once, because that is much faster than making them one case after another.

    Args:
        draw: draws the order of the runs and the seed with which they are made.
        make: takes a list of settings and a seed, and returns the result of each run.
        lists: the settings of each run, all with the same names.
        reasons: whether the cases ask for reasons. If so, runs with one setting of another run are made as well.
    """
    moved = [_moved(runs) if reasons else [] for runs in lists]
    every = [*chain(*lists), *(run for rows in chain(*moved) for row in rows for run in row)]
    different = {tuple(run.items()): run for run in every}
    results = dict(zip(different, make(list(different.values()), int(draw.rng.integers(2**32))), strict=True))

    def made(run: Settings) -> float:
        return results[tuple(run.items())]

    for runs in lists:
        for order in both_orders(draw, np.array(list(map(made, runs)))):
            listed = [runs[i] for i in order]
            others = _moved(listed) if reasons else []
            yield {
                "runs": listed,
                "made": np.array(list(map(made, listed))),
                "moved": np.array([[list(map(made, row)) for row in rows] for rows in others]),
                "asks": ["order", "reasons"] if reasons else ["order"],
            }


def both_orders(draw: Draw, made: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw an order in which to list runs. Return it as indices, and the same backwards.

    The right order of neither list is its own inverse. So a function that returns the rank of each run is wrong about
    both, and about at least half of all pairs.

    made: the result of each run, or its results with several seeds. Raises ValueError if there are fewer than four.
    """
    if len(made) < 4:
        raise ValueError(f"{len(made)} runs have no such order: ask for four or more")
    while True:
        order = draw.rng.permutation(len(made))
        counts = [_pairs_right_by_rank(made[one_way]) for one_way in (order, order[::-1])]
        n_judged = counts[0][1]
        if all(n_right < n_judged for n_right, _ in counts) and 0 < sum(n_right for n_right, _ in counts) <= n_judged:
            return order, order[::-1]


def _pairs_right_by_rank(made: np.ndarray) -> tuple[int, int]:
    right_order = np.argsort(made.reshape(len(made), -1).mean(axis=1))
    return pairs_in_order(np.argsort(right_order).tolist(), made)


def _moved(runs: Sequence[Settings]) -> list[list[list[Settings]]]:
    """For each pair of runs, the first run with each of its settings in turn replaced by that of the second."""
    return [[[run | {name: other[name]} for name in run] for other in runs] for run in runs]
