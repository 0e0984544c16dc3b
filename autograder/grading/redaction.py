"""Remove from outcomes everything that could reveal hidden inputs, because student code sees these inputs.

Exceptions keep their type, their line and the grader's own messages. Values keep their type if it is a well-known one.
"""

import builtins
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.grading.misspelled import suggestion
from autograder.grading.student_imports import imported_modules
from autograder.sandbox import Cell
from check import tested
from check.allowed_imports import refusal
from check.calling import Outcome
from check.trees import mapped
from check.values import Foreign
from check.words import NO_INPUT, not_defined

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
# Types that wrong answers often have, besides the built-in types.
_KNOWN_TYPES = frozenset(
    {
        *("function", "method", "generator", "module", "builtin_function_or_method", "dict_keys", "dict_values"),
        *("torch.Tensor", "torch.nn.parameter.Parameter", "numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"),
        *("numpy.matrix", "numpy.matrixlib.defmatrix.matrix", "fractions.Fraction", "decimal.Decimal"),
        *(f"NumPy array of {dtype}" for dtype in ("object", "complex64", "complex128", "complex256", "float128")),
        *("int of more than 64 bits", "list of very many items", "tuple of very many items"),
        *("value nested very deeply", "value too large to look at"),
    }
)
_DEFINITION = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)


def redacted(outcome: Outcome, grader_messages: frozenset[str], names: frozenset[str]) -> Outcome:
    """Return the outcome without types that the student named and without messages that are not the grader's.

    Sentences about the outcome must not quote its value either. The line gets a suggestion for a misspelled name.

    Args:
        outcome: the outcome of one call.
        grader_messages: the messages that students may see.
        names: the names that the submission defines.
    """
    raised = outcome.raised
    if not raised:
        return replace(outcome, value=mapped(_with_known_type, outcome.value), quoted=False)
    type_name = raised.type if _is_known(raised.type) else "an exception of your own"
    line = raised.line + suggestion(raised, names)
    quoted = raised.message in grader_messages
    return replace(outcome, raised=replace(raised, type=type_name, line=line, quoted=quoted))


def possible_grader_messages(cells: Iterable[Cell]) -> frozenset[str]:
    """Return the messages of our own exceptions that these cells can cause, whatever their inputs are."""
    too_large = map(tested.too_large, (tested.MAX_AXIS, *tested.SHORTER_AXES.values()))
    messages = {NO_INPUT, tested.TOO_MANY_CALLS, tested.TOO_MANY_ENTRIES, *too_large, tested.UNSUITABLE}
    for cell in cells:
        messages.add(tested.out_of_reach(cell.id))
        messages |= {refusal(name) for name in imported_modules(cell.source)}
        messages |= {not_defined(cell.id, ()), not_defined(cell.id, _DEFINITION.findall(cell.source))}
    return frozenset(messages)


def _with_known_type(value: Any) -> Any:
    """Return the value, or a neutral one if its type is not well known."""
    if not isinstance(value, Foreign) or value.type_name in _KNOWN_TYPES:
        return value
    return value if isinstance(getattr(builtins, value.type_name, None), type) else Foreign("value of another type")


def _is_known(type_name: str) -> bool:
    """Return whether Python or NumPy has an exception of this name. Otherwise a student may have chosen the name."""
    known = getattr(builtins, type_name, None) or getattr(np.exceptions, type_name, None)
    return (isinstance(known, type) and issubclass(known, BaseException)) or type_name in _PRIVATE_NUMPY
