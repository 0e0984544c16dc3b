"""Make the outcomes that a key stores: those of the reference, and those of the known mistakes, one after another."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from autograder.authoring.exercise import Exercise
from autograder.authoring.rounding import DistinctArrays
from check.calling import Outcome, Raised
from check.key import UNJUDGED, Case
from check.measuring import measured
from check.values import pack, unpack
from check.verdicts_of_test import rejection


class LazyMistakes(Mapping[str, Outcome]):
    """The outcomes of the known mistakes on one case, by slug, in the exercise's order.

    A mistake is run when its outcome is first needed. The mistakes before it are run first, because an array that
    differs only by rounding from one of theirs is replaced by that one. Most wrong answers are recognised before all
    mistakes have been run.
    """

    def __init__(self, exercise: Exercise, case: Case) -> None:
        """case: with the expected outcome."""
        self._exercise, self._case = exercise, case
        self._remaining = iter(exercise.mistakes.items())
        self._outcomes: dict[str, Outcome] = {}
        self._arrays = DistinctArrays()

    def __getitem__(self, slug: str) -> Outcome:
        if slug not in self._exercise.mistakes:
            raise KeyError(slug)
        if not self._outcomes:
            self._without_rounding(self._case.expected)
        while slug not in self._outcomes:
            other, (_, wrong) = next(self._remaining)
            self._outcomes[other] = with_mark_only(self._without_rounding(self._outcome(wrong)))
        return self._outcomes[slug]

    def __iter__(self) -> Iterator[str]:
        return iter(self._exercise.mistakes)

    def __len__(self) -> int:
        return len(self._exercise.mistakes)

    def _outcome(self, wrong: Callable) -> Outcome:
        outcome = stored_outcome(self._exercise, wrong, self._case)
        return rejection(self._case.expected, outcome) if self._exercise.tests else outcome

    def _without_rounding(self, outcome: Outcome) -> Outcome:
        tree, arrays = pack(outcome.value)
        return replace(
            outcome, value=unpack(tree, [self._arrays.representative(i, array) for i, array in enumerate(arrays)])
        )


def stored_outcome(exercise: Exercise, function: Callable, case: Case) -> Outcome:
    """Return the outcome of one of our functions on a case, as a key stores it."""
    if exercise.tests:
        return _outcome_of_test(exercise, function, tuple(case.inputs.items()))
    return _judged_part(exercise, measured(exercise.measure, case, exercise.outcome(function, case.inputs)))


@cache
def _outcome_of_test(exercise: Exercise, test: Callable, inputs: tuple[tuple[str, Any], ...]) -> Outcome:
    """Run one of our tests. The tests of all submissions are tried on the same functions, only in different orders.

    inputs: (name, function under test) of each input.
    """
    return exercise.outcome(test, dict(inputs))


def with_mark_only(outcome: Outcome) -> Outcome:
    """Return the outcome with the mark of an exception instead of its message and line, which a key must not show."""
    raised = outcome.raised
    return replace(outcome, raised=Raised(raised.type, raised.mark)) if raised else outcome


def _judged_part(exercise: Exercise, outcome: Outcome) -> Outcome:
    """The outcome with None for every output that is not judged. Caches are large, and keys do not need them."""
    axes, value = exercise.outputs.values(), outcome.value
    if UNJUDGED not in axes or not isinstance(value, tuple | list) or len(value) != len(axes):
        return outcome
    parts = (None if output_axes == UNJUDGED else part for output_axes, part in zip(axes, value, strict=True))
    return replace(outcome, value=type(value)(parts))
