"""Bring a learning platform's download into `course/submitted`, by nbgrader's own collector.

Nothing is written under a name from the download, archives are read up to a limit, and what cannot be placed is
named. A submission that gives way to a later one is kept in `course/replaced`.
"""

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nbgrader.apps import ZipCollectApp

from autograder.gradebook.coursedir import open_coursedir, quiet_log
from autograder.gradebook.queries import ids_by_name
from autograder.platforms.download import notebooks_in
from autograder.platforms.names import Named, named


@dataclass(frozen=True)
class Collected:
    """What became of a download.

    placed: student -> "new", "replaced" or "unchanged". late: those whom the platform calls late.
    left: file -> why it was left where it is.
    """

    placed: dict[str, str]
    late: tuple[str, ...]
    left: dict[str, str]


@dataclass(frozen=True)
class _Notebook:
    """A notebook of a download: where it lies, when it was written, and whose it is."""

    path: Path
    written: float
    whose: Named

    @property
    def order(self):
        return self.whose.attempt, self.written


def collect(download: Path, course: Path, chapter: str) -> Collected:
    """Place the notebooks of a zip file, or of a folder, as submissions of a chapter. Raises Unusable."""
    coursedir = open_coursedir(course, chapter)
    left: dict[str, str] = {}
    latest: dict[str, _Notebook] = {}
    ids = ids_by_name(coursedir)
    with tempfile.TemporaryDirectory() as temporary:
        for name, path, written in notebooks_in(download, Path(temporary), left):
            notebook = _Notebook(path, written, named(name, lambda student: ids.get(student, student)))
            student = notebook.whose.student
            if why := _cannot_be_placed(student):
                left[name] = why
            elif student in latest and notebook.order < latest[student].order:
                left[name] = f"{student} handed in again later"
            else:
                latest[student] = notebook
        becomes = {s: _becomes(n, _submitted(coursedir, s)) for s, n in latest.items()}
        left |= {f"the notebook of {s}": "older than the one that is there" for s, b in becomes.items() if b == "older"}
        chosen = {s: n for s, n in latest.items() if becomes[s] in ("new", "replaced")}
        _keep_replaced([_submitted(coursedir, student) for student in chosen], course)
        _hand_to_nbgrader(chosen, coursedir, Path(temporary, "collected"))
    placed = {student: what for student, what in becomes.items() if what != "older"}
    return Collected(placed, tuple(s for s in placed if latest[s].whose.late), left)


# --------------------------------------------------------------------------------------- the students


def _cannot_be_placed(student):
    if not student:
        return "its name does not say whose it is"
    if set(student) & set("*?[]/\\") or student.startswith("."):
        return f"nbgrader cannot handle a student called {student}"
    return ""


# --------------------------------------------------------------------------------------- the submissions


def _submitted(coursedir, student):
    chapter = coursedir.assignment_id
    return Path(coursedir.format_path(coursedir.submitted_directory, student, chapter), f"{chapter}.ipynb")


def _becomes(notebook, there):
    if not there.exists():
        return "new"
    if notebook.path.read_bytes() == there.read_bytes():
        return "unchanged"
    return "replaced" if notebook.written >= int(there.stat().st_mtime) else "older"


def _keep_replaced(submitted, course):
    """Copies of the submissions that are there, named after their content, so that none is lost."""
    for path in submitted:
        if path.exists():
            name = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            kept = course / "replaced" / path.parent.parent.name / path.parent.name / f"{name}.ipynb"
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, kept)


def _hand_to_nbgrader(chosen, coursedir, folder):
    """Let nbgrader's zip_collect place the notebooks, from folders that are named after the students."""
    chapter = coursedir.assignment_id
    archive = folder / chapter / "archive"
    archive.mkdir(parents=True)
    for student, notebook in chosen.items():
        (archive / student).mkdir()
        shutil.copy2(notebook.path, archive / student / f"{chapter}.ipynb")
    with quiet_log() as (log, _):
        app = ZipCollectApp(config=coursedir.config, force=True)
        app.log, app.coursedir = log, coursedir
        app.collect_directory_structure = str(folder / "{assignment_id}" / "{collect_step}")
        app.init_plugins()
        app.collector_plugin_inst.named_regexp = r".*/(?P<student_id>[^/]+)/(?P<file_id>[^/]+)\.ipynb$"
        app.extract_archive_files()
        app.process_extracted_files()
    for student, notebook in chosen.items():
        # Of this and a later download the later counts, whenever they are collected.
        os.utime(_submitted(coursedir, student), (notebook.written, notebook.written))
