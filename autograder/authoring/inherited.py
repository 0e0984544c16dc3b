"""Let an exercise inherit the known mistakes of the exercises that its reference calls, in any chapter.

A student may write out in one exercise what an earlier one does, and make a mistake that the earlier one knows. Such a
wrong function is the reference with the earlier function replaced by that mistake.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import FunctionType

from autograder.authoring.exercise import Exercise
from autograder.layout import REPO, chapter_names, number_and_word
from check.key import Mistake
from check.reachable import named

MOST_TOGETHER = 2  # with more of them, a sentence would name almost any mistake
MOST_INHERITED = 200  # the farthest are unlikely guesses, and keys must stay small


@dataclass(frozen=True)
class Inherited:
    """A mistake of an exercise that the reference calls.

    exercise: the one whose mistake it is. distance: 1 if the reference calls it itself or through a helper, 2 if it
    calls an exercise that does, and so on. function: the reference with this mistake.
    """

    exercise: Exercise
    slug: str
    distance: int
    function: Callable

    @property
    def own(self) -> Mistake:
        """What students read about it in its own exercise."""
        return self.exercise.mistakes[self.slug][0]


@cache
def inherited_mistakes(exercise: Exercise) -> tuple[Inherited, ...]:
    """Return the mistakes that an exercise inherits, the nearest first.

    An exercise that asks for a test, for matrices or for a prediction inherits none, and neither does a class.
    """
    reference = exercise.reference
    if exercise.tests or exercise.measure or not isinstance(reference, FunctionType):
        return ()
    found = []
    for called in called_exercises(reference):
        for slug, (_, wrong) in called.mistakes.items():
            found.append(Inherited(called, slug, 1, rebound(reference, called.reference, wrong)))
        for other in inherited_mistakes(called):
            function = rebound(reference, called.reference, other.function)
            found.append(Inherited(other.exercise, other.slug, other.distance + 1, function))
    return tuple(sorted(found, key=lambda each: each.distance)[:MOST_INHERITED])


def merged(same: Sequence[Inherited]) -> tuple[str, Mistake] | None:
    """Return the slug and the text for mistakes that have the same values, given with the nearest first.

    Only the nearest mistakes count. Mistakes with the same name, up to "a number such as", share a text. Otherwise the
    text names each mistake; there is no text for more than MOST_TOGETHER mistakes, or for mistakes of more than one
    exercise.
    """
    nearest: dict[str, Inherited] = {}
    for other in same:
        if other.distance == same[0].distance:
            nearest.setdefault(other.own.name.partition(" such as ")[0], other)
    first, *others = nearest.values()
    if len(others) >= MOST_TOGETHER or any(other.exercise != first.exercise for other in others):
        return None
    slug = ".".join([first.exercise.name, first.slug, *(other.slug for other in others)])
    names = ", or ".join(other.own.name for other in (first, *others))
    where = f"(in the step of `{first.exercise.name}`, chapter {chapter_number(first.exercise)})"
    message = "Either would give your values." if others else f"In that step: {first.own.message}"
    return slug, Mistake(f"{names} {where}", message, first.own.reread)


def called_exercises(function: Callable) -> list[Exercise]:
    """Return the exercises that a function or class of `solutions` calls, itself or through helpers, in any chapter."""
    exercises: dict[str, Exercise] = {}
    seen, waiting = {function}, [function]
    while waiting:
        for called in _called(waiting.pop(0)).values():
            if called not in seen:
                seen.add(called)
                if exercise := exercise_of(called):
                    exercises[exercise.name] = exercise
                else:
                    waiting.append(called)
    return list(exercises.values())


def exercise_of(function: Callable) -> Exercise | None:
    """Return the exercise whose reference a function is, or None."""
    name = function.__name__
    if name not in _words():
        return None
    exercise = getattr(importlib.import_module(f"autograder.exercises.{_words()[name]}.{name}"), name, None)
    return exercise if isinstance(exercise, Exercise) and exercise.reference is function else None


def chapter_number(exercise: Exercise) -> int:
    """Return the number of the chapter that an exercise belongs to."""
    return dict((word, number) for number, word in map(number_and_word, chapter_names()))[_words()[exercise.name]]


def rebound(function: Callable, right: Callable, wrong: Callable) -> Callable:
    """Return a function in which it and its helpers call a wrong function instead of the right one."""
    if not isinstance(function, FunctionType):
        return function
    changed = {}
    for name, called in _called(function).items():
        new = wrong if called is right else called if exercise_of(called) else rebound(called, right, wrong)
        if new is not called:
            changed[name] = new
    if not changed:
        return function
    code, variables = function.__code__, function.__globals__ | changed
    copied = FunctionType(code, variables, function.__name__, function.__defaults__, function.__closure__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


def _called(function: Callable) -> dict[str, Callable]:
    """The functions and classes of `solutions` that a function or a class's methods read, by global name."""
    functions = vars(function).values() if isinstance(function, type) else [function]
    called: dict[str, Callable] = {}
    for inner in functions:
        for name in sorted(set(named(inner, "LOAD_GLOBAL"))) if isinstance(inner, FunctionType) else ():
            value = inner.__globals__.get(name)
            if callable(value) and value is not function and str(value.__module__).startswith("solutions."):
                called[name] = value
    return called


@cache
def _words() -> dict[str, str]:
    """The name of each file in autograder/exercises/ and of its folder, the chapter's word."""
    return {file.stem: file.parent.name for file in (REPO / "autograder" / "exercises").glob("*/*.py")}
