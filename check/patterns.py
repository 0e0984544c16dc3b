"""Recognise patterns in the outcomes of all cases: answers that take no computation, exceptions by number of axes.

An answer takes no computation if it is one number everywhere, the same for every input, or an input itself. Known
mistakes agree with such answers on some cases by accident. A sentence about the answer itself is always true.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from check.calling import Outcome
from check.faults import CaseFaults, has_all_outputs, judged_outputs
from check.key import Case, Key

_ADVICE = "Look at the shapes there. Axes counted from the end, such as -1, are the same with and without a batch."


def constant_answer(key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults) -> str:
    """A sentence if all cases with values get such answers, and one of the answers is wrong; otherwise "".

    outcomes, case_faults: one for each case.
    """
    answered = {
        i: (case, outcome.value)
        for i, (case, outcome) in enumerate(zip(key.cases, outcomes, strict=True))
        if not (outcome.raised or outcome.stopped or case.expected.raised)
    }
    pairs = list(answered.values())
    if not any(case_faults[i] for i in answered):
        return ""
    if not all(len(key.outputs) == 1 or has_all_outputs(key, value) for _, value in pairs):
        return ""
    return next(_sentences(key, pairs), "")


def _sentences(key: Key, answered: list[tuple[Case, Any]]) -> Iterator[str]:
    judged = [judged_outputs(key, case.expected.value, value) for case, value in answered]
    columns = list(zip(*judged, strict=True))  # a column of (name, expected, value) for each judged output
    values = [value for column in columns for _, _, value in column]
    name = f"`{columns[0][0][0]}`" if len(columns) == 1 else "Every output"
    if len(columns) == 1 and _is_one_answer([expected for _, expected, _ in columns[0]], values):
        yield f"`{key.function}` gives the same answer for every input."
    if all(isinstance(value, np.ndarray) and value.size for value in values):
        entry = values[0].flat[0]
        if sum(value.size for value in values) > 1 and all((value == entry).all() for value in values):
            is_truth_value = values[0].dtype == np.bool_
            yield f"{name} is {entry if is_truth_value else 'zero' if entry == 0 else 'the same number'} everywhere."
    if len(columns) == 1:
        for argument in answered[0][0].inputs:
            if all(
                _is_input(case.inputs.get(argument), value) for (case, _), value in zip(answered, values, strict=True)
            ):
                yield f"{name} is `{argument}`, unchanged."


def _is_one_answer(expected: list[Any], values: list[Any]) -> bool:
    """Whether the values are one and the same bool, number or text, though the expected ones differ."""
    return _are_one(values) and not _are_one(expected)


def _are_one(values: list[Any]) -> bool:
    plain = [_plain(value) for value in values]
    return all(isinstance(p, bool | int | float | str) and type(p) is type(plain[0]) and p == plain[0] for p in plain)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _is_input(array: Any, value: Any) -> bool:
    """Whether a value has the entries of an input array, which may be broadcast or have a different dtype."""
    if not isinstance(array, np.ndarray) or not isinstance(value, np.ndarray) or not value.size:
        return False
    try:
        return bool((np.broadcast_to(array, value.shape) == value).all())
    except ValueError:
        return False


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
