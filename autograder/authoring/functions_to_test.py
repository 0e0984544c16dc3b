"""Make the cases of an exercise that asks for a test: each hands the test a right or a wrong function.

Grading uses known mistakes and right rewrites of another exercise, which it answers outside the sandbox. A public key
names harms instead, which `check` does to the student's own function.
"""

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import Any

from autograder.authoring.exercise import TESTED, Draw, Exercise
from check.harms.harmed import UNHARMED, Harmed, harmless_words, words
from check.tested import FunctionUnderTest

REFERENCE = "reference"

NamedCase = tuple[str, dict[str, Any]]
OwnFunction = tuple[str, Callable]  # what it does, after the words "a function that" if it is wrong, and the function


def functions_to_test(
    draw: Draw,
    exercise: Exercise,
    *,
    right: Sequence[str | OwnFunction],
    wrong: Sequence[str | OwnFunction],
    at_home: Sequence[str],
    right_at_home: Sequence[str] = (),
) -> Iterator[NamedCase]:
    """Yield the cases of one aspect. The test gets each function as the argument `function`.

    In a secret key the order is drawn, so that a test cannot count which function comes next. The first right function
    has any place among the wrong ones, and the other right ones come last. So a test meets the right values again only
    after it has judged all wrong functions. Each aspect begins in a new process, and the rejection of a right function
    in one aspect counts in all. To remember the right values, a test has to guess in each aspect which function is
    right.

    Args:
        draw: the aspect's.
        exercise: the exercise whose functions are tested.
        right: names of right functions: of its rewrites, or REFERENCE; or further right functions with what they do,
            such as those that keep the promise of the test's docstring, but not that of the exercise. All aspects of
            an exercise have the same first one.
        wrong: slugs of its known mistakes, or further wrong functions with what they do.
        at_home: names of harms for the public key.
        right_at_home: names of harmless changes for the public key, for tests that reject right functions other than
            the student's own.

    Raises:
        KeyError: there is no such rewrite, mistake, harm or harmless change.
    """
    if draw.at_home:
        yield f"your own `{exercise.name}`", {TESTED: Harmed(exercise.name, UNHARMED)}
        for change in right_at_home:
            name = f"your own `{exercise.name}`, {harmless_words(change)}"
            yield name, {TESTED: Harmed(exercise.name, change)}
        parameters = list(signature(exercise.reference).parameters)
        for harm in at_home:
            yield f"a function that {words(harm, parameters)}", {TESTED: Harmed(exercise.name, harm)}
        return
    first, *others = _right(exercise, right)
    cases = list(_wrong(exercise, wrong))
    for drawn in (cases, others):
        draw.rng.shuffle(drawn)
    cases.insert(draw.rng.integers(len(cases) + 1), first)
    yield from (*cases, *others)


def _right(exercise: Exercise, functions: Sequence[str | OwnFunction]) -> Iterator[NamedCase]:
    named = {REFERENCE: exercise.reference, **exercise.equivalents}
    for one in functions:
        words, function = (one.replace("_", " "), named[one]) if isinstance(one, str) else one
        yield f"a right function ({words})", _inputs(exercise, function)


def _wrong(exercise: Exercise, functions: Sequence[str | OwnFunction]) -> Iterator[NamedCase]:
    for one in functions:
        words, function = (exercise.mistakes[one][0].name, exercise.mistakes[one][1]) if isinstance(one, str) else one
        yield f"a function that {words}", _inputs(exercise, function)


def _inputs(exercise: Exercise, function: Callable) -> dict[str, Any]:
    return {TESTED: FunctionUnderTest(exercise.name, function)}
