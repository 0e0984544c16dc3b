"""Compare a predicted order of runs, and its reasons, with runs that were made.

The function of such an exercise gets the settings of some runs, each a dict. It returns their order, indices from the
smallest result to the largest, and a reason for each pair of neighbours: the setting that decides. If the first of the
two takes this setting from the second, its result comes closest to the second's. The key holds the results of the runs
(`made`), and of all runs with one setting taken from another run (`moved`).

A run may have been made with several seeds. Then two runs are judged only if every result of one is smaller than every
result of the other.

Another exercise asks which names fit each run, such as the tests that find a wrong program. Then the function returns a
list of names for each run, and `made` says which names fit.

Such an exercise gives points for the share of pairs in the right order, of right reasons, or of runs with the right
names. In grading a student reads only how many are right, not which run was wrong, so the next attempt cannot use that.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from check.measures import Malformed

ORDER = "order"  # the name of this measure
NAMES = "names"  # what a case asks for, followed by all names that may fit a run
APART = -1  # in the reasons, for neighbours of the right order that are not neighbours in the student's


def predicted(
    value: Any, runs: Sequence[dict], made: np.ndarray, moved: np.ndarray, asks: Sequence[str]
) -> tuple[np.ndarray, np.ndarray | None, tuple[int, int], str]:
    """Return a student's order, the reasons, how many are right, and a sentence about the first mistake.

    Args:
        value: what the student's function returned.
        runs: the settings of each run.
        made: (n_runs,), the result of each run; or (n_runs, n_seeds), its results with several seeds; or
            (n_runs, n_names), which names fit it.
        moved: (n_runs, n_runs, n_settings), the result of a run that takes one setting from another run.
        asks: "order", and "reasons" if they are judged too; or "order alone" if the function returns no reasons; or
            NAMES, and the names.

    Returns:
        order: (n_runs,), the indices of the runs. Where the seeds do not decide, neighbours are in the right order. Or
            (n_runs, n_names), which names the student gives each run.
        reasons: (n_runs - 1,), the index of the student's reason for each pair of neighbours in the right order, or
            APART; None if the case does not ask for them.
        counts: how many pairs are in the right order, and how many are judged; if the case asks for reasons, how many
            reasons are right, and how many there are.
        sentence: about the first pair that is wrong; "" if nothing is.

    Raises Malformed.
    """
    if asks[0] == NAMES:
        return _named(value, made, asks[1:])
    if "order alone" in asks:
        order = _settled(_order(value, len(runs)), made)
        return np.array(order), None, pairs_in_order(order, made), _sentence_on_order(order, made)
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise Malformed("The result should be an order and its reasons: end with `return order, reasons`.")
    settings = list(runs[0])
    order = _order(value[0], len(runs))
    if "reasons" not in asks:
        return np.array(order), None, pairs_in_order(order, made), _sentence_on_order(order, made)
    reasons = [settings.index(name) for name in _names(value[1], settings, len(runs) - 1)]
    given = dict(zip(pairwise(order), reasons, strict=True))
    right_order, right_reasons, *_ = right(made, moved, asks)
    by_pair = np.array([given.get(pair, APART) for pair in pairwise(right_order.tolist())])
    counts = int((by_pair == right_reasons).sum()), len(by_pair)
    sentence = _sentence_on_order(order, made) or _sentence_on_reasons(given, settings, runs, made, moved)
    return np.array(order), by_pair, counts, sentence


def pairs_in_order(order: Sequence[int], made: np.ndarray) -> tuple[int, int]:
    """Return how many pairs of runs are in the right order, and how many are judged."""
    results = made.reshape(len(made), -1)
    is_before = results.max(axis=1)[:, None] < results.min(axis=1)
    return sum(bool(is_before[pair]) for pair in combinations(order, 2)), int(is_before.sum())


def in_words(order: np.ndarray, reasons: np.ndarray | None, counts: tuple[int, int]) -> str:
    """Return a sentence about how many are right. It does not say which. The arguments are from `predicted`."""
    what = "pairs are in the right order" if reasons is None else "reasons are right"
    return f"{counts[0]} of {counts[1]} {what if order.ndim == 1 else 'answers are right'}."


def right(made: np.ndarray, moved: np.ndarray, asks: Sequence[str]) -> tuple[np.ndarray, np.ndarray | None, None, None]:
    """Return the order and the reasons that the runs show, or the names, in the form of `predicted`."""
    if asks[0] == NAMES:
        return made, None, None, None
    order = np.argsort(made if made.ndim == 1 else made.mean(axis=1))
    reasons = (
        [_decisive(first, second, made, moved) for first, second in pairwise(order)] if "reasons" in asks else None
    )
    return order, None if reasons is None else np.array(reasons), None, None


def _named(value: Any, made: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, None, tuple[int, int], str]:
    if not isinstance(value, tuple | list) or len(value) != len(made):
        raise Malformed(f"The result should be a list of {len(made)} lists, one for each run.")
    for given in value:
        if not isinstance(given, tuple | list) or not all(isinstance(name, str) and name in names for name in given):
            raise Malformed(f"Each answer should be a list of some of these names: {', '.join(map(repr, names))}.")
    fits = np.array([[name in given for name in names] for given in value])
    is_right = (fits == made).all(axis=1)
    sentence = ""
    if not is_right.all():
        i = int(is_right.argmin())
        own, found = (", ".join(np.array(names)[row]) or "none" for row in (fits[i], made[i]))
        sentence = f"You expect for number {i} of the list: {own}. We tried it: {found}."
    return fits, None, (int(is_right.sum()), len(made)), sentence


def _settled(order: list[int], made: np.ndarray) -> list[int]:
    """Swap neighbours that the seeds do not decide until they are in the order of their means."""
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
    """A NumPy integer as an int, and anything else as it is."""
    is_integer = isinstance(index, np.integer | np.ndarray) and index.ndim == 0 and index.dtype.kind in "iu"
    return int(index) if is_integer else index


def _names(value: Any, settings: list[str], count: int) -> list[str]:
    if not isinstance(value, tuple | list) or len(value) != count:
        raise Malformed(f"`reasons` should be a list of {count} names, one for each pair of neighbours in your order.")
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
    """A sentence about the first reason that the runs refute, for an order that is right."""
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
    """The index of the setting with which the first run comes closest to the second."""
    return int(np.abs(moved[first, second] - made[second]).argmin())
