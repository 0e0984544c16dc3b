"""Tell students what is wrong with their functions: `from check import check, hand_in, what_is_left`.

Students get the whole package. It needs only NumPy, and imports nothing else of this repository.

A message begins with the array that a student's function returned. `calling.py` calls the function on each case of
the answer key (`key.py`), and `faults.py` says what is wrong with each outcome, in the words of `comparing.py`.
`scoring.py` gives points. `causes.py` explains the faults: with a known mistake, whose message is the docstring of
its function (`matching.py`, `fingerprints.py`), with a simple relation to the right values (`relations/`), or with
one slip (`sketches.py`). `messages.py` writes text and HTML, and `checking.py` shows them in a notebook. In grading,
`pages/feedback.py` shows them.

Where an exercise asks for matrices, `measuring.py` compares what they do. Where it asks for a test, `tested.py` calls
the test, `harms/` changes the functions that it tries, and `verdicts_of_test.py` says what it accepts and rejects.
Where it asks for a prediction, `predictions.py` compares the orders. `waiting_cells.py` says which exercise a cell
waits for, `remaining.py` what is left to do, and `handing_in.py` packs trained weights into a notebook. `magics.py`
comments out the notebook commands of a cell. `__main__.py` says whether a student's computer is ready.
"""

import os
import sys
from typing import Any

# Before any other import, in syntax that every Python 3 can read: an older Python would stop at a syntax error instead.
if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(f"This course needs Python 3.11 or newer; this is {sys.version_info[0]}.{sys.version_info[1]}.")

__all__ = ["check", "hand_in", "what_is_left"]

GRADING = "CHECK_GRADING"  # environment variable that the grader sets where it runs a notebook


def __getattr__(name: str) -> Any:
    """Import the notebook's tools on first use, so that the grader and the sandbox can import the judge alone."""
    if name in __all__:
        if GRADING in os.environ:
            return _not_now
        from check import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'check' has no attribute {name!r}")


def _not_now(*_: object, **__: object) -> None:
    """Do nothing: the grader judges by itself, and the notebook that it runs has no answer keys."""
