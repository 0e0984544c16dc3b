"""Recognise wrong answers by sketches: one number for each case, a random weighted sum of all judged outputs.

A key holds sketches of the outcomes of right functions, and of known mistakes, with one slip more. An answer with the
same sketch on every sketched case has the same values, however it is written.
"""

from collections.abc import Sequence

import numpy as np

from check.calling import Outcome
from check.faults import has_all_outputs, judged_outputs
from check.key import Case, Key
from check.values import Tree, pack

MAX_CASES = 2  # different functions already differ on random inputs of one case
TOLERANCE = 1e-8


def sketched_cases(key: Key) -> list[int]:
    """Return the indices of the sketched cases: the first ones with float64 outputs only."""
    return [i for i, case in enumerate(key.cases) if sketch(key, case, case.expected) is not None][:MAX_CASES]


def sketch(key: Key, case: Case, outcome: Outcome) -> float | None:
    """Return one number for all judged outputs; None if they have another structure than expected or are not finite."""
    if outcome.raised or outcome.stopped or case.expected.raised:
        return None
    if len(key.outputs) > 1 and not has_all_outputs(key, outcome.value):
        return None
    outputs = judged_outputs(key, case.expected.value, outcome.value)
    expected_tree, expected = _packed([expected for _, expected, _ in outputs])
    tree, arrays = _packed([value for _, _, value in outputs])
    if tree != expected_tree or [array.shape for array in arrays] != [array.shape for array in expected]:
        return None
    if any(array.dtype != np.float64 for array in (*expected, *arrays)) or not any(map(is_distinctive, expected)):
        return None
    values = np.concatenate([array.ravel() for array in arrays])
    if not np.isfinite(values).all():
        return None
    largest = max(np.abs(array).max(initial=0.0) for array in expected)
    weights = np.random.default_rng(values.size).normal(size=values.size)
    return float(weights @ values / largest / np.sqrt(values.size))


def _packed(values: list) -> tuple[Tree, list[np.ndarray]]:
    """Return the structure of the values and their arrays, with each float as an array of one entry."""
    return pack([np.float64(value) if type(value) is float else value for value in values])


def is_distinctive(array: np.ndarray) -> bool:
    """Return whether an entry is no ratio of small integers, which different computations often have in common."""
    parts = 5040 * array[np.isfinite(array)]
    return bool((np.abs(parts - np.rint(parts)) > 1e-6).any())


def slip(key: Key, outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """Return the slip that the outcomes show.

    Returns:
        slug: of the known mistake that has the slip; "" if a right function has it.
        description: of the slip; "" if the outcomes show none.
    """
    cases = sketched_cases(key) if key.slips else []
    sketches = [sketch(key, key.cases[i], outcomes[i]) for i in cases]
    if sketches and None not in sketches:
        row = np.array(sketches, np.float64)
        for slug, descriptions in key.slips.items():
            for description, rows in descriptions.items():
                if (np.abs(rows - row) <= TOLERANCE * np.maximum(1.0, np.abs(rows))).all(axis=1).any():
                    return slug, description
    return "", ""
