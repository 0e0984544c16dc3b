"""What grading would make of one notebook, with the public keys: nothing is graded and nothing is stored."""

import json
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.make_key import PUBLIC_SEED
from autograder.course.handout import distinctive, released_notebooks
from autograder.errors import UserError
from autograder.grading import reading, worker
from autograder.grading.assignment import open_assignment
from autograder.grading.report import Report
from autograder.grading.submitted_file import File, fetch


class NotOurs(UserError):
    """A file that belongs to no released chapter; the message says so."""


@dataclass(frozen=True)
class Checked:
    """chapter: whose notebook it is. report: what `check` says of each exercise, and what was odd about the file."""

    chapter: str
    report: Report


def submit_check(path: Path, course: Path, sandbox: str = "bwrap") -> Checked:
    """Read and run one notebook as grading does, and hold it against the public keys.

    Raises:
        NotOurs: it can be read, and is of no chapter that the course has released.
        UserError: there is no such file. SandboxUnavailable: there is no place to run it.
    """
    if not path.exists():
        raise UserError(f"there is no file {path}")
    file = fetch(path)
    chapter = _chapter(file, path, course)
    assignment = open_assignment(course, chapter, PUBLIC_SEED, sandbox, hidden=False)
    seeds = dict.fromkeys(assignment.released.functions, PUBLIC_SEED)
    return Checked(chapter, Report.from_json(worker.grade_file(file, seeds, assignment)))


def _chapter(file: File, path: Path, course: Path) -> str:
    """The released chapter that a file is of: by its cells; by its name where it cannot be read."""
    there = {notebook.stem: notebook for notebook in released_notebooks(course)}
    ids = reading.grade_ids(file)
    for chapter, notebook in there.items():
        if ids & distinctive(json.loads(notebook.read_text(encoding="utf-8"))):
            return chapter
    if path.stem in there:
        return path.stem
    chapters = ", ".join(there) or "none"
    raise NotOurs(f"{path.name} is the notebook of no chapter that is released in {course} (there: {chapters})")
