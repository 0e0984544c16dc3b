"""Compare a predicted order of runs, and its reasons, with runs that were made.

The function of such an exercise gets the settings of some runs, each a dict. It returns their order, indices from the
smallest result to the largest, and a reason for each pair of neighbours: the setting that decides. If the first of the
two takes this setting from the second, its result comes closest to the second's. The key holds the results of the runs
(`made`), and of all runs with one setting of another run (`moved`).

A run may have been made with several seeds. Then two runs are judged only if every result of one is smaller than every
result of the other.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from check.measures import Malformed

ORDER = "order"  # the name of this measure
APART = -1  # in the reasons, where two neighbours of the right order are no neighbours of the student's


def predicted(
    value: Any, runs: Sequence[dict], made: np.ndarray, moved: np.ndarray, asks: Sequence[str]
) -> tuple[np.ndarray, np.ndarray | None, str]:
    """Return a student's order, the reasons, and a sentence about the first mistake in them.

    Args:
        value: what the student's function returned.
        runs: the settings of each run.
        made: (n_runs,), the result of each run; or (n_runs, n_seeds), its results with several seeds.
        moved: (n_runs, n_runs, n_settings), the result of a run that takes one setting from another run.
        asks: "order", and "reasons" if they are judged too; or "order alone" if the function returns no reasons.

    Returns:
        order: (n_runs,), the indices of the runs. Where the seeds do not decide, neighbours are in the right order.
        reasons: (n_runs - 1,), the index of the student's reason for each two neighbours of the right order, or APART;
            None if the case does not ask for them.
        sentence: about the first pair that is wrong; "" if nothing is.

    Raises Malformed.
    """
    if "order alone" in asks:
        order = _settled(_order(value, len(runs)), made)
        return np.array(order), None, _sentence_on_order(order, made)
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise Malformed("The result should be an order and its reasons: end with `return order, reasons`.")
    settings = list(runs[0])
    order = _order(value[0], len(runs))
    if "reasons" not in asks:
        return np.array(order), None, _sentence_on_order(order, made)
    reasons = [settings.index(name) for name in _names(value[1], settings, len(runs) - 1)]
    given = dict(zip(pairwise(order), reasons, strict=True))
    by_pair = np.array([given.get(pair, APART) for pair in pairwise(np.argsort(made).tolist())])
    sentence = _sentence_on_order(order, made) or _sentence_on_reasons(given, settings, runs, made, moved)
    return np.array(order), by_pair, sentence


def right(made: np.ndarray, moved: np.ndarray, asks: Sequence[str]) -> tuple[np.ndarray, np.ndarray | None, None]:
    """Return the order and the reasons that the runs show, in the form of `predicted`; see there."""
    order = np.argsort(made if made.ndim == 1 else made.mean(axis=1))
    reasons = (
        [_decisive(first, second, made, moved) for first, second in pairwise(order)] if "reasons" in asks else None
    )
    return order, None if reasons is None else np.array(reasons), None


def _settled(order: list[int], made: np.ndarray) -> list[int]:
    """Return an order in which neighbours have changed places until each is right or contradicts every seed."""
    order, means = list(order), made.mean(axis=1)
    for _ in range(len(order)):
        for i in range(len(order) - 1):
            first, second = order[i : i + 2]
            if means[first] > means[second] and made[first].min() <= made[second].max():
                order[i : i + 2] = second, first
    return order


def _order(value: Any, n_runs: int) -> list[int]:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    indices = list(map(_plain, value)) if isinstance(value, tuple | list) else []
    if any(type(i) is not int for i in indices) or sorted(indices) != list(range(n_runs)):
        raise Malformed(f"`order` should hold each of the indices 0 to {n_runs - 1} once.")
    return indices


def _plain(index: Any) -> Any:
    """Return a NumPy integer as an int, and anything else as it is."""
    is_integer = isinstance(index, np.integer | np.ndarray) and index.ndim == 0 and index.dtype.kind in "iu"
    return int(index) if is_integer else index


def _names(value: Any, settings: list[str], count: int) -> list[str]:
    if not isinstance(value, tuple | list) or len(value) != count:
        raise Malformed(f"`reasons` should be a list of {count} names, one for each two neighbours in your order.")
    if not all(isinstance(name, str) and name in settings for name in value):
        raise Malformed(f"Each of `reasons` should be the name of a setting: {', '.join(map(repr, settings))}.")
    return list(value)


def _sentence_on_order(order: list[int], made: np.ndarray) -> str:
    for first, second in pairwise(order):
        if np.min(made[first]) > np.max(made[second]):
            return (
                f"Run {first} comes before run {second} in your order. The runs were made: "
                f"run {first} gives {_results(made[first])}, and run {second} gives {_results(made[second])}."
            )
    return ""


def _results(made: np.ndarray) -> str:
    lowest, highest = np.min(made), np.max(made)
    return f"{lowest:.3g}" if made.ndim == 0 else f"{lowest:.4g} to {highest:.4g} with {made.size} seeds"


def _sentence_on_reasons(
    given: dict[tuple[int, int], int], settings: list[str], runs: Sequence[dict], made: np.ndarray, moved: np.ndarray
) -> str:
    """Return a sentence about the first reason that the runs refute. The order is right."""
    for (first, second), reason in given.items():
        if reason != _decisive(first, second, made, moved):
            name = settings[reason]
            results = f"run {first} gives {made[first]:.3g} and run {second} gives {made[second]:.3g}"
            if runs[first][name] == runs[second][name]:
                return f"Your order is right: {results}. But both have the same `{name}`, so it cannot be the reason."
            return (
                f"Your order is right: {results}. But run {first} with the `{name}` of run {second} gives "
                f"{moved[first, second, reason]:.3g}, and another setting brings it closer."
            )
    return ""


def _decisive(first: int, second: int, made: np.ndarray, moved: np.ndarray) -> int:
    """Return the index of the setting with which the first run comes closest to the second."""
    return int(np.abs(moved[first, second] - made[second]).argmin())
