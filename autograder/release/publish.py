"""Release chapters: source notebooks, nbgrader's generate_assignment, the bundles, and the gate before all else.

Everything is built in a folder beside the published one, read by the gate, and moved into place at the end.
What nbgrader copies from course/source to course/release is the whole bundle, so `nbgrader
generate_assignment` and formgrader's button make the same one.
"""

import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException

from autograder.chapter.chapter import read_chapter
from autograder.chapter.targets import read_targets
from autograder.check import words
from autograder.course.lock import alone
from autograder.course.seed import secret_seed
from autograder.gradebook.coursedir import (
    CourseDirectory,
    keep_the_rules,
    nbgrader_config,
    open_coursedir,
    quiet_log,
)
from autograder.gradebook.engine import usable
from autograder.house import HOUSE, chapter_names
from autograder.release import bundle, gate
from autograder.release.notebook import source_notebook, to_bytes


class ReleaseError(Exception):
    """Why a chapter was not released; nothing of it was published."""


@dataclass(frozen=True)
class Published:
    """A chapter that is published now; `changed` if it was not before, or was another."""

    chapter: str
    zip: Path
    changed: bool


def publish(course: Path, names: Iterable[str] = (), house: Path = HOUSE) -> list[Published]:
    """Publish chapters into course/release.

    Args:
        course: the course folder; made if there is none.
        names: chapters ("01_attention"); all there are by default.

    Returns:
        One entry a chapter, in the order of the names.

    Raises:
        LookupError: there is no such chapter.
        ReleaseError: a chapter gives something away, is not sound, or does not fit its submissions.
        Busy: another run is at work in this course, or another program holds the gradebook.
    """
    course.mkdir(parents=True, exist_ok=True)
    keep_the_rules(course, house)
    known = read_targets(house / "chapters")
    wanted = [read_chapter(name, house) for name in (names or chapter_names(house))]
    with alone(course), usable():
        return [_release(course, chapter, known, house) for chapter in wanted]


def _release(course, chapter, known, house):
    with tempfile.TemporaryDirectory(prefix=".release-", dir=course) as folder:
        staging = Path(folder)
        _write_source(staging, chapter, known, house)
        _generate(staging, chapter.name, house)
        source, released = Path("source", chapter.name), Path("release", chapter.name)
        published = [source, released, released.with_suffix(".zip")]
        bundle.write_zip(staging / released, staging / published[-1])
        _refuse_unsound(chapter, staging / source, staging / released)
        _refuse_leaks(course, chapter, staging / "release", house)

        database = open_coursedir(course, chapter.name, house).db_url
        changed = not all(_same(staging / path, course / path) for path in published)
        if changed or not _is_registered(database, chapter.name):
            _refuse_other_cells(database, chapter.name, staging / released)
            _generate(staging, chapter.name, house, database)
            for path in published:
                _move(staging / path, course / path, staging / "old")
        return Published(chapter.name, course / published[-1], changed)


def _write_source(staging, chapter, known, house):
    folder = staging / "source" / chapter.name
    notebook = to_bytes(source_notebook(chapter, known))
    for name, content in {f"{chapter.name}.ipynb": notebook, **bundle.files(chapter, house)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _generate(root, name, house, database=None):
    """nbgrader's own generate_assignment, from root/source to root/release, and into a gradebook if one is given."""
    config = nbgrader_config(root, house)
    config.GenerateAssignment.force = True
    if database:
        config.CourseDirectory.db_url = database
    else:
        config.GenerateAssignment.no_database = True
        config.SaveCells.enabled = False
    directory = CourseDirectory(config=config, assignment_id=name)
    with quiet_log() as (log, errors):
        try:
            GenerateAssignment(coursedir=directory, config=config, log=log).start()
        except NbGraderException as error:
            raise ReleaseError("\n".join([f"{name}: nbgrader could not generate the assignment", *errors])) from error


def _refuse_unsound(chapter, source, released):
    solved, blank = (nbformat.read(folder / f"{chapter.name}.ipynb", 4) for folder in (source, released))
    stubs = {cell.metadata.nbgrader.grade_id: cell.source for cell in blank.cells if cell.metadata.nbgrader.solution}
    problems = [f"{name}: the released cell is not the stub" for name in stubs if stubs[name] != chapter.stubs[name]]
    problems += gate.unsound(chapter, solved, blank)
    if problems:
        raise ReleaseError("\n".join([f"{chapter.name} is not released:", *problems]))


def _refuse_leaks(course, chapter, folder, house):
    leaks = gate.scan([folder], gate.secrets_of_bundle(chapter, secret_seed(course), house))
    if leaks:
        raise ReleaseError("\n".join([f"{chapter.name} is not released, since it gives away:", *map(str, leaks)]))


def _refuse_other_cells(database, name, released):
    """nbgrader cannot add or remove cells once there are submissions; say so before anything is touched."""
    notebook = nbformat.read(released / f"{name}.ipynb", 4)
    new = {cell.metadata.nbgrader.grade_id for cell in notebook.cells}
    with Gradebook(database) as gradebook:
        try:
            registered = gradebook.find_notebook(name, name)
        except MissingEntry:
            return
        old = {cell.name for cell in registered.source_cells}
        if not registered.submissions or old == new:
            return
        many = len(registered.submissions)
    raise ReleaseError(
        f"{name} is not released: the gradebook has {words.count(many, 'submission')} of it, and nbgrader cannot "
        f"change which cells an assignment has under them.\n"
        f"  new cells: {_listed(new - old)}\n  cells no longer there: {_listed(old - new)}\n"
        f"Changes inside cells are fine. To release new cells, remove the assignment and its scores first: "
        f"nbgrader db assignment remove {name} --force"
    )


def _listed(names):
    return ", ".join(sorted(names)) or "none"


def _is_registered(database, name):
    with Gradebook(database) as gradebook:
        try:
            gradebook.find_notebook(name, name)
        except MissingEntry:
            return False
    return True


def _same(new, old):
    """Whether two files, or two folders, hold the same bytes under the same names."""
    if not new.is_dir() or not old.is_dir():
        return new.is_file() and old.is_file() and filecmp.cmp(new, old, shallow=False)
    names = _files(new)
    return names == _files(old) and all(filecmp.cmp(new / name, old / name, shallow=False) for name in names)


def _files(folder):
    """Names of all files below a folder, but for what Python and Jupyter leave there."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {file for file in files if not {"__pycache__", ".ipynb_checkpoints"} & set(file.parts)}


def _move(new, place, bin):
    """Put a file or folder in its place; what was there before goes to the bin."""
    place.parent.mkdir(parents=True, exist_ok=True)
    bin.mkdir(exist_ok=True)
    if place.exists():
        os.replace(place, bin / f"{place.parent.name}-{place.name}")
    shutil.move(new, place)
