"""Wrong answers told by a sketch: one number a case, a weighted sum of all that the function came to.

A key holds sketches of what right functions, and known mistakes, come to with one slip more in them. An answer that
has the same sketch on every sketched case came to the same values, whoever wrote it and however.
"""

from collections.abc import Sequence

import numpy as np

from check.calling import Outcome
from check.faults import has_all_outputs, judged_outputs
from check.key import Case, Key
from check.values import Tree, pack

MOST = 2  # cases; answers that differ at all differ on random numbers
TOLERANCE = 1e-8


def sketched_cases(key: Key) -> list[int]:
    """Indices of the cases that are sketched: the first whose judged outputs are float64 throughout."""
    return [i for i, case in enumerate(key.cases) if sketch(key, case, case.expected) is not None][:MOST]


def sketch(key: Key, case: Case, outcome: Outcome) -> float | None:
    """One number for all that an outcome came to; None where it is not made as the expected one is, or not finite."""
    if outcome.raised or outcome.stopped or case.expected.raised:
        return None
    if len(key.outputs) > 1 and not has_all_outputs(key, outcome.value):
        return None
    outputs = judged_outputs(key, case.expected.value, outcome.value)
    (meant, right), (tree, found) = (_numbers([each[i] for each in outputs]) for i in (1, 2))
    if tree != meant or [array.shape for array in found] != [array.shape for array in right]:
        return None
    if any(array.dtype != np.float64 for array in (*right, *found)) or not any(map(_telling, right)):
        return None
    values = np.concatenate([array.ravel() for array in found])
    if not np.isfinite(values).all():
        return None
    largest = max(np.abs(array).max(initial=0.0) for array in right)
    weights = np.random.default_rng(values.size).normal(size=values.size)
    return float(weights @ values / largest / np.sqrt(values.size))


def _numbers(values: list) -> tuple[Tree, list[np.ndarray]]:
    """How the values are made, and their numbers: a float is an array of one."""
    return pack([np.float64(value) if type(value) is float else value for value in values])


def _telling(array: np.ndarray) -> bool:
    """Whether it holds a number that is no ratio of small whole ones: those come out alike for many reasons."""
    parts = 5040 * array[np.isfinite(array)]
    return bool((np.abs(parts - np.rint(parts)) > 1e-6).any())


def slip(key: Key, outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """The known mistake's slug, or "", with words for the one slip that the outcomes show; two "" if none is known."""
    cases = sketched_cases(key) if key.slips else []
    found = [sketch(key, key.cases[i], outcomes[i]) for i in cases]
    if found and None not in found:
        seen = np.array(found, np.float64)
        for slug, known in key.slips.items():
            for words, rows in known.items():
                if (np.abs(rows - seen) <= TOLERANCE * np.maximum(1.0, np.abs(rows))).all(axis=1).any():
                    return slug, words
    return "", ""
