"""Release chapters: source notebooks, nbgrader's generate_assignment, the bundles, and the gate before all else.

Everything is built in a folder beside the published one, read by the gate, and moved into place at the end.
What nbgrader copies from course/source to course/release is the whole bundle, so `nbgrader
generate_assignment` and formgrader's button make the same one.
"""

import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder.authoring.make_key import public_key
from autograder.chapter.chapter import Chapter, read_chapter
from autograder.chapter.sections import section_addresses
from autograder.chapter.targets import Targets, read_targets
from autograder.course.lock import alone
from autograder.course.seed import secret_seed
from autograder.errors import UserError
from autograder.gradebook.assignments import generate, refuse_other_cells
from autograder.gradebook.coursedir import open_coursedir, write_course_config
from autograder.gradebook.engine import usable_gradebook
from autograder.gradebook.queries import registered_cells
from autograder.house import HOUSE, chapter_names
from autograder.release import bundle, gate
from autograder.release.notebook import source_notebook, to_bytes


class ReleaseRefused(UserError):
    """A chapter is not fit to be released; the message says why. Nothing of it was published."""


@dataclass(frozen=True)
class Published:
    """A chapter that is published now; `changed` if it was not before, or was another."""

    chapter: str
    zip: Path
    changed: bool


def publish(course: Path, names: Iterable[str] = (), house: Path = HOUSE) -> list[Published]:
    """Publish chapters into course/release: all that `publishing` gives, when it has given all."""
    return list(publishing(course, names, house))


def publishing(course: Path, names: Iterable[str] = (), house: Path = HOUSE) -> Iterator[Published]:
    """Publish chapters into course/release, and say of each when it is there.

    Args:
        course: the course folder; made if there is none.
        names: chapters ("01_attention"); all there are by default.

    Yields:
        One entry a chapter, in the order of the names.

    Raises:
        UserError: there is no such chapter.
        ReleaseRefused: a chapter gives something away, or is not sound.
        NotGenerated: nbgrader cannot make the assignment, or it does not fit the submissions there are.
        Busy: another run is at work in this course, or another program holds the gradebook.
    """
    course.mkdir(parents=True, exist_ok=True)
    write_course_config(course, house)
    known = read_targets(house / "chapters")
    wanted = [read_chapter(name, house) for name in (names or chapter_names(house))]
    with alone(course), usable_gradebook():
        for chapter in wanted:
            yield _publish(course, chapter, known, house)


def released_files(chapter: Chapter, known: Targets, house: Path = HOUSE) -> dict[str, bytes]:
    """Path in the bundle -> content: all that a student gets of a chapter, without a course or a gradebook.

    Args:
        chapter: the chapter.
        known: what `read_targets` reads in its folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_course_config(root, house)
        _write_source(root, chapter, _public_keys(chapter), known, house)
        generate(root, chapter.name, house)
        released = root / "release" / chapter.name
        return {file.relative_to(released).as_posix(): file.read_bytes() for file in sorted(_paths(released))}


def _publish(course, chapter, known, house):
    with tempfile.TemporaryDirectory(prefix=".release-", dir=course) as folder:
        staging = Path(folder)
        keys = _public_keys(chapter)
        _write_source(staging, chapter, keys, known, house)
        generate(staging, chapter.name, house)
        source, released = Path("source", chapter.name), Path("release", chapter.name)
        published = [source, released, released.with_suffix(".zip")]
        bundle.write_zip(staging / released, staging / published[-1], house)
        _refuse_unsound(chapter, keys, staging / source, staging / released)
        _refuse_leaks(course, chapter, staging / "release", house)

        database = open_coursedir(course, chapter.name, house).db_url
        changed = not all(_same(staging / path, course / path) for path in published)
        if changed or not registered_cells(database, chapter.name):
            refuse_other_cells(database, chapter.name, _cells(staging / released, chapter.name))
            generate(staging, chapter.name, house, database)
            for path in published:
                _move(staging / path, course / path, staging / "old")
        return Published(chapter.name, course / published[-1], changed)


def _public_keys(chapter):
    return [public_key(exercise) for exercise in chapter.exercises]


def _write_source(staging, chapter, keys, known, house):
    folder = staging / "source" / chapter.name
    notebook = to_bytes(source_notebook(chapter, known, section_addresses(chapter, house)))
    for name, content in {f"{chapter.name}.ipynb": notebook, **bundle.files(chapter, keys, house)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _refuse_unsound(chapter, keys, source, released):
    solved, blank = (nbformat.read(folder / f"{chapter.name}.ipynb", 4) for folder in (source, released))
    stubs = {cell.metadata.nbgrader.grade_id: cell.source for cell in blank.cells if cell.metadata.nbgrader.solution}
    problems = [f"{name}: the released cell is not the stub" for name in stubs if stubs[name] != chapter.stubs[name]]
    problems += gate.unsound(keys, solved, blank)
    if problems:
        raise ReleaseRefused("\n".join([f"{chapter.name} is not released:", *problems]))


def _refuse_leaks(course, chapter, folder, house):
    leaks = gate.scan([folder], gate.secrets_of_bundle(chapter, secret_seed(course), house))
    if leaks:
        raise ReleaseRefused("\n".join([f"{chapter.name} is not released, since it gives away:", *map(str, leaks)]))


def _cells(released, name):
    return {cell.metadata.nbgrader.grade_id for cell in nbformat.read(released / f"{name}.ipynb", 4).cells}


def _same(new, old):
    """Whether two files, or two folders, hold the same bytes under the same names."""
    if not new.is_dir() or not old.is_dir():
        return new.is_file() and old.is_file() and filecmp.cmp(new, old, shallow=False)
    names = _files(new)
    return names == _files(old) and all(filecmp.cmp(new / name, old / name, shallow=False) for name in names)


def _files(folder):
    """Names of all files below a folder, but for what Python and Jupyter leave there."""
    files = (path.relative_to(folder) for path in _paths(folder))
    return {file for file in files if not {"__pycache__", ".ipynb_checkpoints"} & set(file.parts)}


def _paths(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def _move(new, place, bin):
    """Put a file or folder in its place; what was there before goes to the bin."""
    place.parent.mkdir(parents=True, exist_ok=True)
    bin.mkdir(exist_ok=True)
    if place.exists():
        os.replace(place, bin / f"{place.parent.name}-{place.name}")
    shutil.move(new, place)
