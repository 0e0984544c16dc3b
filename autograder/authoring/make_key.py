"""Make an exercise's answer key from a seed: the public one for students, another one for each submission."""

import zlib
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from autograder.authoring.answer_key_cache import kept
from autograder.authoring.exercise import Draw, Exercise, exercises_of
from autograder.authoring.sketching import SketchesWhenAsked, sketches_of_slips
from autograder.house import chapter_names
from check.calling import Outcome, Raised, run
from check.key import UNJUDGED, Case, Key, save
from check.values import pack, unpack

PUBLIC_SEED = 2017
# As shares of the largest entry: far below what the judge allows, far above what another order of sums comes to.
ROUNDING = {"float16": 1e-4, "float32": 1e-7, "float64": 1e-13}

# Place in the outcome, dtype, shape -> other arrays.
Seen = dict[tuple[int, np.dtype, tuple[int, ...]], list[np.ndarray]]


def make_questions(exercise: Exercise, seed: int) -> Key:
    """Run the reference on freshly drawn inputs: a key that judges, and knows no mistake to explain with.

    Args:
        exercise: whose key.
        seed: another seed gives other values and other shapes; the same seed gives the same key.

    Returns:
        Key, with the cases in the order of the aspects.

    Raises:
        ValueError: two cases of one aspect share a name.
    """
    cases = tuple(
        Case(name, aspect, inputs, _marked(_judged(exercise, run(exercise.reference, inputs))), {})
        for aspect in exercise.aspects
        for name, inputs in _inputs(exercise, aspect, seed)
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
        cases=cases,
    )


def with_mistakes(exercise: Exercise, questions: Key) -> Key:
    """The key that also knows what every known mistake comes to on the same inputs."""
    mistakes = {slug: mistake for slug, (mistake, _) in exercise.mistakes.items()}
    return replace(questions, mistakes=mistakes, cases=tuple(_mistaken(exercise, case) for case in questions.cases))


def make_key(exercise: Exercise, seed: int) -> Key:
    """What the reference and every known mistake come to; see `make_questions`."""
    return with_mistakes(exercise, make_questions(exercise, seed))


def explaining(exercise: Exercise, questions: Key) -> Key:
    """The key that explains, too: it knows the mistakes and, when it is asked for them, the slips. Not to be saved."""
    key = with_mistakes(exercise, questions)
    return replace(key, slips=SketchesWhenAsked(exercise, key))


@cache
def key_of(exercise: Exercise, seed: int) -> Key:
    """The key of an exercise that is written to its end, as it is shipped and graded with; made once in a process.

    It knows slips besides the mistakes: see `sketching`.
    """
    key = make_key(exercise, seed)
    return replace(key, slips=sketches_of_slips(exercise, key))


@cache
def public_key(exercise: Exercise) -> Key:
    """The key that students get of an exercise of the course; made once for all processes."""
    return kept(f"{exercise.reference.__module__}.{exercise.name}", lambda: key_of(exercise, PUBLIC_SEED))


def _inputs(exercise: Exercise, aspect: str, seed: int) -> list[tuple[str, dict]]:
    # A stream of its own for each aspect: a case added to one leaves the others as they were.
    _, generate = exercise.aspects[aspect]
    named = list(generate(Draw([seed, zlib.crc32(f"{exercise.name}/{aspect}".encode())])))
    if len({name for name, _ in named}) < len(named):
        raise ValueError(f"{exercise.name}: two cases of {aspect!r} share a name")
    return named


def _mistaken(exercise: Exercise, case: Case) -> Case:
    """A case with its mistakes; what is equal but for rounding is made equal."""
    seen: Seen = {}
    _as_seen(seen, case.expected)
    came_to = {slug: _judged(exercise, run(wrong, case.inputs)) for slug, (_, wrong) in exercise.mistakes.items()}
    return replace(case, mistakes={slug: _marked(_as_seen(seen, outcome)) for slug, outcome in came_to.items()})


def _marked(outcome: Outcome) -> Outcome:
    """The outcome with no more of an exception than its type and mark: its message is nobody's business."""
    raised = outcome.raised
    return replace(outcome, raised=Raised(raised.type, raised.mark)) if raised else outcome


def _judged(exercise: Exercise, outcome: Outcome) -> Outcome:
    """The outcome with None for every output that is not judged: a cache is nobody's business, and large."""
    axes, value = exercise.outputs.values(), outcome.value
    if UNJUDGED not in axes or not isinstance(value, tuple | list) or len(value) != len(axes):
        return outcome
    kept = (None if each == UNJUDGED else part for each, part in zip(axes, value, strict=True))
    return replace(outcome, value=type(value)(kept))


def _as_seen(seen: Seen, outcome: Outcome) -> Outcome:
    """The outcome, each array replaced by the first seen in its place that it equals up to rounding."""
    tree, arrays = pack(outcome.value)
    for i, array in enumerate(arrays):
        before = seen.setdefault((i, array.dtype, array.shape), [])
        arrays[i] = next((other for other in before if _alike(other, array)), array)
        if arrays[i] is array:
            before.append(array)
    return replace(outcome, value=unpack(tree, arrays))


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.kind != "f" or not one.size:
        return False
    with np.errstate(all="ignore"):
        largest = np.abs(one).max()
        return bool(np.isfinite(largest) and np.abs(one - other).max() <= ROUNDING[one.dtype.name] * largest)


def save_public_keys(folder: Path) -> None:
    """Write the public key of every exercise to a folder, as NAME.npz; the folder is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for chapter in chapter_names():
        for exercise in exercises_of(chapter):
            save(public_key(exercise), folder / f"{exercise.name}.npz")
