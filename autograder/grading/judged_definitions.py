"""Find the cell whose function is judged: the cell that defines what the exercise's check cell sees.

Students may write an exercise in a cell that they added, or define its name again below the check to try something.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.authoring.syntax_tree import parsed
from autograder.course.handout import Handout
from autograder.grading.namespace import names_in
from autograder.grading.reading import Submission
from autograder.sandbox import Cell
from check.words import listed


@dataclass(frozen=True)
class Placed:
    """A cell to run. place: its position among the cells of the released notebook."""

    place: float
    cell: Cell


@dataclass(frozen=True)
class Judged:
    """The definition of an exercise that is judged.

    cell: id of the cell that defines the function. seen_by: index of the last cell that the check sees.
    later: ids of the cells that assign the name again afterwards.
    """

    cell: str
    seen_by: int
    later: tuple[str, ...]


def judged_cells(cells: Sequence[Placed], submission: Submission, released: Handout) -> dict[str, Judged]:
    """Return exercise -> its judged definition, for each exercise that the source of some cell defines.

    cells: in order, without notebook commands.
    """
    found = ((name, _judged(name, cells, submission, released)) for name in released.functions)
    return {name: judged for name, judged in found if judged}


def with_checks(cells: Sequence[Placed], judged: dict[str, Judged]) -> list[Cell]:
    """Return the cells to run, with a mark at the position of each exercise's check."""
    marks: dict[int, list[Cell]] = {}
    for name, about in judged.items():
        marks.setdefault(about.seen_by, []).append(Cell(f"check of {name}", "", checks=name))
    return [cell for i, placed in enumerate(cells) for cell in (placed.cell, *marks.get(i, ()))]


def later_notes(judged: dict[str, Judged]) -> list[str]:
    """Return a note on each exercise whose name a later cell assigns again."""
    return [
        f"`{name}` is judged as the cell {about.cell} defines it, because that is what its check sees. The value that "
        f"the cell {listed(about.later)} gives it afterwards does not count."
        for name, about in judged.items()
        if about.later
    ]


def _judged(name: str, cells: Sequence[Placed], submission: Submission, released: Handout) -> Judged | None:
    binding = [i for i, placed in enumerate(cells) if name in names_in(placed.cell.source).bound]
    stub = next((i for i in binding if cells[i].cell.id == name and _is_untouched(cells[i].cell, released)), -1)
    binding = [i for i in binding if i > stub]
    if not binding:
        return None
    own_checks = [i for i, placed in enumerate(cells) if placed.cell.own and _checks(placed.cell, name)]
    if name in submission.checked:
        seen_by = sum(placed.place < released.functions[name] for placed in cells) - 1
    else:
        seen_by = max(own_checks, default=next((i for i in binding if cells[i].cell.id == name), -1))
    if binding[0] > seen_by:  # the student wrote the function below the check
        functions = [i for i in binding if name not in names_in(cells[i].cell.source).variables]
        seen_by = max([i for i in own_checks if i >= binding[0]] or functions or binding)
    seen = [i for i in binding if i <= seen_by]
    return Judged(cells[seen[-1]].cell.id, seen_by, tuple(cells[i].cell.id for i in binding[len(seen) :]))


def _is_untouched(cell: Cell, released: Handout) -> bool:
    """Return whether an exercise's cell is still the stub, apart from comments."""
    stub = released.stub(cell.id)
    return cell.source == stub or ast.dump(parsed(cell.source)) == ast.dump(parsed(stub))


def _checks(cell: Cell, name: str) -> bool:
    return re.search(rf"\bcheck\(\s*{name}\s*\)", cell.source) is not None
