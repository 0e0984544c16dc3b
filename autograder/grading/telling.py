"""What of an exception may be told where inputs are hidden: its type, its line, and words that are our own.

Any other message is written by the student's code while it looks at those inputs, and could carry them away.
"""

import builtins
import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from autograder.grading.cell_imports import imported
from autograder.sandbox import Cell
from check.allowed_imports import refusal
from check.calling import Outcome
from check.words import NOBODY_THERE, not_defined

# As NumPy raises them; its modules give them no public name.
_NUMPYS_OWN = frozenset(
    {
        "LinAlgError",
        "UFuncTypeError",
        "_UFuncBinaryResolutionError",
        "_UFuncInputCastingError",
        "_UFuncNoLoopError",
        "_UFuncOutputCastingError",
    }
)
_DEFINED = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)


def fit_to_tell(outcome: Outcome, ours: frozenset[str]) -> Outcome:
    """The outcome; of an exception its type, if no student has named it, and its message, if it is ours."""
    raised = outcome.raised
    if not raised:
        return outcome
    known = raised.type if _is_known(raised.type) else "an exception of your own"
    return replace(outcome, raised=replace(raised, type=known, quoted=raised.message in ours))


def own_words(cells: Iterable[Cell]) -> frozenset[str]:
    """Our own messages that these cells can meet, whatever they are asked."""
    found = {NOBODY_THERE}
    for cell in cells:
        found |= {refusal(name) for name in imported(cell.source)}
        found |= {not_defined(cell.id, ()), not_defined(cell.id, _DEFINED.findall(cell.source))}
    return frozenset(found)


def _is_known(type_name):
    """Whether an exception of that name is Python's or NumPy's, and no class that a student has named."""
    found = getattr(builtins, type_name, None) or getattr(np.exceptions, type_name, None)
    return (isinstance(found, type) and issubclass(found, BaseException)) or type_name in _NUMPYS_OWN
