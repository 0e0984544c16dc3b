"""Find caches of another form than the docstring says.

A cache is not judged, so a function that returns another one passes. But the right functions that take this cache fail.
"""

from collections.abc import Sequence

from autograder.authoring.exercise import Exercise
from autograder.grading.questions import Judgement
from check.comparing import difference
from check.key import UNJUDGED
from check.words import listed


def returns_another_cache(exercise: Exercise, judgement: Judgement) -> bool:
    """Return whether an exercise that passes returns another cache than the reference, on its smallest case."""
    caches = [i for i, axes in enumerate(exercise.outputs.values()) if axes == UNJUDGED]
    answered = zip(judgement.key.cases, judgement.outcomes, strict=True)
    with_values = [(case, outcome) for case, outcome in answered if not (outcome.raised or case.expected.raised)]
    if not caches or not with_values or not judgement.passed:
        return False
    case, outcome = min(with_values, key=lambda pair: pair[0].size)
    expected = exercise.outcome(exercise.reference, case.inputs).value
    tolerance = max(judgement.key.tolerance, case.rounding)
    return any(difference(expected[i], outcome.value[i], "cache", tolerance=tolerance) for i in caches)


def sentence_about_caches(names: Sequence[str]) -> str:
    """Return why grading used correct versions of functions that pass."""
    functions = listed(f"`{name}`" for name in names)
    yours, versions = ("yours returns", "a correct") if len(names) == 1 else ("yours return", "correct versions of")
    return f"Grading used {versions} {functions}, because {yours} another cache than the docstring describes."
