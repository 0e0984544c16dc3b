"""Submissions put into their places by nbgrader's own collector."""

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nbgrader.apps import ZipCollectApp
from nbgrader.coursedir import CourseDirectory

from autograder.gradebook.coursedir import quiet_log
from autograder.gradebook.late_work import TIMESTAMP, timestamp_text


@dataclass(frozen=True)
class Placed:
    """A notebook for a student.

    path: where its bytes are. written: the file's time, which says which of two downloads is the later.
    what: "new", "replaced" or "unchanged". when, source: when it was handed in, in UTC, and where that is from.
    """

    path: Path
    written: float
    what: str
    when: datetime | None
    source: str


def becomes(path: Path, written: float, coursedir: CourseDirectory, student: str) -> str:
    """ "new", "replaced", "unchanged", or "older" than what is there and thus not to be placed."""
    there = _submitted(coursedir, student)
    if not there.exists():
        return "new"
    if path.read_bytes() == there.read_bytes():
        return "unchanged"
    return "replaced" if written >= int(there.stat().st_mtime) else "older"


def place(placed: Mapping[str, Placed], coursedir: CourseDirectory, folder: Path) -> None:
    """Put submissions into their places, with nbgrader's timestamp.txt; folder: an empty one, to be used up."""
    changed = {student: each for student, each in placed.items() if each.what != "unchanged"}
    _keep_replaced([_submitted(coursedir, student) for student in changed], Path(coursedir.root))
    _hand_to_nbgrader(changed, coursedir, folder)
    for student, each in placed.items():
        if each.when:
            path = _submitted(coursedir, student).with_name(TIMESTAMP)
            path.write_text(timestamp_text(each.when), encoding="utf-8")


def _submitted(coursedir, student):
    chapter = coursedir.assignment_id
    return Path(coursedir.format_path(coursedir.submitted_directory, student, chapter), f"{chapter}.ipynb")


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
