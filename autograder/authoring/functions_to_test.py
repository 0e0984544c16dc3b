"""Make the cases of an exercise that asks for a test: each hands the test a right or a wrong function.

Grading uses known mistakes and right rewrites of another exercise, which it answers outside the sandbox. A public key
names harms instead, which `check` does to the student's own function.
"""

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import Any

import numpy as np

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

    In a secret key the order is drawn, so that a test cannot count which function comes next. Although several
    functions are right, a right one comes first no more often than each wrong one does. So a test that accepts the
    first function, and all functions with its values, seldom passes.

    Args:
        draw: the aspect's.
        exercise: the exercise whose functions are tested.
        right: names of right functions: of its rewrites, or REFERENCE; or further right functions with what they do,
            such as those that keep the promise of the test's docstring, but not that of the exercise.
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
    rights, wrongs = list(_right(exercise, right)), list(_wrong(exercise, wrong))
    draw.rng.shuffle(rights)
    first, *others = rights
    places = draw.rng.random(1 + len(wrongs))  # their places in the order, between 0 and 1
    after_the_first = draw.rng.uniform(places[0], 1, len(others))
    cases = [first, *wrongs, *others]
    yield from (cases[i] for i in np.argsort([*places, *after_the_first]))


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
