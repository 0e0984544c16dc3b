"""Make an exercise's answer key from a seed: the public one for students, a secret one for grading."""

import zlib

from autograder.authoring.exercise import Draw, Exercise, exercises_of
from autograder.check.calling import Outcome, run
from autograder.check.key import Case, Key
from autograder.house import chapter_names

PUBLIC_SEED = 2017


def make_key(exercise: Exercise, seed: int) -> Key:
    """Run the reference and every known mistake on freshly drawn inputs.

    Args:
        exercise: whose key.
        seed: another seed gives other values and other shapes; the same seed gives the same key.

    Returns:
        Key, with the cases in the order of the aspects.

    Raises:
        ValueError: two cases of one aspect share a name.
    """
    cases = tuple(
        Case(name, aspect, inputs, run(exercise.reference, inputs), _mistaken(exercise, inputs))
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
        mistakes={slug: mistake for slug, (mistake, _) in exercise.mistakes.items()},
        cases=cases,
    )


def _inputs(exercise: Exercise, aspect: str, seed: int) -> list[tuple[str, dict]]:
    # A stream of its own for each aspect: a case added to one leaves the others as they were.
    _, generate = exercise.aspects[aspect]
    named = list(generate(Draw([seed, zlib.crc32(f"{exercise.name}/{aspect}".encode())])))
    if len({name for name, _ in named}) < len(named):
        raise ValueError(f"{exercise.name}: two cases of {aspect!r} share a name")
    return named


def _mistaken(exercise: Exercise, inputs: dict) -> dict[str, Outcome]:
    return {slug: run(wrong, inputs) for slug, (_, wrong) in exercise.mistakes.items()}


def public_key_of(name: str) -> Key:
    """The public key of the exercise of that name, whichever chapter it is in. Raises LookupError."""
    for chapter in chapter_names():
        for exercise in exercises_of(chapter):
            if exercise.name == name:
                return make_key(exercise, PUBLIC_SEED)
    raise LookupError(f"there is no exercise called {name!r}")
