"""Record what a chapter was released from, so that releasing it unchanged takes no time.

A record is a digest of everything that decides a release, of the release itself, and of its cells in the gradebook.
If any of it changes, the chapter is built again. This file imports no nbgrader, because that takes seconds.
"""

import hashlib
import os
import sys
import sysconfig
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.course.configuration import nbgrader_config
from autograder.course.files import read_json, write_json
from autograder.errors import UserError
from autograder.gradebook.registration import registration
from autograder.layout import HUB, REPO

FOLDERS = ("autograder", "chapters", "check", "solutions")
FILES = ("*.cff", "*.py", "*.toml", "*.txt", "*.yml")
COURSE_FILES = ("deadlines.json", "nbgrader_config.py", "secret_seed", "voided.json")
ENVIRONMENT = ("OMP_NUM_THREADS", "SOURCE_DATE_EPOCH", "TZ")
LEFT_BEHIND = {"__pycache__", ".ipynb_checkpoints"}  # by Python and Jupyter


@dataclass(frozen=True)
class Record:
    """A chapter's last release. modules: files of the modules that it loaded from outside the installed packages."""

    digest: str
    modules: list[str]


def published_paths(chapter: str) -> list[Path]:
    """Return what a release consists of: two folders and a zip file, relative to the course."""
    released = Path("release", chapter)
    return [Path("source", chapter), released, released.with_suffix(".zip")]


def is_current(course: Path, chapter: str, repo: Path = REPO) -> bool:
    """Return whether a chapter's release is the one that building it now would give."""
    record = _records(course).get(chapter)
    if record is None or not registration(course, chapter, repo).cells:
        return False
    return record.digest == _digest(course, chapter, inputs(course, chapter, repo), record.modules, repo)


def inputs(course: Path, chapter: str, repo: Path = REPO) -> str:
    """Return a digest of what decides a release and is known before it: sources, settings, packages, and the due date.

    The course must have its seed and its nbgrader_config.py.
    """
    roots = {REPO, repo}  # the code of the grader, and the chapters
    sources = [path for root in roots for folder in FOLDERS for path in files_in(root / folder)]
    sources = [path for path in sources if not any(path.is_relative_to(root / HUB) for root in roots)]
    sources += [path for root in roots for pattern in FILES for path in root.glob(pattern)]
    sources += [course / name for name in COURSE_FILES]
    packages = sorted(path.name for path in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))
    settings = [sys.version, repr(nbgrader_config(course, repo)), *(os.environ.get(name, "") for name in ENVIRONMENT)]
    # The time zone in which students read the due date.
    zone = [*time.tzname, str(time.timezone), str(time.altzone), *_contents([Path("/etc/localtime")])]
    due = registration(course, chapter, repo).due
    return _sha256([*_contents(sources), *packages, *settings, *zone, due])


def write_record(course: Path, chapter: str, before: str, repo: Path = REPO) -> None:
    """Record a release that was just made. before: the inputs when it began. If they have changed, record nothing."""
    records = {name: record for name, record in _records(course).items() if name != chapter}
    after = inputs(course, chapter, repo)
    if before == after:
        modules = _loaded_modules()
        records[chapter] = Record(_digest(course, chapter, after, modules, repo), modules)
    write_json(_file(course), records)


def _digest(course: Path, chapter: str, inputs: str, modules: Iterable[str], repo: Path) -> str:
    published = [course / path for path in published_paths(chapter)]
    files = [path for place in published for path in ([place] if place.is_file() else files_in(place))]
    cells = registration(course, chapter, repo).cells
    return _sha256([inputs, *_contents(files), *_contents(map(Path, modules)), *cells])


def _loaded_modules() -> list[str]:
    """Return the files of all loaded modules that are not installed, such as an instructor's preprocessor."""
    installed = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    files = {str(getattr(module, "__file__", None) or "") for module in [*sys.modules.values()]}
    return sorted(file for file in files if file and not file.startswith(installed))


def files_in(folder: Path) -> list[Path]:
    """Return the files in a folder, without those that Python and Jupyter leave there."""
    paths = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    return [path for path in paths if not LEFT_BEHIND.intersection(path.parts)]


def _contents(paths: Iterable[Path]) -> list[str]:
    """Return path and digest of each file, in order. A missing file has the digest "none"."""
    return [
        text
        for path in sorted(set(paths))
        for text in (str(path), hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none")
    ]


def _sha256(parts: list[str]) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _records(course: Path) -> dict[str, Record]:
    try:
        return read_json(_file(course), dict[str, Record], {})
    except (OSError, UserError):  # a file that cannot be read counts as missing
        return {}


def _file(course: Path) -> Path:
    return course / ".releases.json"
