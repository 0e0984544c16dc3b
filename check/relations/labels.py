"""Find what is true of wrong answers that are a bool, a text or an int."""

from collections.abc import Iterator, Sequence
from typing import Any

from check.faults import judged_outputs
from check.key import Case, Key

Wrong = Sequence[tuple[Case, str, Any, Any]]  # (case, name of the output, expected, value)


def are_labels(wrong: Wrong) -> bool:
    """Whether all wrong outputs are one output, which is a bool, a text or an int in every case."""
    names = {name for _, name, *_ in wrong}
    kinds = {type(value) for _, _, *pair in wrong for value in pair}
    return len(names) == 1 and any(kinds == {kind} for kind in (bool, str, int))


def label_relations(key: Key, wrong: Wrong) -> Iterator[str]:
    """Yield every sentence about wrong labels that is true in all cases. They name only labels that the key has."""
    (_, name, right, _), *_ = wrong
    expected, values = ([pair[i] for _, _, *pair in wrong] for i in (0, 1))
    of_all_cases = list(_expected_labels(key, name))
    if isinstance(right, bool):
        parts = [_in_one_direction(name, answer, of_all_cases.count(answer), expected) for answer in (True, False)]
        missed = [part for part in parts if part]
        yield f"{', and '.join(missed)}{', and never the other way round' * (len(missed) == 1)}."
    elif isinstance(right, str):
        if len(values) > 1 and len(set(values)) == 1 and values[0] in of_all_cases:
            yield f"wherever `{name}` is wrong, it is {values[0]!r}."
        if len(values) > 1 and len(set(expected)) == 1:
            yield f"the cases in which `{name}` is wrong should all have the same answer."
    elif len(values) > 1:
        steps = {value - other for other, value in zip(expected, values, strict=True)}
        if steps in ({1}, {-1}):
            yield f"wherever `{name}` is wrong, it is one too {'large' if steps == {1} else 'small'}."
        elif all(step > 0 for step in steps) or all(step < 0 for step in steps):
            yield f"wherever `{name}` is wrong, it is too {'large' if min(steps) > 0 else 'small'}."


def _in_one_direction(name: str, answer: bool, n_cases: int, expected: Sequence[bool]) -> str:
    """Say how many of the cases with this right answer got the other one; "" if none did."""
    n_wrong = expected.count(answer)
    case = "case" if n_cases == 1 else "cases"
    return (
        f"in {n_wrong} of {n_cases} {case} in which `{name}` should be {answer}, it is {not answer}" if n_wrong else ""
    )


def _expected_labels(key: Key, name: str) -> Iterator[Any]:
    """Yield what an output should be, in every case that has a value."""
    for case in key.cases:
        if not case.expected.raised:
            outputs = judged_outputs(key, case.expected.value, case.expected.value)
            yield from (value for output, value, _ in outputs if output == name)
