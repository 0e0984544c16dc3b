"""Find known mistakes and rewrites whose points differ between seeds, or between home and grading."""

from collections.abc import Callable, Iterable, Iterator

from autograder.authoring.exercise import Exercise
from autograder.authoring.known_mistakes import stored_outcome
from autograder.authoring.make_key import PUBLIC_SEED, make_questions
from check.key import Key
from check.predictions import ORDER
from check.scoring import aspects_of, faults_of_cases
from check.verdicts_of_test import with_rejections


def decided_by_luck(exercise: Exercise, seeds: Iterable[int]) -> Iterator[str]:
    """Yield a sentence for each known mistake and rewrite whose points, aspect by aspect, depend on the key.

    The public key and the keys of the seeds are compared. For predictions only the sums are compared, and may differ by
    a point because each key asks for different runs; but no mistake may earn all points.
    """
    keys = [make_questions(exercise, PUBLIC_SEED, at_home=True), *(make_questions(exercise, seed) for seed in seeds)]
    mistakes = {slug: wrong for slug, (_, wrong) in exercise.mistakes.items()}
    for slug, function in (mistakes | exercise.equivalents).items():
        at_home, *graded = (earned(exercise, key, function) for key in keys)
        if _differ(exercise, [at_home, *graded]):
            seen = " or ".join(map(_in_words, sorted(set(graded))))
            yield f"{exercise.name}: {slug} earns {_in_words(at_home)} at home, and {seen} in grading"
        if slug in mistakes and exercise.points in map(sum, graded):
            yield f"{exercise.name}: {slug} passes with some seeds"


def earned(exercise: Exercise, key: Key, function: Callable) -> tuple[float, ...]:
    """The points that one of our functions earns in each aspect."""
    outcomes = with_rejections(key, [stored_outcome(exercise, function, case) for case in key.cases])
    return tuple(aspect.earned for aspect in aspects_of(key, faults_of_cases(key, outcomes)))


def _differ(exercise: Exercise, points: list[tuple[float, ...]]) -> bool:
    if exercise.measure == ORDER:
        sums = [sum(row) for row in points]
        return max(sums) - min(sums) > 1
    return len(set(points)) > 1


def _in_words(points: tuple[float, ...]) -> str:
    return " + ".join(f"{part:g}" for part in points)
