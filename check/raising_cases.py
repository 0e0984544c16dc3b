"""Say in which cases a function raises an exception, if the number of an input's axes decides it."""

from collections.abc import Sequence

import numpy as np

from check.calling import Outcome
from check.key import Key

_ADVICE = "Look at the shapes there. Axes counted from the end, such as -1, are the same with and without a batch."


def raises_by_axes(key: Key, outcomes: Sequence[Outcome]) -> str:
    """Return a sentence if a function raises where an input has many axes, or few, and nowhere else; otherwise ""."""
    pairs = [pair for pair in zip(key.cases, outcomes, strict=True) if not pair[0].expected.raised]
    for argument in dict.fromkeys(argument for case, _ in pairs for argument in case.inputs):
        arrays = [array for case, _ in pairs if isinstance(array := case.inputs.get(argument), np.ndarray)]
        if len(arrays) < len(pairs):
            continue
        raises = [bool(outcome.raised) for _, outcome in pairs]
        raising, others = (
            {array.ndim for array, does in zip(arrays, raises, strict=True) if does is wanted}
            for wanted in (True, False)
        )
        if not raising or not others:
            return ""
        if min(raising) > max(others):
            return f"It raises only where `{argument}` has more than {_axes(max(others))}. {_ADVICE}"
        if max(raising) < min(others):
            return f"It raises only where `{argument}` has fewer than {_axes(min(others))}. {_ADVICE}"
    return ""


def _axes(n: int) -> str:
    return "one axis" if n == 1 else f"{n} axes"
