"""Read a submitted notebook without running it, and compare it with the released one.

The result is always a Submission, which says in plain words what is unusual about the file. The released notebook
decides which cells there are, their order, points and tags. Students decide only the sources of editable cells, and may
add cells. The only outputs that we read are handed-in weights.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.course.handout import Handout
from autograder.grading import notebook_file
from autograder.grading.handed_in_weights import weights_in
from autograder.grading.notebook_file import as_dict, as_list
from autograder.grading.recognising import Text, recognised
from autograder.grading.submitted_file import File
from check.weights_file import WEIGHTS
from check.words import count, listed, quoted, size

MAX_CELLS = 2_000
MAX_SOURCE = 100_000
LOST_METADATA = "Some cells have lost their metadata. They were recognised by their content."
MAX_TEXT = 1_000_000  # characters of all cells together; a whole chapter has a tenth of them


@dataclass(frozen=True)
class OwnCell:
    """A cell that the student added.

    kind: "code" or "markdown". after: position of the released cell that it follows; -1 if it comes first.
    """

    kind: str
    source: str
    after: int


@dataclass(frozen=True)
class Submission:
    """The parts of a submitted notebook that count.

    answers: grade id -> source, for the editable cells in the file.
    own: the cells that the student added, in order.
    checked: the exercises whose check cells are in the file.
    notes: what is unusual, in plain words.
    trouble: why the notebook could not be read; "" if it could.
    weights: the file of weights in its outputs, or the reason why there is none.
    """

    answers: dict[str, str] = field(default_factory=dict)
    own: tuple[OwnCell, ...] = ()
    checked: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    trouble: str = ""
    weights: File = File()


@dataclass(frozen=True)
class _Cell:
    """A submitted cell. position: that of the same released cell; None if the student added this one."""

    kind: str
    source: str
    position: int | None
    metadata: dict[str, Any]


def read_submission(file: File, released: Handout) -> Submission:
    """Return the parts of a submitted file that count. Never raises an exception, whatever the file contains."""
    if file.trouble:
        return Submission(trouble=file.trouble)
    try:
        notebook, items = notebook_file.parse(file.raw)
    except notebook_file.NotANotebook as error:
        return Submission(trouble=str(error))
    cells = [cell for cell in (_cell(item, released) for item in items[:MAX_CELLS]) if cell]
    found = recognised([Text(cell.kind, cell.source, cell.position) for cell in cells], released)
    cells = [replace(cell, position=found.get(i, cell.position)) for i, cell in enumerate(cells)]
    if sum(len(cell.source) for cell in cells) > MAX_TEXT:
        too_much = f"The cells hold more than {size(MAX_TEXT)} of text and code"
        return Submission(trouble=f"{too_much}: keep only your work, and hand the notebook in again.")
    if other := released.other_chapter_with(_grade_ids(items)):
        return Submission(trouble=f"This is the notebook of {other}: hand in the notebook of {released.chapter}.")
    answers, answer_notes = _answers(cells, released)
    notes = (
        *notebook_file.notes(file.raw, notebook, released.kernel),
        *_cell_list_notes(items, cells),
        *([LOST_METADATA] if found else []),
        *_position_notes(cells, released),
        *answer_notes,
        *_locked_notes(cells, released),
    )
    weights = weights_in(items) if WEIGHTS in released.graded else File()
    positions = {cell.position for cell in cells}
    checked = frozenset(name for name, position in released.functions.items() if position in positions)
    return Submission(answers, tuple(_own_cells(cells, released)), checked, notes, weights=weights)


def grade_ids(file: File) -> set[str]:
    """Return the grade ids in a submitted file, or cell ids if a tool lost the metadata; none if it is unreadable."""
    try:
        return _grade_ids(notebook_file.parse(file.raw)[1])
    except notebook_file.NotANotebook:
        return set()


def _cell(item: Any, released: Handout) -> _Cell | None:
    """Return a cell from its JSON, or None if it is malformed."""
    item = as_dict(item)
    kind, source = item.get("cell_type"), item.get("source", item.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if kind == "heading":
        kind = "markdown"
    if not isinstance(source, str) or kind not in ("code", "markdown", "raw") or len(source) > MAX_SOURCE:
        return None
    source = source.replace("\r\n", "\n").encode("utf-8", "replace").decode()
    metadata = as_dict(item.get("metadata"))
    return _Cell(kind, source, released.position(_grade_id(item), item.get("id")), metadata)


def _grade_id(item: Any) -> Any:
    return as_dict(as_dict(as_dict(item).get("metadata")).get("nbgrader")).get("grade_id")


def _grade_ids(items: Sequence[Any]) -> set[str]:
    """Return the ids by which `Handout.position` identifies cells."""
    ids = ((_grade_id(item), as_dict(item).get("id")) for item in items)
    return {grade_id if isinstance(grade_id, str) else str(cell_id) for grade_id, cell_id in ids}


def _cell_list_notes(items: Sequence[Any], cells: Sequence[_Cell]) -> Iterator[str]:
    if len(items) > MAX_CELLS:
        yield f"The notebook has {len(items)} cells; the first {MAX_CELLS} were read."
    if malformed := min(len(items), MAX_CELLS) - len(cells):
        yield f"{count(malformed, 'cell')} could not be read (malformed, or more than {MAX_SOURCE} characters long)."


def _position_notes(cells: Sequence[_Cell], released: Handout) -> Iterator[str]:
    positions = [cell.position for cell in cells if cell.position is not None]
    missing = [position for position in released.nbgrader_cells if position not in positions]
    if missing and not positions:
        yield f"No cell of {released.chapter} was found in this notebook."
    elif missing:
        graded = [released.title(position) for position in missing if released.affects_grading(position)]
        if graded:
            yield f"Missing, and restored as released: {listed(graded)}."
        if rest := len(missing) - len(graded):
            yield f"{count(rest, 'cell')} of the chapter's text and demonstrations went missing."
    first = list(dict.fromkeys(positions))
    if first != sorted(first):
        yield "The order of the cells is not that of the chapter; they were graded in the chapter's order."


def _answers(cells: Sequence[_Cell], released: Handout) -> tuple[dict[str, str], list[str]]:
    """Return grade id -> source of each editable cell, and notes on copies and changed types of cells."""
    answers, notes = {}, []
    for position in released.editable:
        copies = [cell for cell in cells if cell.position == position]
        edited = [cell for cell in copies if _edited(cell, released.source(position))]
        if not copies:
            continue
        counted = (edited or copies)[-1]
        answers[released.grade_id(position)] = counted.source
        if len(copies) > 1:
            which = "the last one that was edited" if edited else "the last one"
            notes.append(f"There are {len(copies)} copies of {released.title(position)}: {which} counts.")
        if counted.kind != released.kind(position):
            notes.append(
                f"{released.title(position).capitalize()} had become a {counted.kind} cell; "
                f"it was read as {released.kind(position)}."
            )
    return answers, notes


def _own_cells(cells: Sequence[_Cell], released: Handout) -> Iterator[OwnCell]:
    """Yield the cells that the student added. Edited copies of an exercise cell, except the last, count as added."""
    after = -1
    for i, cell in enumerate(cells):
        if cell.position is None:
            if cell.source.strip() and cell.kind != "raw":
                yield OwnCell(cell.kind, cell.source, after)
            continue
        after = max(after, cell.position)
        stub = released.source(cell.position)
        later_copies = (other for other in cells[i + 1 :] if other.position == cell.position)
        if cell.position in released.editable and _edited(cell, stub) and any(_edited(c, stub) for c in later_copies):
            yield OwnCell(released.kind(cell.position), cell.source, cell.position - 1)


def _edited(cell: _Cell, released_source: str) -> bool:
    return cell.source.strip() != released_source.strip()


def _locked_notes(cells: Sequence[_Cell], released: Handout) -> Iterator[str]:
    known = [(cell, cell.position) for cell in cells if cell.position is not None]
    locked = [(cell, position) for cell, position in known if position not in released.editable]
    edited = {p for cell, p in locked if _edited(cell, released.source(p)) or cell.kind != released.kind(p)}
    if titles := [released.title(position) for position in sorted(edited) if released.affects_grading(position)]:
        yield f"Edited, and restored as released: {listed(titles)}."
    if changed := [position for cell, position in known if _points_changed(cell, released.points(position))]:
        yield f"The points of {listed(map(released.title, changed))} were changed; the released points count."
    tags = {str(tag) for cell in cells for tag in as_list(cell.metadata.get("tags"))} - released.tags
    if tags:
        yield f"Tags on cells have no effect on grading: {listed(quoted(tag) for tag in sorted(tags))} ignored."


def _points_changed(cell: _Cell, released_points: float | None) -> bool:
    return as_dict(cell.metadata.get("nbgrader")).get("points", released_points) != released_points
