"""Check one notebook as grading would, but with the public keys and without storing a score."""

import json
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.make_key import PUBLIC_SEED
from autograder.course.handout import released_notebooks, unique_ids
from autograder.errors import UserError
from autograder.grading import reading, worker
from autograder.grading.assignment import open_assignment
from autograder.grading.report import Report
from autograder.grading.submitted_file import File, read_file


class UnknownNotebook(UserError):
    """A file belongs to no released chapter. The message says so."""


@dataclass(frozen=True)
class Checked:
    """A checked notebook.

    chapter: the chapter that it belongs to. report: what `check` says about each exercise, and notes on the file.
    """

    chapter: str
    report: Report


def submit_check(path: Path, course: Path, sandbox: str = "bwrap") -> Checked:
    """Read and run one notebook as grading does, and judge it with the public keys.

    Raises:
        UnknownNotebook: it belongs to no chapter that the course has released.
        UserError: the file does not exist.
        SandboxUnavailable: there is no sandbox to run it in.
        MachineTooBusy: a sandbox did not start in time; a second try may succeed.
    """
    if not path.exists():
        raise UserError(f"there is no file {path}")
    file = read_file(path)
    chapter = _chapter(file, path, course)
    assignment = open_assignment(course, chapter, PUBLIC_SEED, sandbox, hidden=False)
    seeds = dict.fromkeys(assignment.released.graded, PUBLIC_SEED)
    return Checked(chapter, Report.from_json(worker.grade_file(file, seeds, assignment, alone=True)))


def _chapter(file: File, path: Path, course: Path) -> str:
    """Return the released chapter to which a file belongs, according to its cells or else to its name."""
    released = {notebook.stem: notebook for notebook in released_notebooks(course)}
    ids = reading.grade_ids(file)
    for chapter, notebook in released.items():
        if ids & unique_ids(json.loads(notebook.read_text(encoding="utf-8"))):
            return chapter
    if path.stem in released:
        return path.stem
    chapters = ", ".join(released) or "none"
    raise UnknownNotebook(
        f"{path.name} is not the notebook of a chapter released in {course} (released: {chapters}): check the file, or "
        f"release its chapter first"
    )
