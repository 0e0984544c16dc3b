"""Count how the judge explains small slips in a reference, so that authors find mistakes that are not known yet."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from autograder.authoring.exercise import Exercise
from autograder.authoring.make_key import full_key
from autograder.authoring.slips import slips
from check.causes import explain
from check.key import Key
from check.measuring import outcomes_of
from check.scoring import faults_of_cases, grade
from check.verdicts_of_test import bound_key

# How the judge explains a slip: with a known mistake, a relation to the right values, one slip, a fault of a different
# kind (a shape, a dtype, an exception), or only as wrong values. It accepts a slip that changes nothing visible.
KINDS = ("named", "related", "one slip", "other fault", "wrong values", "accepted")
UNNAMED_KINDS = ("one slip", "wrong values")


@dataclass(frozen=True)
class SlipTable:
    """The slips in an exercise's reference.

    counts: kind -> the number of slips of this kind. unnamed: each of UNNAMED_KINDS -> the changes in the source.
    """

    counts: Counter[str]
    unnamed: dict[str, tuple[str, ...]]


def slip_table(exercise: Exercise, seed: int) -> SlipTable:
    """Return the slips in an exercise's reference, explained with the key of this seed."""
    key = bound_key(full_key(exercise, seed), exercise.tested_functions)
    all_slips = slips(exercise.reference, key.cases[0].inputs)
    changes = [(slip.change, kind_of_slip(key, slip.function)) for slip in all_slips]
    unnamed = {wanted: tuple(change for change, kind in changes if kind == wanted) for wanted in UNNAMED_KINDS}
    return SlipTable(Counter(kind for _, kind in changes), unnamed)


def kind_of_slip(key: Key, function: Callable) -> str:
    """Return which of KINDS a function with a slip is."""
    outcomes = outcomes_of(function, key)
    result = grade(key, outcomes)
    if result.verdict is None:
        return "accepted"
    if result.mistakes:
        return "named"
    if result.verdict.kind not in ("value", "nan"):
        return "other fault"
    explanation = explain(key, outcomes, faults_of_cases(key, outcomes))
    relation = explanation.relation if explanation else ""
    return "one slip" if "one slip" in relation else "related" if relation else "wrong values"
