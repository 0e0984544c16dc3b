"""Remove from exceptions what could reveal hidden inputs. Their type, their line and the grader's own messages stay.

Student code writes any other message while it can see the inputs, and could put them into it.
"""

import builtins
import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from autograder.grading.cell_imports import imported_modules
from autograder.sandbox import Cell
from check.allowed_imports import refusal
from check.calling import Outcome
from check.words import NOBODY_THERE, not_defined

# Exceptions that NumPy raises and that have no public name.
_PRIVATE_NUMPY = frozenset(
    {
        "LinAlgError",
        "UFuncTypeError",
        "_UFuncBinaryResolutionError",
        "_UFuncInputCastingError",
        "_UFuncNoLoopError",
        "_UFuncOutputCastingError",
    }
)
_DEFINITION = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)


def redacted(outcome: Outcome, grader_messages: frozenset[str]) -> Outcome:
    """Return the outcome without an exception type that the student named, or a message that is not the grader's."""
    raised = outcome.raised
    if not raised:
        return outcome
    type_name = raised.type if _is_known(raised.type) else "an exception of your own"
    return replace(outcome, raised=replace(raised, type=type_name, quoted=raised.message in grader_messages))


def possible_grader_messages(cells: Iterable[Cell]) -> frozenset[str]:
    """Return the messages of the grader's own exceptions that these cells can cause, whatever their inputs are."""
    messages = {NOBODY_THERE}
    for cell in cells:
        messages |= {refusal(name) for name in imported_modules(cell.source)}
        messages |= {not_defined(cell.id, ()), not_defined(cell.id, _DEFINITION.findall(cell.source))}
    return frozenset(messages)


def _is_known(type_name: str) -> bool:
    """Return whether Python or NumPy has an exception of that name, so that no student has chosen the name."""
    known = getattr(builtins, type_name, None) or getattr(np.exceptions, type_name, None)
    return (isinstance(known, type) and issubclass(known, BaseException)) or type_name in _PRIVATE_NUMPY
