"""Apply one of the changes, by its name, to a student's function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from check.harms.any_function import ANY_CHANGES, ANY_HARMS
from check.harms.drafts import DRAFT_CHANGES, DRAFT_HARMS
from check.harms.layers import LAYER_HARMS
from check.harms.look_ups import LOOK_UP_HARMS
from check.harms.steps import STEP_HARMS
from check.tested import FunctionUnderTest

# Name -> what the function then does, in words in which {0} is its first parameter, and the change.
HARMS = ANY_HARMS | DRAFT_HARMS | LAYER_HARMS | LOOK_UP_HARMS | STEP_HARMS
HARMLESS = ANY_CHANGES | DRAFT_CHANGES
UNHARMED = ""


@dataclass(frozen=True)
class Harmed:
    """The student's own function of an exercise with a change, as an input of a public case.

    harm: a name in HARMS or HARMLESS, or UNHARMED.
    """

    exercise: str
    harm: str


def bound(inputs: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Replace each `Harmed` among inputs by a function under test. own: the student's functions by name."""
    return {
        name: FunctionUnderTest(value.exercise, harmed(own[value.exercise], value.harm))
        if isinstance(value, Harmed)
        else value
        for name, value in inputs.items()
    }


def harmed(function: Callable, harm: str) -> Callable:
    """Return a function with a change. Raises KeyError if there is no harm or harmless change of that name."""
    if harm == UNHARMED:
        return function
    _, do = (HARMS | HARMLESS)[harm]

    def changed(*args: Any, **kwargs: Any) -> Any:
        call = signature(function).bind(*args, **kwargs)  # the same call, with as few keywords as possible
        return do(function, *call.args, **call.kwargs)

    return changed


def words(harm: str, parameters: Sequence[str]) -> str:
    """What a function with these parameters and this harm does, to follow the words "a function that"."""
    return HARMS[harm][0].format(*parameters)


def harmless_words(change: str) -> str:
    """What a harmless change does, to follow the function's name and a comma."""
    return HARMLESS[change][0]
