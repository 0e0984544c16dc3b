"""Make an exercise's answer key from a seed.

Students get the public key. Grading makes another key for each submission, with a secret seed.
"""

import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograder.authoring.answer_key_cache import cached_key
from autograder.authoring.exercise import Draw, Exercise, exercises_of
from autograder.authoring.hand_in import hand_in_of
from autograder.authoring.sketching import LazySketches, sketches_of_slips
from autograder.layout import chapter_names
from check.calling import Outcome, Raised
from check.key import UNJUDGED, Case, Key, save
from check.measuring import measured
from check.predictions import ORDER, right
from check.values import pack, unpack
from check.verdicts_of_test import rejection
from check.weights_file import WEIGHTS

PUBLIC_SEED = 2017
# As shares of the largest entry: much less than the judge tolerates, but more than sums in another order differ by.
ROUNDING = {"float16": 1e-4, "float32": 1e-7, "float64": 1e-13}

# (index of the array in its outcome, dtype, shape) -> the different arrays so far.
SeenArrays = dict[tuple[int, np.dtype, tuple[int, ...]], list[np.ndarray]]


def make_questions(exercise: Exercise, seed: int, at_home: bool = False) -> Key:
    """Return a key that can judge answers, but not explain mistakes: the cases and the reference's outcomes.

    Args:
        exercise: the exercise.
        seed: decides the values and shapes of the inputs; the same seed gives the same key.
        at_home: whether the key is public. Then it has no hidden functions, but harms that `check` does to the
            student's own function.

    Returns:
        Key without mistakes and slips, with the cases in the order of the aspects.

    Raises:
        ValueError: two cases of one aspect share a name.
    """
    cases = (
        _case(exercise, aspect, *drawn)
        for aspect in exercise.aspects
        for drawn in _inputs(exercise, aspect, seed, at_home)
    )
    return Key(
        function=exercise.name,
        section=exercise.section,
        outputs=exercise.outputs,
        order=exercise.order,
        aspects={aspect: points for aspect, (points, _) in exercise.aspects.items()},
        uses=exercise.uses,
        tolerance=exercise.tolerance,
        mistakes={},
        cases=tuple(replace(case, expected=_with_mark_only(_expected(exercise, case))) for case in cases),
        measure=exercise.measure,
        tests=exercise.tests.name if exercise.tests else "",
    )


def with_mistakes(exercise: Exercise, questions: Key) -> Key:
    """Return a key with the outcomes of every known mistake on the same inputs. questions: from `make_questions`."""
    mistakes = {slug: mistake for slug, (mistake, _) in exercise.mistakes.items()}
    return replace(
        questions, mistakes=mistakes, cases=tuple(_case_with_mistakes(exercise, case) for case in questions.cases)
    )


def make_key(exercise: Exercise, seed: int, at_home: bool = False) -> Key:
    """Return a key with the outcomes of the reference and every known mistake; see `make_questions`."""
    return with_mistakes(exercise, make_questions(exercise, seed, at_home))


def with_mistakes_and_slips(exercise: Exercise, questions: Key) -> Key:
    """Return a key that also explains: with the known mistakes, and with slips that it makes only when needed.

    Do not save this key: saving makes all slips.
    """
    key = with_mistakes(exercise, questions)
    return replace(key, slips=LazySketches(exercise, key))


@cache
def full_key(exercise: Exercise, seed: int) -> Key:
    """Return the complete key of an exercise, with mistakes and slips, as students get it.

    The exercise must not change afterwards, because each process makes this key only once.
    """
    key = make_key(exercise, seed, at_home=True)
    return replace(key, slips=sketches_of_slips(exercise, key))


@cache
def public_key(exercise: Exercise) -> Key:
    """Return the key of an exercise that students get. All processes of this machine make it only once."""
    return cached_key(f"{exercise.reference.__module__}.{exercise.name}", lambda: full_key(exercise, PUBLIC_SEED))


def _inputs(exercise: Exercise, aspect: str, seed: int, at_home: bool) -> list[tuple[str, dict[str, Any]]]:
    """Return (name, inputs) of each case of an aspect.

    Each aspect has its own random numbers, so a new case in one aspect does not change the other aspects.
    """
    _, generate = exercise.aspects[aspect]
    cases = list(generate(Draw([seed, zlib.crc32(f"{exercise.name}/{aspect}".encode())], at_home)))
    if len({name for name, _ in cases}) < len(cases):
        raise ValueError(f"{exercise.name}: two cases of {aspect!r} share a name")
    return cases


def _case(exercise: Exercise, aspect: str, name: str, inputs: dict[str, Any]) -> Case:
    """Return a case without outcomes. inputs: the function's inputs, and those that only the measure gets."""
    seen = {argument: value for argument, value in inputs.items() if argument not in exercise.unseen}
    unseen = {argument: inputs[argument] for argument in exercise.unseen}
    return Case(name, aspect, seen, Outcome(), {}, unseen)


def _outcome(exercise: Exercise, function: Callable, case: Case) -> Outcome:
    """Return the outcome of a function of ours on a case, as a key stores it."""
    return _judged_part(exercise, measured(exercise.measure, case, exercise.outcome(function, case.inputs)))


def _case_with_mistakes(exercise: Exercise, case: Case) -> Case:
    """Return the case with the outcomes of the known mistakes. Arrays that differ only by rounding become equal."""
    seen: SeenArrays = {}
    _without_rounding(seen, case.expected)
    outcomes = {slug: _outcome_of_mistake(exercise, wrong, case) for slug, (_, wrong) in exercise.mistakes.items()}
    mistakes = {slug: _with_mark_only(_without_rounding(seen, outcome)) for slug, outcome in outcomes.items()}
    return replace(case, mistakes=mistakes)


def _expected(exercise: Exercise, case: Case) -> Outcome:
    """Return the reference's outcome, or what the runs show if the exercise asks to predict them.

    A model test rejects a function that makes it raise an exception.
    """
    if exercise.measure == ORDER:
        return Outcome(right(**case.unseen))
    outcome = _outcome(exercise, exercise.reference, case)
    return Outcome(value=False) if exercise.tests and outcome.raised else outcome


def _outcome_of_mistake(exercise: Exercise, wrong: Callable, case: Case) -> Outcome:
    outcome = _outcome(exercise, wrong, case)
    return rejection(case.expected, outcome) if exercise.tests else outcome


def _with_mark_only(outcome: Outcome) -> Outcome:
    """Return the outcome with the mark of an exception in place of its message and line, which a key must not show."""
    raised = outcome.raised
    return replace(outcome, raised=Raised(raised.type, raised.mark)) if raised else outcome


def _judged_part(exercise: Exercise, outcome: Outcome) -> Outcome:
    """Return the outcome with None for every output that is not judged. Caches are large, and keys do not need them."""
    axes, value = exercise.outputs.values(), outcome.value
    if UNJUDGED not in axes or not isinstance(value, tuple | list) or len(value) != len(axes):
        return outcome
    parts = (None if output_axes == UNJUDGED else part for output_axes, part in zip(axes, value, strict=True))
    return replace(outcome, value=type(value)(parts))


def _without_rounding(seen: SeenArrays, outcome: Outcome) -> Outcome:
    """Return the outcome with each array replaced by an earlier one that differs only by rounding, if there is one.

    seen: the earlier arrays; the function adds the new ones.
    """
    tree, arrays = pack(outcome.value)
    for i, array in enumerate(arrays):
        earlier = seen.setdefault((i, array.dtype, array.shape), [])
        arrays[i] = next((other for other in earlier if _are_close(other, array)), array)
        if arrays[i] is array:
            earlier.append(array)
    return replace(outcome, value=unpack(tree, arrays))


def _are_close(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two float arrays with the same dtype and shape differ only by rounding."""
    if one.dtype.kind != "f" or not one.size:
        return False
    with np.errstate(all="ignore"):
        largest = np.abs(one).max()
        return bool(np.isfinite(largest) and np.abs(one - other).max() <= ROUNDING[one.dtype.name] * largest)


def save_public_keys(folder: Path) -> None:
    """Write the public key of every exercise to a folder, as NAME.npz, and what `hand_in` expects, as a JSON file.

    Make the folder if it does not exist.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for chapter in chapter_names():
        for exercise in exercises_of(chapter):
            save(public_key(exercise), folder / f"{exercise.name}.npz")
        if hand_in := hand_in_of(chapter):
            (folder / f"{WEIGHTS}.json").write_text(hand_in.expected.to_json(), encoding="utf-8")
