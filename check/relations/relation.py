"""Find a sentence that is true of the wrong values of all cases."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from check.calling import Outcome
from check.comparing import allowed_error, difference, relative_error
from check.faults import judged_outputs
from check.key import Case, Key
from check.relations.arrays import (
    SIMPLE_FACTORS,
    constant,
    equal,
    is_distinctive,
    proportional,
    relations_of_array,
    size_factors,
    sizes_of,
)
from check.relations.labels import are_labels, label_relations
from check.trees import arrays_by_path
from check.values import has_structure_of


def relation(key: Key, cases: Sequence[Case], outcomes: Sequence[Outcome]) -> str:
    """Return a sentence about the first wrong output that is true for all these cases; "" if there is none.

    Args:
        key: the exercise's key.
        cases: cases with wrong values of the right shapes.
        outcomes: their outcomes.
    """
    wrong = [
        (case, *first)
        for case, outcome in zip(cases, outcomes, strict=True)
        if (first := _first_wrong(key, case, outcome))
    ]
    sentences: Iterable[str]
    if all(_is_float(array) for _, _, *pair in wrong for array in pair):
        sentences = _scalar_relations(wrong)
    elif are_labels(wrong):
        sentences = label_relations(key, wrong)
    else:
        sentences = _shared(_case_relations(key, *output) for output in wrong)
    sentence = next(iter(sentences), "")
    return sentence[:1].upper() + sentence[1:]


def _first_wrong(key: Key, case: Case, outcome: Outcome) -> tuple[str, Any, Any] | None:
    """(name, expected, value) of the first wrong output."""
    outputs = judged_outputs(key, case.expected.value, outcome.value)
    return next((output for output in outputs if difference(*output[1:], output[0], "", key.tolerance)), None)


def _shared(relations: Iterable[tuple[dict[str, None], bool]]) -> dict[str, None]:
    """The sentences that are true of all cases, if one of the cases can prove them. Stop if there are none.

    relations: for each case its sentences, and whether the case can prove them.
    """
    shared: dict[str, None] | None = None
    proven = False
    for sentences, is_proof in relations:
        shared = {sentence: None for sentence in (sentences if shared is None else shared) if sentence in sentences}
        if not shared:
            return {}
        proven |= is_proof
    return shared if shared and proven else {}


def _case_relations(key: Key, case: Case, name: str, expected: Any, value: Any) -> tuple[dict[str, None], bool]:
    """Every sentence that is true of a wrong output of one case, and whether the case can prove it."""
    if not has_structure_of(expected, value):
        return {}, False
    confused = dict.fromkeys(_confused_size(expected, value, case.inputs)) if isinstance(expected, dict) else {}
    if confused:
        return confused, True
    right, got = leaves(expected), leaves(value)
    scale = max((np.abs(array[np.isfinite(array)]).max(initial=0.0) for array in right.values()), default=0.0)
    wrong = [
        path
        for path in right.keys() & got.keys()
        if right[path].shape == got[path].shape
        and not (
            relative_error(right[path], got[path], scale) <= allowed_error(right[path], tolerance=key.tolerance)
        ).all()
    ]
    paths = [path for path in right if path in wrong and np.isfinite(got[path]).all()]
    if not paths or len(paths) < len(wrong):
        return {}, False
    factors = list(size_factors(sizes_of(case.inputs)))
    by_argument = {argument: leaves(array) for argument, array in case.inputs.items()}
    proof = any(is_distinctive(right[path]) and is_distinctive(got[path]) for path in paths)

    def of(path: str, subject: str, others: dict[str, Any]) -> dict[str, None]:
        inputs = case.inputs
        if path:
            place = path if path in subject else ""  # a sentence about several arrays names no place
            inputs = {f"{argument}{place}": tree[path] for argument, tree in by_argument.items() if path in tree}
        axes = [] if path else key.outputs[name].split()
        return dict.fromkeys(relations_of_array(subject, axes, right[path], got[path], inputs, others, factors))

    outputs = dict(zip(key.outputs, case.expected.value, strict=True)) if len(key.outputs) > 1 else {}
    others = {f"{other}{path}": array for other in outputs for path, array in leaves(outputs[other]).items()}
    first = of(paths[0], f"`{name}{paths[0]}`", {o: array for o, array in others.items() if o != f"{name}{paths[0]}"})
    if len(paths) == 1:
        return first, proof
    every = _shared((of(path, f"each wrong array in `{name}`", {}), True) for path in paths)
    return every | first, proof


def _scalar_relations(wrong: Sequence[tuple[Case, str, Any, Any]]) -> Iterator[str]:
    """Yield every sentence that is true of a wrong number in all cases, unless the number is always the same."""
    expected, value = (np.array([pair[i] for _, _, *pair in wrong]) for i in (0, 1))
    name = wrong[0][1]
    if any(other != name for _, other, *_ in wrong) or len(np.unique(expected)) < 2:
        return
    words = (
        {words: None for factor, words in factors if equal(np.array(factor * e), np.array(v))}
        for case, _, e, v in wrong
        for factors in [(*SIMPLE_FACTORS.items(), *size_factors(sizes_of(case.inputs)))]
    )
    yield from (f"`{name}` is {word}." for word in _shared((of_case, True) for of_case in words))
    if len(np.unique(expected)) > 2 and value.any():
        if proportional(expected, value):
            yield f"`{name}` is right except for one factor, the same for every input."
        if constant(value - expected, 0):
            yield f"`{name}` is right except for a number that is added, the same for every input."


def leaves(tree: Any) -> dict[str, np.ndarray]:
    """Return the float arrays of a tree of dicts, lists and tuples, by their paths, such as "['encoder'][0]"."""
    return {path: array for path, array in arrays_by_path(tree) if array.dtype.kind == "f"}


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f" and not value.ndim)


def _confused_size(expected: dict, value: dict, inputs: dict[str, Any]) -> Iterator[str]:
    """Yield which input equals the first wrong size in a dict of tuples of sizes."""
    pairs = [
        pair
        for key, sizes in expected.items()
        if isinstance(sizes, tuple)
        for pair in zip(sizes, value[key], strict=True)
        if all(isinstance(size, int) for size in pair)
    ]
    wrong = next((v for e, v in pairs if e != v), None)
    for argument, size in inputs.items():
        if type(size) is type(wrong) is int and size == wrong:
            yield f"it is `{argument}`: another size belongs there."
