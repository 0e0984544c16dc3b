"""Make an exercise's answer key from a seed.

Students get the public key. Grading makes another key for each submission, with a secret seed.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder.authoring.answer_key_cache import cached_key
from autograder.authoring.exercise import Draw, Exercise, exercises_of
from autograder.authoring.fingerprinting import fingerprints_of_inherited
from autograder.authoring.hand_in import hand_in_of
from autograder.authoring.known_mistakes import LazyMistakes, stored_outcome, with_mark_only
from autograder.authoring.sketching import Lazy, sketches_of_slips
from check.caches import place_of_cache
from check.calling import Outcome
from check.key import Case, Key, save
from check.predictions import ORDER, right
from check.weights_file import WEIGHTS

PUBLIC_SEED = 2017


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
    key = Key(
        function=exercise.name,
        section=exercise.section,
        outputs=exercise.outputs,
        order=exercise.order,
        aspects={aspect: points for aspect, (points, _) in exercise.aspects.items()},
        tolerance=exercise.tolerance,
        mistakes={},
        cases=tuple(replace(case, expected=with_mark_only(_expected(exercise, case))) for case in cases),
        measure=exercise.measure,
        tests=exercise.tests.name if exercise.tests else "",
    )
    return _with_one_cache(exercise, key) if at_home else key


def make_key(exercise: Exercise, seed: int, at_home: bool = False) -> Key:
    """Return a key with the outcomes of the reference and every known mistake; see `make_questions`."""
    key = _with_lazy_mistakes(exercise, make_questions(exercise, seed, at_home))
    return replace(key, cases=tuple(replace(case, mistakes=dict(case.mistakes)) for case in key.cases))


def make_lazy_key(exercise: Exercise, seed: int) -> Key:
    """Return a key that also explains: it runs known mistakes and makes slips only when they are needed.

    Do not save this key: saving makes all slips and inherited mistakes.
    """
    key = _with_lazy_mistakes(exercise, make_questions(exercise, seed))
    return replace(
        key, inherited=Lazy(fingerprints_of_inherited, exercise, key), slips=Lazy(sketches_of_slips, exercise, key)
    )


def narrowed_to(key: Key, answer: Sequence[Outcome]) -> Key:
    """Return a lazy key that makes only the inherited mistakes and slips that an answer may have.

    answer: its outcomes, one for each case.
    """
    return replace(
        key,
        inherited=key.inherited.like(answer) if isinstance(key.inherited, Lazy) else key.inherited,
        slips=key.slips.like(answer) if isinstance(key.slips, Lazy) else key.slips,
    )


@cache
def full_key(exercise: Exercise, seed: int) -> Key:
    """Return the complete key of an exercise, with mistakes and slips, as students get it.

    The exercise must not change afterwards, because each process makes this key only once.
    """
    key = make_key(exercise, seed, at_home=True)
    return replace(key, inherited=fingerprints_of_inherited(exercise, key), slips=sketches_of_slips(exercise, key))


@cache
def public_key(exercise: Exercise) -> Key:
    """Return the key of an exercise that students get. All processes of this machine make it only once."""
    return cached_key(f"{exercise.reference.__module__}.{exercise.name}", lambda: full_key(exercise, PUBLIC_SEED))


def _inputs(exercise: Exercise, aspect: str, seed: int, at_home: bool) -> list[tuple[str, dict[str, Any]]]:
    """(name, inputs) of each case of an aspect.

    Each aspect has its own random numbers, so a new case in one aspect does not change the other aspects.
    """
    _, generate = exercise.aspects[aspect]
    cases = list(generate(Draw([seed, zlib.crc32(f"{exercise.name}/{aspect}".encode())], at_home)))
    if len({name for name, _ in cases}) < len(cases):
        raise ValueError(f"{exercise.name}: two cases of {aspect!r} share a name")
    return cases


def _case(exercise: Exercise, aspect: str, name: str, inputs: dict[str, Any]) -> Case:
    """A case without outcomes. inputs: the function's inputs, and those that only the measure gets."""
    seen = {argument: value for argument, value in inputs.items() if argument not in exercise.unseen}
    unseen = {argument: inputs[argument] for argument in exercise.unseen}
    return Case(name, aspect, seen, Outcome(), {}, unseen)


def _with_lazy_mistakes(exercise: Exercise, questions: Key) -> Key:
    mistakes = {slug: mistake for slug, (mistake, _) in exercise.mistakes.items()}
    cases = tuple(replace(case, mistakes=LazyMistakes(exercise, case)) for case in questions.cases)
    return replace(questions, mistakes=mistakes, cases=cases)


def _with_one_cache(exercise: Exercise, key: Key) -> Key:
    """The key with the cache of one case. `check` compares the student's cache with it."""
    place, cases = place_of_cache(key), list(key.cases)
    if place is not None:
        whole = exercise.outcome(exercise.reference, cases[place].inputs)
        cases[place] = replace(cases[place], expected=whole)
    return replace(key, cases=tuple(cases))


def _expected(exercise: Exercise, case: Case) -> Outcome:
    """The reference's outcome, or what the runs show if the exercise asks to predict them.

    A model test rejects a function that makes it raise an exception.
    """
    if exercise.measure == ORDER:
        return Outcome(right(**case.unseen))
    outcome = stored_outcome(exercise, exercise.reference, case)
    return Outcome(value=False) if exercise.tests and outcome.raised else outcome


def save_public_keys(folder: Path, chapters: Iterable[str]) -> None:
    """Write the public key of every exercise to a folder, as NAME.npz. Make the folder if it does not exist.

    What `hand_in` expects goes into CHAPTER_weights.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for chapter in chapters:
        for exercise in exercises_of(chapter):
            save(public_key(exercise), folder / f"{exercise.name}.npz")
        if hand_in := hand_in_of(chapter):
            (folder / f"{chapter}_{WEIGHTS}.json").write_text(hand_in.expected.to_json(), encoding="utf-8")
