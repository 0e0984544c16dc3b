"""The kill table: which case catches which mistake, and what the answer keys leave undecided.

It grades the grader. Every mistake must be rejected and told apart from the others, and every
equivalent rewrite must earn full marks, with the public key and with secret ones.
"""

from dataclasses import dataclass

from autograder import judge
from autograder.exercise import Exercise
from autograder.key import Key
from autograder.running import run


@dataclass(frozen=True)
class Row:
    """One mistake held against one key: the names of the cases that catch it, and the points it still earns."""

    slug: str
    name: str
    caught_by: tuple[str, ...]
    earned: float


def kill_table(key: Key) -> list[Row]:
    """One row per mistake of the key's exercise, in the author's order."""
    return [_row(key, slug) for slug in key.mistakes]


def problems(exercise: Exercise, key: Key) -> list[str]:
    """What is wrong with an exercise's grading, in plain words; an empty list if nothing is."""
    return [
        *_survivors(key),
        *_look_alikes(key),
        *_rejected_equivalents(exercise, key),
        *_unsound_reference(key),
    ]


def _outcomes(key, slug):
    return [case.mistakes[slug] for case in key.cases]


def _row(key, slug):
    caught = tuple(case.name for case in key.cases if not judge.judge(key, case, case.mistakes[slug]).passed)
    return Row(slug, key.mistakes[slug].name, caught, judge.grade(key, _outcomes(key, slug)).earned)


def _survivors(key):
    return [f"{key.function}: the mistake {row.slug} passes every case" for row in kill_table(key) if not row.caught_by]


def _look_alikes(key):
    slugs = list(key.mistakes)
    pairs = ((a, b) for i, a in enumerate(slugs) for b in slugs[i + 1 :])
    return [f"{key.function}: no case tells {a} from {b}" for a, b in pairs if _alike(key, a, b)]


def _alike(key, a, b):
    return all(judge.same(key, case, case.mistakes[a], case.mistakes[b]) for case in key.cases)


def _rejected_equivalents(exercise, key):
    for slug, rewrite in exercise.equivalents.items():
        result = judge.grade(key, [run(rewrite, case.inputs) for case in key.cases])
        if result.verdict:
            yield f"{key.function}: the equivalent {slug} is rejected on {result.case!r}: {result.verdict.message}"


def _unsound_reference(key):
    for case in key.cases:
        verdict = judge.judge(key, case, case.expected)
        if not verdict.passed or case.expected.modified:
            why = verdict.message or "it changes its input"
            yield f"{key.function}: the reference fails its own case {case.name!r}: {why}"
