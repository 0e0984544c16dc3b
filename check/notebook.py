"""Set up a student's notebook: `check`, `what_is_left`, and a sentence in place of some tracebacks."""

from check.checking import check
from check.remaining import what_is_left
from check.waiting_cells import explain_waiting_cells

__all__ = ["check", "what_is_left"]

explain_waiting_cells()
