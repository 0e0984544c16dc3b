"""Set up a student's notebook: `check`, `hand_in`, `what_is_left`, and a sentence instead of some tracebacks."""

from check.checking import check
from check.handing_in import hand_in
from check.remaining import what_is_left
from check.waiting_cells import explain_waiting_cells

__all__ = ["check", "hand_in", "what_is_left"]

explain_waiting_cells()
