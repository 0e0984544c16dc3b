"""Say what is unusual about a submission's cells: forbidden imports, exceptions, and text that is not Python."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from autograder.grading.assignment import Assignment
from autograder.grading.student_imports import imported_modules
from autograder.sandbox import Cell
from check.allowed_imports import is_allowed
from check.calling import Raised
from check.words import listed, quoted, shown

MAX_NOTES = 20  # notes about the cells, and notes from the sandbox

# Cell id -> None if the cell ran, the exception it raised, or in plain words why it was stopped.
Troubles = dict[str, None | Raised | str]
# Text that pasting, chats and version control leave behind in a cell.
_LEFT_BEHIND = {
    r"^(?:<{7}|={7}|>{7})": "a conflict marker of Git. Keep one of the two versions, and delete the marker lines",
    r"^\s*```": "a fence of a Markdown block. Delete the line",
    r"^\s*>>> ": "a prompt, `>>>`. Delete it",
    "[\u201c\u201d]": 'a curly quotation mark. Type a straight one, `"`',
    "[\u2018\u2019]": "a curly quotation mark. Type a straight one, `'`",
    "[\u00a0\u2007\u202f]": "a non-breaking space. Type an ordinary space",
    "[\u200b\u200c\u200d\u2060\ufeff]": "a character without width. Delete it",
    "[\u2212\u2013]": "a dash that Python does not read as a minus sign. Type `-`",
}


def import_note(cells: Iterable[Cell], assignment: Assignment) -> Iterator[str]:
    """Yield one sentence that names the forbidden imports, if there are any."""
    refused = [
        f"{name} (cell {cell.id})"
        for cell in cells
        if cell.id != "setup"
        for name in imported_modules(cell.source)
        if not (is_allowed(name) or name in _further_imports(cell, assignment))
    ]
    if refused:
        yield f"These imports are not allowed in this chapter and were ignored: {listed(refused)}."


def _further_imports(cell: Cell, assignment: Assignment) -> Iterable[str]:
    """Return the extra packages that a cell may import: those of its exercise, or else those of any exercise."""
    if cell.id in assignment.modules:
        return assignment.distributions(cell.id)
    return {name for exercise in assignment.modules for name in assignment.distributions(exercise)}


def cell_notes(cells: Iterable[Cell], troubles: Troubles, exercises: Mapping[str, str]) -> tuple[str, ...]:
    """Return notes on cells that raised an exception or were stopped, beginning with the cells of exercises."""
    sources = {cell.id: cell.source for cell in cells}
    notes = [
        (cell not in exercises, _cell_note(cell, trouble, sources.get(cell, "")))
        for cell, trouble in troubles.items()
        if trouble
    ]
    notes.sort(key=lambda item: item[0])
    return shortened([note for _, note in notes], "cells raised an exception or were stopped")


def shortened(notes: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the first MAX_NOTES notes, and a note on how many more there are. what: the end of that note."""
    rest = len(notes) - MAX_NOTES
    return (*notes[:MAX_NOTES], f"And {rest} more {what}.") if rest > 0 else tuple(notes)


def _cell_note(cell: str, trouble: Raised | str, source: str) -> str:
    if isinstance(trouble, str):
        return f"The cell {cell} {trouble}."
    where = f" ({shown(trouble.line)})" if trouble.line else ""
    raised = f"The cell {cell} raised {trouble.type}: {quoted(trouble.message)}{where}."
    return f"{raised} {left_behind(source)}".strip() if trouble.type == "SyntaxError" else raised


def left_behind(source: str) -> str:
    """Return a sentence about the first line of a cell that is not Python; "" if there is none."""
    for number, line in enumerate(source.split("\n"), start=1):
        for pattern, what in _LEFT_BEHIND.items():
            if re.search(pattern, line):
                return f"Its line {number} has {what}."
    return ""
