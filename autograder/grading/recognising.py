"""Recognise released cells after a tool has lost their metadata and ids: by their text or by what they define.

VS Code, Kaggle and tools that strip notebooks may keep only the source of a cell.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from autograder.course.handout import Handout
from autograder.grading.namespace import names_in
from check.magics import without_magics


class Text(NamedTuple):
    """The text of a submitted cell. position: that of the same cell in the released notebook, if its ids say so."""

    kind: str
    source: str
    position: int | None


def recognised(cells: Sequence[Text], released: Handout) -> Mapping[int, int]:
    """Return the index of a cell without a position -> the position of the released cell that it must be.

    A cell with the source of a released cell is that cell. Among the other code cells, the cell of an exercise is the
    last one before its check that defines the exercise, or else the first one that does. A text cell is recognised
    if it follows the same cell as in the release.
    """
    if all(cell.position is not None for cell in cells):
        return {}
    found = _with_released_source(cells, released)
    places = [found.get(i, cell.position) for i, cell in enumerate(cells)]
    for position in released.editable:
        if position in places:
            continue
        if released.kind(position) == "code":
            candidates = _defining(released.grade_id(position), cells, places)
            check = released.functions.get(released.grade_id(position))
            before = [i for i in candidates if i < places.index(check)] if check in places else []
            candidates = before[-1:] or candidates[:1]
        else:
            after = places.index(position - 1) + 1 if position - 1 in places else len(places)
            candidates = [i for i in range(after, min(after + 1, len(places))) if _is_own(cells, places, i, "markdown")]
        for i in candidates:
            found[i] = places[i] = position
    return found


def _with_released_source(cells: Sequence[Text], released: Handout) -> dict[int, int]:
    """Return index -> position, for cells with the source of a released cell that no id names."""
    known = {cell.position for cell in cells}
    positions: dict[tuple[str, str], list[int]] = {}
    for position in released.nbgrader_cells:
        if position not in known:
            positions.setdefault((released.kind(position), _spaced(released.source(position))), []).append(position)
    found = {}
    for i, cell in enumerate(cells):
        same = positions.get((cell.kind, _spaced(cell.source)))
        if cell.position is None and same:
            found[i] = same.pop(0)
    return found


def _defining(name: str, cells: Sequence[Text], places: Sequence[int | None]) -> list[int]:
    return [
        i
        for i, cell in enumerate(cells)
        if _is_own(cells, places, i, "code") and name in names_in(without_magics(cell.source)[0]).bound
    ]


def _is_own(cells: Sequence[Text], places: Sequence[int | None], i: int, kind: str) -> bool:
    return places[i] is None and cells[i].kind == kind


def _spaced(source: str) -> str:
    """Return a source without white space at the ends of its lines and of the cell, which tools change."""
    return "\n".join(line.rstrip() for line in source.strip().split("\n"))
