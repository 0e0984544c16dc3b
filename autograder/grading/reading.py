"""Read a submitted notebook: parse it, never run it, and hold it against the released one.

Whatever is in the file, `read_submission` returns a Submission, which says in plain words what was odd. The released
notebook is the truth about cells, their order, points and tags; from the student come only the sources of the cells
they may edit, and cells of their own.
"""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from autograder.course.handout import Handout
from autograder.grading.submitted_file import CLEAR, File
from check.words import count, listed, quoted, size

LARGE_BYTES = 20_000_000
MAX_VALUES = 3_000_000  # a few bytes of JSON become a hundred in memory
MAX_CELLS = 2_000
MAX_SOURCE = 100_000
MAX_TEXT = 1_000_000  # of all cells; a whole chapter has a tenth of it
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")


@dataclass(frozen=True)
class OwnCell:
    """A cell the student added: "code" or "markdown", after which cell of the released notebook (-1: before all)."""

    kind: str
    source: str
    after: int


@dataclass(frozen=True)
class Submission:
    """What counts of a submitted notebook.

    answers: grade id -> source, for the cells students may edit that were found.
    own: the student's own cells, in their order.
    notes: what was odd, in plain words. trouble: why nothing could be read; empty if something could.
    """

    answers: dict[str, str] = field(default_factory=dict)
    own: tuple[OwnCell, ...] = ()
    notes: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True)
class _Cell:
    """A cell as it was handed in; position is its place in the released notebook, None for the student's own."""

    kind: str
    source: str
    position: int | None
    metadata: dict


def read_submission(file: File, released: Handout) -> Submission:
    """What counts of a submitted file. Never raises, whatever the file holds."""
    if file.trouble:
        return Submission(trouble=file.trouble)
    if _too_many_values(file.raw):
        return Submission(trouble=f"The file holds {MAX_VALUES} values and more, nearly all of it output. {CLEAR}")
    try:
        notebook = _parsed(file.raw)
    except (ValueError, RecursionError) as error:
        return Submission(trouble=_not_json(file.raw, error))
    cells = _cell_list(notebook)
    if cells is None:
        return Submission(trouble="The file is readable, but it is not a notebook: it holds no list of cells.")
    found = [cell for cell in (_cell(item, released) for item in cells[:MAX_CELLS]) if cell]
    if sum(len(cell.source) for cell in found) > MAX_TEXT:
        return Submission(trouble=f"The cells hold more than {size(MAX_TEXT)} of text and code: hand in what counts.")
    if other := released.whose(_grade_ids(cells)):
        return Submission(trouble=f"This is the notebook of {other}; the one of {released.chapter} is asked for.")
    answers, answer_notes = _answers(found, released)
    notes = (
        *_file_notes(file.raw, notebook, released),
        *_cell_list_notes(cells, found),
        *_place_notes(found, released),
        *answer_notes,
        *_locked_notes(found, released),
    )
    return Submission(answers, tuple(_own_cells(found, released)), notes)


def grade_ids(file: File) -> set[str]:
    """The grade ids in a submitted file, cell ids where a tool lost the metadata; none if it cannot be read."""
    if _too_many_values(file.raw):
        return set()
    try:
        return _grade_ids(_cell_list(_parsed(file.raw)) or [])
    except (ValueError, RecursionError):
        return set()


# ------------------------------------------------------------------------------------------- the file


def _too_many_values(raw):
    return sum(map(raw.count, (b",", b"[", b"{"))) > MAX_VALUES


def _parsed(raw):
    """JSON's values. Raises ValueError, RecursionError.

    Python keeps a text in one, two or four bytes a character, whatever its widest one needs: a single emoji would make
    a large file four times as large. So in a large file all that is not ASCII is written as JSON's escapes first.
    """
    if len(raw) > LARGE_BYTES and json.detect_encoding(raw).startswith("utf-8"):
        raw = _BEYOND_ASCII.sub(_escaped, raw.removeprefix(codecs.BOM_UTF8)).decode("ascii")
    return json.loads(raw)


def _escaped(match):
    return json.dumps(match[0].decode("utf-8", "surrogatepass"))[1:-1].encode("ascii")


def _not_json(raw, error):
    if isinstance(error, json.JSONDecodeError):
        # Only brackets or a string still open at the very end make a file that was cut off.
        if raw.lstrip(b"\xef\xbb\xbf").lstrip()[:1] == b"{" and (
            error.pos >= len(error.doc.rstrip()) - 1 or error.msg.startswith("Unterminated string")
        ):
            return "The file ends in the middle: it was cut off while it was saved or sent."
        return f"The file is not a notebook: what stands in line {error.lineno} is not JSON."
    return "The file is not a notebook: it is no readable JSON."


def _cell_list(notebook):
    """The cells of a notebook of format 4, or 3; None if it is no notebook."""
    if not isinstance(notebook, dict):
        return None
    if isinstance(sheets := notebook.get("worksheets"), list):
        return [cell for sheet in sheets if isinstance(sheet, dict) for cell in _list(sheet.get("cells"))]
    cells = notebook.get("cells")
    return cells if isinstance(cells, list) else None


def _file_notes(raw, notebook, released) -> Iterator[str]:
    if len(raw) > LARGE_BYTES and json.detect_encoding(raw).startswith("utf-8"):
        yield f"The file is {size(len(raw))} large, nearly all of it output. Clear the outputs before you hand in."
    if raw.startswith(b"\xef\xbb\xbf"):
        yield "The file starts with a byte-order mark, which was ignored."
    if b"\r\n" in raw[:MAX_SOURCE] or rb"\r\n" in raw[:MAX_SOURCE]:
        yield "The file has Windows line ends, which were converted."
    if "worksheets" in notebook:
        yield "The file is a notebook of the old format 3; it was converted."
    kernel = _dict(_dict(notebook.get("metadata")).get("kernelspec")).get("name", released.kernel)
    if kernel != released.kernel:
        yield f"The notebook asks for the kernel {quoted(kernel)}; it was graded with {released.kernel}."


def _list(value):
    return value if isinstance(value, list) else []


def _dict(value):
    return value if isinstance(value, dict) else {}


# ------------------------------------------------------------------------------------------ its cells


def _cell(item, released):
    """A cell with what is needed of it, or None if it is malformed."""
    item = _dict(item)
    kind, source = item.get("cell_type"), item.get("source", item.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if kind == "heading":
        kind = "markdown"
    if not isinstance(source, str) or kind not in ("code", "markdown", "raw") or len(source) > MAX_SOURCE:
        return None
    source = source.replace("\r\n", "\n").encode("utf-8", "replace").decode()
    metadata = _dict(item.get("metadata"))
    grade_id = _dict(metadata.get("nbgrader")).get("grade_id")
    return _Cell(kind, source, released.position(grade_id, item.get("id")), metadata)


def _grade_ids(cells):
    """What tells whose cells these are, as `Handout.position` finds it."""
    ids = ((_dict(_dict(_dict(c).get("metadata")).get("nbgrader")).get("grade_id"), _dict(c).get("id")) for c in cells)
    return {grade_id if isinstance(grade_id, str) else str(cell_id) for grade_id, cell_id in ids}


def _cell_list_notes(cells, found) -> Iterator[str]:
    if len(cells) > MAX_CELLS:
        yield f"The notebook has {len(cells)} cells; the first {MAX_CELLS} were read."
    if malformed := min(len(cells), MAX_CELLS) - len(found):
        yield f"{count(malformed, 'cell')} could not be read (malformed, or more than {MAX_SOURCE} characters long)."


def _place_notes(found, released) -> Iterator[str]:
    places = [cell.position for cell in found if cell.position is not None]
    missing = [place for place in released.known if place not in places]
    if missing and not places:
        yield f"No cell of {released.chapter} was found in this notebook."
    elif missing:
        named = [released.title(place) for place in missing if released.matters(place)]
        if named:
            yield f"Missing and put back as released: {listed(named)}."
        if rest := len(missing) - len(named):
            yield f"{count(rest, 'cell')} of the chapter's text and demonstrations went missing."
    first = list(dict.fromkeys(places))
    if first != sorted(first):
        yield "The cells stand in another order than in the chapter; they were graded in the chapter's order."


def _answers(found, released):
    """The source that counts for each cell students may edit, and notes on doubled and retyped ones."""
    answers, notes = {}, []
    for place in released.editable:
        copies = [cell for cell in found if cell.position == place]
        edited = [cell for cell in copies if _edited(cell, released)]
        if not copies:
            continue
        counts = (edited or copies)[-1]
        answers[released.grade_id(place)] = counts.source
        if len(copies) > 1:
            which = "the last one that was edited" if edited else "the last one"
            notes.append(f"There are {len(copies)} copies of {released.title(place)}: {which} counts.")
        if counts.kind != released.kind(place):
            notes.append(
                f"{released.title(place).capitalize()} had become a {counts.kind} cell; "
                f"it was read as {released.kind(place)}."
            )
    return answers, notes


def _own_cells(found, released):
    """The student's own cells; of several edited copies of an exercise cell, all but the last are own cells too."""
    after = -1
    for i, cell in enumerate(found):
        if cell.position is None:
            if cell.source.strip() and cell.kind != "raw":
                yield OwnCell(cell.kind, cell.source, after)
            continue
        after = max(after, cell.position)
        later = (c for c in found[i + 1 :] if c.position == cell.position)
        if cell.position in released.editable and _edited(cell, released) and any(_edited(c, released) for c in later):
            yield OwnCell(released.kind(cell.position), cell.source, cell.position - 1)


def _edited(cell, released):
    return cell.source.strip() != released.source(cell.position).strip()


def _points(cell, released):
    return _dict(cell.metadata.get("nbgrader")).get("points", released.points(cell.position))


def _locked_notes(found, released) -> Iterator[str]:
    known = [cell for cell in found if cell.position is not None]
    locked = [cell for cell in known if cell.position not in released.editable]
    edited = {c.position for c in locked if _edited(c, released) or c.kind != released.kind(c.position)}
    if named := [released.title(place) for place in sorted(edited) if released.matters(place)]:
        yield f"Edited, and restored as released: {listed(named)}."
    points = [c.position for c in known if _points(c, released) != released.points(c.position)]
    if points:
        yield f"The points written into {listed(map(released.title, points))} were changed, which changes nothing."
    tags = {str(tag) for cell in found for tag in _list(cell.metadata.get("tags"))} - released.tags
    if tags:
        yield f"Tags on cells have no effect on grading: {listed(quoted(tag) for tag in sorted(tags))} ignored."
