"""Build chapters: make source notebooks and bundles, run nbgrader's generate_assignment, and publish what is safe.

Everything is built in a temporary folder, checked by the gate, and then moved into place. course/source has the whole
bundle, so `nbgrader generate_assignment` and formgrader's button build the same release.
"""

import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import nbformat

from autograder.authoring.make_key import public_key
from autograder.chapter.chapter import Chapter, read_chapter
from autograder.chapter.sections import section_addresses
from autograder.chapter.targets import Targets, read_targets
from autograder.course.seed import secret_seed
from autograder.errors import UserError
from autograder.gradebook.assignments import generate
from autograder.gradebook.changed_cells import adapt_cells
from autograder.gradebook.configuration import set_up_course
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.deadlines import read_sentences
from autograder.gradebook.engine import usable_gradebook
from autograder.gradebook.queries import open_gradebook, registered_cells
from autograder.gradebook.voiding import store_maximum
from autograder.layout import REPO
from autograder.release import bundle, gate
from autograder.release.doctor import faults
from autograder.release.notebook import source_notebook, to_bytes
from autograder.release.record import LEFT_BEHIND, published_paths
from check.key import Key


class ReleaseRefused(UserError):
    """A chapter is not fit to be released; the message says why. Nothing of it was published."""


def build(course: Path, name: str, repo: Path = REPO) -> bool:
    """Build a chapter, publish it into course/release, and return whether it differs from what was published before.

    Raises:
        ReleaseRefused, NotGenerated, WouldLoseScores, Busy: as `publish.publish_each` says.
    """
    with usable_gradebook():
        if found := list(faults(name, repo, thorough=False)):
            raise ReleaseRefused("\n".join([f"{name} is not released:", *found]))
        return _publish(course, read_chapter(name, repo), read_targets(repo / "chapters"), repo)


def released_files(chapter: Chapter, targets: Targets, repo: Path = REPO) -> dict[str, bytes]:
    """Return path -> content of everything in a chapter's bundle, without using a course or a gradebook.

    Args:
        chapter: the chapter.
        targets: the link targets that `read_targets` finds in the chapter's folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        set_up_course(root, repo)
        _write_source(root, chapter, _public_keys(chapter), targets, repo)
        generate(root, chapter.name, repo)
        released = root / "release" / chapter.name
        return {file.relative_to(released).as_posix(): file.read_bytes() for file in sorted(_paths(released))}


def _publish(course: Path, chapter: Chapter, targets: Targets, repo: Path) -> bool:
    with tempfile.TemporaryDirectory(prefix=".release-", dir=course) as folder:
        staging = Path(folder)
        keys = _public_keys(chapter)
        due = " ".join(read_sentences(open_coursedir(course, chapter.name, repo)))
        _write_source(staging, chapter, keys, targets, repo, due)
        generate(staging, chapter.name, repo)
        source, released, zipped = published = published_paths(chapter.name)
        bundle.write_zip(staging / released, staging / zipped, repo)
        _refuse_unsound(chapter, keys, staging / source, staging / released)
        _refuse_leaks(course, chapter, staging / "release", repo)

        coursedir = open_coursedir(course, chapter.name, repo)
        database = coursedir.db_url
        changed = not all(_same(staging / path, course / path) for path in published)
        if changed or not registered_cells(database, chapter.name):
            adapt_cells(database, chapter.name, nbformat.read(staging / released / f"{chapter.name}.ipynb", 4))
            generate(staging, chapter.name, repo, database)
            for path in published:
                _move(staging / path, course / path, staging / "old")
        with open_gradebook(coursedir) as gradebook:
            store_maximum(gradebook, course, chapter.name)
        for left_behind in {*course.glob(".release-*")} - {staging}:  # by killed runs, with solutions
            shutil.rmtree(left_behind)
        return changed


def _public_keys(chapter: Chapter) -> list[Key]:
    return [public_key(exercise) for exercise in chapter.exercises]


def _write_source(
    staging: Path, chapter: Chapter, keys: Iterable[Key], targets: Targets, repo: Path, due: str = ""
) -> None:
    folder = staging / "source" / chapter.name
    notebook = to_bytes(source_notebook(chapter, targets, section_addresses(chapter, repo), due))
    for name, content in {f"{chapter.name}.ipynb": notebook, **bundle.files(chapter, keys, repo, due)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _refuse_unsound(chapter: Chapter, keys: Iterable[Key], source: Path, released: Path) -> None:
    solved, blank = (nbformat.read(folder / f"{chapter.name}.ipynb", 4) for folder in (source, released))
    stubs = {cell.metadata.nbgrader.grade_id: cell.source for cell in blank.cells if cell.metadata.nbgrader.solution}
    changed = [name for name, stub in chapter.stubs.items() if stubs[name] != stub]
    problems = [f"{name}: the released cell is not the stub" for name in changed]
    problems += gate.unsound(keys, solved, blank)
    if problems:
        raise ReleaseRefused("\n".join([f"{chapter.name} is not released:", *problems]))


def _refuse_leaks(course: Path, chapter: Chapter, folder: Path, repo: Path) -> None:
    leaks = gate.scan([folder], gate.secrets_of_bundle(chapter, secret_seed(course), repo))
    if leaks:
        raise ReleaseRefused("\n".join([f"{chapter.name} is not released, because it gives away:", *map(str, leaks)]))


def _same(new: Path, old: Path) -> bool:
    """Return whether two files have the same bytes, or two folders the same files."""
    if not new.is_dir() or not old.is_dir():
        return new.is_file() and old.is_file() and filecmp.cmp(new, old, shallow=False)
    names = _files(new)
    return names == _files(old) and all(filecmp.cmp(new / name, old / name, shallow=False) for name in names)


def _files(folder: Path) -> set[Path]:
    """Return the relative paths of a folder's files, without those that Python and Jupyter leave there."""
    files = (path.relative_to(folder) for path in _paths(folder))
    return {file for file in files if not LEFT_BEHIND & set(file.parts)}


def _paths(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _move(source: Path, target: Path, trash: Path) -> None:
    """Move a file or folder to its target, and the previous target to the trash folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    trash.mkdir(exist_ok=True)
    if target.exists():
        os.replace(target, trash / f"{target.parent.name}-{target.name}")
    shutil.move(source, target)
