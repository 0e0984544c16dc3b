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
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode

from autograder.authoring.make_key import public_key
from autograder.chapter.chapter import Chapter, read_chapter, section_addresses
from autograder.chapter.targets import Targets, read_targets
from autograder.course.configuration import set_up_course
from autograder.course.handout import Handout, exercise_of
from autograder.course.seed import secret_seed
from autograder.errors import UserError
from autograder.gradebook.assigning import follow_assignment
from autograder.gradebook.assignments import generate
from autograder.gradebook.changed_cells import adapt_cells
from autograder.gradebook.coursedir import CourseDirectory, open_coursedir
from autograder.gradebook.deadlines import due_sentences
from autograder.gradebook.engine import Gradebook, usable_gradebook
from autograder.gradebook.queries import registered_notebook
from autograder.gradebook.voiding import points_of_cells, store_maximum
from autograder.layout import REPO
from autograder.release import bundle, gate
from autograder.release.doctor import faults
from autograder.release.notebook import source_notebook, to_bytes
from autograder.release.record import files_in, published_paths
from autograder.scores.assigned import assigned_exercises
from check import scoring
from check.key import Key
from check.measuring import outcomes_of
from check.verdicts_of_test import bound_key


class ReleaseRefused(UserError):
    """A chapter is not fit to be released; the message says why. Nothing of it was published."""


def build(course: Path, name: str, repo: Path = REPO) -> bool:
    """Build a chapter, publish it into course/release, and return whether it differs from what was published before.

    Raises what `publish.publish_each` lists.
    """
    if found := list(faults(name, repo, thorough=False)):
        raise ReleaseRefused("\n".join([f"{name} is not released:", *found]))
    coursedir = open_coursedir(course, name, repo)
    with usable_gradebook(coursedir) as gradebook:
        return _publish(gradebook, coursedir, read_chapter(name, repo), read_targets(repo / "chapters"), repo)


def released_files(chapter: Chapter, targets: Targets) -> dict[str, bytes]:
    """Return path -> content of everything in a chapter's bundle, without using a course or a gradebook.

    targets: the link targets that `read_targets` finds in the chapter's folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        set_up_course(root, REPO)
        _write_source(root, chapter, _public_keys(chapter), targets, REPO)
        generate(root, chapter.name, REPO)
        return _contents(root / "release" / chapter.name)


def _publish(gradebook: Gradebook, coursedir: CourseDirectory, chapter: Chapter, targets: Targets, repo: Path) -> bool:
    course = Path(coursedir.root)
    with tempfile.TemporaryDirectory(prefix=".release-", dir=course) as folder:
        staging = Path(folder)
        keys = _public_keys(chapter)
        due = due_sentences(gradebook, course, chapter.name)
        _write_source(staging, chapter, keys, targets, repo, due)
        generate(staging, chapter.name, repo)
        source, released, zipped = published = published_paths(chapter.name)
        (staging / zipped).write_bytes(bundle.zipped(_contents(staging / released), repo))
        _refuse_unsound(chapter, keys, staging / source, staging / released)
        notebook = nbformat.read(staging / released / f"{chapter.name}.ipynb", 4)
        graded = [exercise_of(cell) for cell in points_of_cells(Handout(chapter.name, notebook))]
        assigned_exercises(coursedir.config, chapter.name, graded)  # refuses one that the chapter lacks
        if leaks := gate.scan([staging / "release"], gate.secrets_of_bundle(chapter, secret_seed(course), repo)):
            raise ReleaseRefused(
                "\n".join([f"{chapter.name} is not released, because it gives away:", *map(str, leaks)])
            )

        changed = not all(_same(staging / path, course / path) for path in published)
        if changed or not registered_notebook(gradebook, chapter.name):
            adapt_cells(gradebook, coursedir, notebook)
            gradebook.db.rollback()  # what it has read, because nbgrader now writes in a session of its own
            generate(staging, chapter.name, repo, coursedir.db_url)
            for path in published:
                _move(staging / path, course / path, staging / "old")
        store_maximum(gradebook, course, chapter.name)
        follow_assignment(gradebook, coursedir)
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
    bundle.write({f"{chapter.name}.ipynb": notebook, **bundle.files(chapter, keys, repo, due)}, folder)


def _refuse_unsound(chapter: Chapter, keys: list[Key], source: Path, released: Path) -> None:
    solved, blank = (nbformat.read(folder / f"{chapter.name}.ipynb", 4) for folder in (source, released))
    stubs = {cell.metadata.nbgrader.grade_id: cell.source for cell in blank.cells if cell.metadata.nbgrader.solution}
    changed = [name for name, stub in chapter.stubs.items() if stubs[name] != stub]
    problems = [f"{name}: the released cell is not the stub" for name in changed]
    problems += _wrong_checks(keys, solved, blank)
    if problems:
        raise ReleaseRefused("\n".join([f"{chapter.name} is not released:", *problems]))


def _wrong_checks(keys: list[Key], solved: NotebookNode, blank: NotebookNode) -> list[str]:
    """Return a sentence for each stub that passes its check and each solution that fails it."""
    problems = []
    for notebook, is_solved in ((solved, True), (blank, False)):
        namespace = _run_exercises(notebook)
        for key in keys:
            result = scoring.grade(key, outcomes_of(namespace[key.function], bound_key(key, namespace)))
            if is_solved and result.verdict:
                problems.append(f"{key.function}: the solution fails its check: {result.verdict.message}")
            if not is_solved and result.passed:
                problems.append(f"{key.function}: the stub passes its check")
    return problems


def _run_exercises(notebook: NotebookNode) -> dict[str, Any]:
    """Run the setup cell, the given functions and the exercises' cells, and return their namespace."""
    namespace: dict[str, Any] = {}
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        name = about.get("grade_id", "")
        if cell.cell_type == "code" and (about.get("solution") or name == "setup" or name.startswith("given-")):
            exec(compile(cell.source, f"<cell {name}>", "exec"), namespace)
    return namespace


def _same(new: Path, old: Path) -> bool:
    """Return whether two files have the same bytes, or two folders the same files."""
    if not new.is_dir() or not old.is_dir():
        return new.is_file() and old.is_file() and filecmp.cmp(new, old, shallow=False)
    return _contents(new) == _contents(old)


def _contents(folder: Path) -> dict[str, bytes]:
    """Return path -> content of a folder's files, without those that Python and Jupyter leave there."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(files_in(folder))}


def _move(source: Path, target: Path, trash: Path) -> None:
    """Move a file or folder to its target, and the previous target to the trash folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    trash.mkdir(exist_ok=True)
    if target.exists():
        os.replace(target, trash / f"{target.parent.name}-{target.name}")
    shutil.move(source, target)
