"""Find functions that pass and return a cache of another form than the docstring says."""

from collections.abc import Sequence

from autograder.authoring.exercise import Exercise
from autograder.grading.questions import Judgement
from check.caches import is_another_cache, place_of_cache
from check.words import listed


def returns_another_cache(exercise: Exercise, judgement: Judgement) -> bool:
    """Return whether an exercise that passes returns another cache than the reference, on its smallest case."""
    key, place = judgement.key, place_of_cache(judgement.key)
    if place is None or not judgement.passed:
        return False
    expected = exercise.outcome(exercise.reference, key.cases[place].inputs).value
    return is_another_cache(key, key.cases[place], expected, judgement.outcomes[place].value)


def sentence_about_caches(names: Sequence[str]) -> str:
    """Return why grading used correct versions of functions that pass."""
    functions = listed(f"`{name}`" for name in names)
    yours, versions = ("yours returns", "a correct") if len(names) == 1 else ("yours return", "correct versions of")
    return f"Grading used {versions} {functions}, because {yours} another cache than the docstring describes."
