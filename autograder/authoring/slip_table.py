"""What the judge says of small slips that nobody wrote down: where an author finds the next known mistake."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from autograder.authoring.exercise import Exercise
from autograder.authoring.make_key import key_of
from autograder.authoring.slips import slips
from check.calling import run
from check.explain import explain
from check.faults import of_cases
from check.judge import grade
from check.key import Key

KINDS = ("named", "related", "one slip", "told by its kind", "wrong values", "accepted")
UNNAMED = ("one slip", "wrong values")


@dataclass(frozen=True)
class SlipTable:
    """counted: each of KINDS that came up -> slips. unnamed: of each of UNNAMED, where they are in the source."""

    counted: Counter
    unnamed: dict[str, tuple[str, ...]]


def slip_table(exercise: Exercise, seed: int) -> SlipTable:
    """The slips in an exercise's reference, as the key of that seed tells them."""
    key = key_of(exercise, seed)
    told = [(slip, came_to(key, slip.function)) for slip in slips(exercise.reference, key.cases[0].inputs)]
    unnamed = {kind: tuple(slip.place for slip, came in told if came == kind) for kind in UNNAMED}
    return SlipTable(Counter(kind for _, kind in told), unnamed)


def came_to(key: Key, function: Callable) -> str:
    """Which of KINDS a changed function comes to."""
    outcomes = [run(function, case.inputs) for case in key.cases]
    result = grade(key, outcomes)
    if result.verdict is None:
        return "accepted"
    if result.mistakes:
        return "named"
    if result.verdict.kind not in ("value", "nan"):
        return "told by its kind"
    why = explain(key, outcomes, of_cases(key, outcomes))
    relation = why.relation if why else ""
    return "one slip" if "one slip" in relation else "related" if relation else "wrong values"
