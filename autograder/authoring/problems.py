"""What an exercise's answer keys leave undecided; it grades the grader.

Every mistake must be rejected and told apart from the others, and every equivalent rewrite must earn full marks, with
the public key and with secret ones.
"""

from collections.abc import Callable, Iterator

from autograder.authoring.exercise import Exercise
from check import judge
from check.calling import run
from check.explain import same
from check.judge import Result
from check.key import Case, Key


def caught_by(key: Key, slug: str) -> Iterator[Case]:
    """The cases of the key that a mistake fails."""
    return (case for case in key.cases if not judge.judge(key, case, case.mistakes[slug]).passed)


def told_apart_by(key: Key, one: str, other: str) -> Iterator[Case]:
    """The cases of the key on which two mistakes come to different outcomes."""
    return (case for case in key.cases if not same(key, case, case.mistakes[one], case.mistakes[other]))


def graded(key: Key, function: Callable) -> Result:
    """How a function of our own comes out with a key; it runs here, without a sandbox."""
    return judge.grade(key, [run(function, case.inputs) for case in key.cases])


def problems(exercise: Exercise, key: Key) -> list[str]:
    """What is wrong with an exercise's grading, in plain words; an empty list if nothing is."""
    return [
        *_survivors(key),
        *_look_alikes(key),
        *_rejected_equivalents(exercise, key),
        *_unsound_reference(key),
    ]


def _survivors(key: Key) -> list[str]:
    passing = (slug for slug in key.mistakes if not any(caught_by(key, slug)))
    return [f"{key.function}: the mistake {slug} passes every case" for slug in passing]


def _look_alikes(key: Key) -> list[str]:
    slugs = list(key.mistakes)
    pairs = ((a, b) for i, a in enumerate(slugs) for b in slugs[i + 1 :])
    return [f"{key.function}: no case tells {a} from {b}" for a, b in pairs if not any(told_apart_by(key, a, b))]


def _rejected_equivalents(exercise: Exercise, key: Key) -> Iterator[str]:
    for slug, rewrite in exercise.equivalents.items():
        result = graded(key, rewrite)
        if result.verdict:
            yield f"{key.function}: the equivalent {slug} is rejected on {result.case!r}: {result.verdict.message}"


def _unsound_reference(key: Key) -> Iterator[str]:
    for case in key.cases:
        verdict = judge.judge(key, case, case.expected)
        if not verdict.passed or case.expected.modified:
            why = verdict.message or "it changes its input"
            yield f"{key.function}: the reference fails its own case {case.name!r}: {why}"
