"""Describe how a wrong array relates to the right one ("twice what it should be") where no known mistake explains it.

A relation is reported only if it holds within rounding on every case with wrong values, and only for arrays with
different entries, since zeros satisfy any relation. No sentence contains an expected value.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from check.array_relations import is_distinctive, relations_of_array
from check.calling import Outcome
from check.comparing import difference
from check.faults import judged_outputs
from check.key import Case, Key


def relation(key: Key, cases: Sequence[Case], outcomes: Sequence[Outcome]) -> str:
    """Return a sentence about the first wrong output that is true for all these cases; "" if there is none.

    Args:
        key: the exercise's key.
        cases: cases with wrong values of the right shapes.
        outcomes: their outcomes.
    """
    shared: dict[str, None] | None = None
    for case, outcome in zip(cases, outcomes, strict=True):
        outputs = judged_outputs(key, case.expected.value, outcome.value)
        wrong = next(((n, e, v) for n, e, v in outputs if difference(e, v, n, "", key.tolerance)), None)
        if wrong is None:
            continue
        name, expected, value = wrong
        others = {other: e for other, e, _ in outputs if other != name}
        if all(map(is_distinctive, (expected, value))):
            sentences = dict.fromkeys(
                relations_of_array(name, key.outputs[name].split(), expected, value, case.inputs, others)
            )
        elif isinstance(expected, dict):
            sentences = dict.fromkeys(_confused_size(expected, value, case.inputs))
        else:
            continue
        shared = sentences if shared is None else {sentence: None for sentence in shared if sentence in sentences}
    return next(iter(shared or ()), "")


def _confused_size(expected: dict, value: dict, inputs: dict[str, Any]) -> Iterator[str]:
    """Yield which input equals the first wrong size in a dict of tuples of sizes."""
    pairs = [
        pair
        for key, sizes in expected.items()
        if isinstance(sizes, tuple)
        for pair in zip(sizes, value[key], strict=True)
    ]
    wrong = next((v for e, v in pairs if e != v), None)
    for argument, size in inputs.items():
        if type(size) is type(wrong) is int and size == wrong:
            yield f"It is `{argument}`: another size belongs there."
