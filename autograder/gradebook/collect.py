"""Bring a learning platform's download into `course/submitted`, by nbgrader's own collector.

Nothing is written under a name from the download, archives are read up to a limit, and what cannot be placed is
named. A submission that gives way to a later one is kept in `course/replaced`.
"""

import hashlib
import os
import shutil
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.apps import ZipCollectApp
from nbgrader.coursedir import CourseDirectory

from autograder.check.words import size
from autograder.gradebook.coursedir import open_coursedir, quiet_log
from autograder.grading.submitted_file import MAX_BYTES
from autograder.platforms.names import Named, named

MAX_FILES = 100_000
MAX_TOTAL = 50 * MAX_BYTES


class Unusable(Exception):
    """A download that is not collected at all; the message says why."""


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
    ids = _ids_of_names(coursedir)
    with tempfile.TemporaryDirectory() as temporary:
        for name, path, written in _files(download, Path(temporary), left):
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


# ---------------------------------------------------------------------------------------- the download


def _files(download, temporary, left) -> Iterator[tuple[str, Path, float]]:
    """Name in the download, place on disk, and time of each notebook; what is no notebook goes to `left`."""
    if download.is_dir():
        for path in sorted(download.rglob("*")):
            name = path.relative_to(download).as_posix()
            if path.is_symlink():
                left[name] = "a symbolic link, which is not followed"
            elif path.is_file() and _is_notebook(name, left):
                yield name, path, path.stat().st_mtime
        return
    if not download.exists():
        raise Unusable(f"there is no file or folder {download}")
    try:
        with zipfile.ZipFile(download) as archive:
            yield from _unzipped(archive, temporary, left)
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
        raise Unusable(f"{download.name} is no folder, and no zip file that can be read: {error}") from error


def _unzipped(archive, temporary, left):
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MAX_FILES:
        raise Unusable(f"the archive holds {len(entries)} files; no more than {MAX_FILES} are read")
    if (total := sum(entry.file_size for entry in entries)) > MAX_TOTAL:
        raise Unusable(f"the archive would unpack to {size(total)}; no more than {size(MAX_TOTAL)} is read")
    for number, entry in enumerate(entries):
        if entry.flag_bits & 1:
            left[entry.filename] = "encrypted"
        elif entry.file_size > MAX_BYTES:
            left[entry.filename] = f"{size(entry.file_size)} large; no more than {size(MAX_BYTES)} is read"
        elif _is_notebook(entry.filename, left):
            path = temporary / str(number)
            with archive.open(entry) as source, path.open("wb") as copy:
                shutil.copyfileobj(source, copy)  # no more than file_size, which zipfile sees to
            yield entry.filename, path, time.mktime((*entry.date_time, 0, 0, -1))


def _is_notebook(name, left):
    if not name.endswith(".ipynb"):
        left[name] = "no notebook"
    return name.endswith(".ipynb")


# --------------------------------------------------------------------------------------- the students


def _ids_of_names(coursedir: CourseDirectory) -> dict[str, str]:
    """ "Ada Lovelace" -> id, for the students whom the gradebook knows by name; "" if two have the same."""
    ids: dict[str, str] = {}
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        for student in gradebook.students:
            name = f"{student.first_name} {student.last_name}"
            ids[name] = "" if name in ids else student.id
    return ids


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
