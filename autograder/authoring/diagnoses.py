"""What exercises that ask for a diagnosis share: cases in an unknown order, and wrong diagnoses made from right ones.

A diagnosis is a pair: the name of a bug, and what shows it first. Without a bug, the diagnosis is HEALTHY.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from autograder.authoring.exercise import Draw

NOTHING = "nothing"
HEALTHY = (NOTHING, None)

Diagnosis = tuple[str, Any]


def one_of_each(
    draw: Draw, noun: str, bugs: Sequence[str], inputs_with: Callable[[list[str]], Iterable[dict[str, Any]]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a case without a bug and one with each of the bugs, in an order and under names that do not reveal the bug.

    Args:
        draw: the aspect's.
        noun: what a case is called: "run" for "run 1", "run 2", and so on.
        bugs: names of bugs.
        inputs_with: takes a list of bugs that includes NOTHING, and returns the inputs of a case with each.
    """
    shuffled = draw.rng.permutation([NOTHING, *bugs]).tolist()
    for number, inputs in enumerate(inputs_with(shuffled), start=1):
        yield f"{noun} {number}", inputs


def renamed(diagnosis: Diagnosis, bugs: Collection[str], to: str) -> Diagnosis:
    """Return the diagnosis, but with the name `to` if it names one of the bugs."""
    bug, first = diagnosis
    return to if bug in bugs else bug, first


def overlooked(diagnosis: Diagnosis, bugs: Collection[str]) -> Diagnosis:
    """Return the diagnosis, or HEALTHY if it names one of the bugs."""
    return HEALTHY if diagnosis[0] in bugs else diagnosis
