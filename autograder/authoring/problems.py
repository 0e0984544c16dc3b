"""Test the answer keys of an exercise.

With every key, the judge must reject each known mistake, distinguish it from the others, and give full marks to the
reference and to each equivalent.
"""

from collections.abc import Callable, Iterator
from itertools import combinations

from autograder.authoring.blind_tests import blind_tests
from autograder.authoring.exercise import Exercise
from autograder.authoring.known_mistakes import stored_outcome
from check import scoring
from check.key import Case, Key
from check.matching import same
from check.measuring import outcomes_of
from check.scoring import Result
from check.verdicts_of_test import bound_key, rejection


def catching_cases(key: Key, slug: str) -> Iterator[Case]:
    """Return the cases of the key that a mistake fails."""
    return (case for case in key.cases if not scoring.judge(key, case, case.mistakes[slug]).passed)


def distinguishing_cases(key: Key, one: str, other: str) -> Iterator[Case]:
    """Return the cases of the key for which two mistakes have different outcomes."""
    return (case for case in key.cases if not same(key, case, case.mistakes[one], case.mistakes[other]))


def grade_function(exercise: Exercise, key: Key, function: Callable) -> Result:
    """Grade a function of our own with a key. It runs in this process, without a sandbox."""
    return scoring.grade(key, outcomes_of(function, bound_key(key, exercise.tested_functions)))


def problems(exercise: Exercise, key: Key) -> list[str]:
    """Return a sentence for each fault of an exercise's key; an empty list if the key is good."""
    return [
        *_uncaught_mistakes(key),
        *_indistinguishable_mistakes(key),
        *_rejected_equivalents(exercise, key),
        *_failed_cases_of_reference(key),
        *_passing_blind_tests(exercise, key),
    ]


def _uncaught_mistakes(key: Key) -> list[str]:
    passing = (slug for slug in key.mistakes if not any(catching_cases(key, slug)))
    return [f"{key.function}: the mistake {slug} passes every case" for slug in passing]


def _indistinguishable_mistakes(key: Key) -> list[str]:
    pairs = [pair for pair in combinations(key.mistakes, 2) if not any(distinguishing_cases(key, *pair))]
    return [f"{key.function}: no case distinguishes {one} from {other}" for one, other in pairs]


def _rejected_equivalents(exercise: Exercise, key: Key) -> Iterator[str]:
    for slug, rewrite in exercise.equivalents.items():
        result = grade_function(exercise, key, rewrite)
        if result.verdict:
            yield f"{key.function}: the equivalent {slug} is rejected on {result.case!r}: {result.verdict.message}"


def _failed_cases_of_reference(key: Key) -> Iterator[str]:
    for case in key.cases:
        verdict = scoring.judge(key, case, case.expected)
        if not verdict.passed or case.expected.modified:
            reason = verdict.message or "it changes its input"
            yield f"{key.function}: the reference fails the case {case.name!r}: {reason}"


def _passing_blind_tests(exercise: Exercise, key: Key) -> Iterator[str]:
    if exercise.tests:
        for words, blind in blind_tests(exercise):
            outcomes = ((case, stored_outcome(exercise, blind, case)) for case in key.cases)
            if all(scoring.judge(key, case, rejection(case.expected, outcome)).passed for case, outcome in outcomes):
                yield f"{key.function}: the blind test {words} passes"
