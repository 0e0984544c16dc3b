"""Public keys, kept from one process to the next: the book's cells, its pages and each release ask for the same ones.

They take thirteen seconds to make and none to read.
"""

import hashlib
import os
import platform
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from autograder.house import HOUSE
from check import key
from check.key import Key

# What decides a key: these files, and what they import that is neither theirs nor Python's. Processors round in ways
# of their own; a student's does, too, and a judge allows for it.
SOURCES = (
    *("autograder/*.py", "autograder/authoring/*.py", "autograder/exercises/**/*.py", "check/*.py"),
    "solutions/*.py",
)
PACKAGES = ("numpy", "torch", "num2words")
# A file that changed later may not be the one that was imported, so that nothing is kept under its name.
_LATEST = time.time() - 10


def kept(name: str, make: Callable[[], Key], house: Path = HOUSE) -> Key:
    """The key of that name, read if it was kept by this very version of the course, or else made and kept."""
    edition = _edition(house)
    if edition is None:
        return make()
    path = user_cache_path("autograder") / f"keys-{edition}" / f"{name}.npz"
    if found := _read(path):
        return found
    with _alone(path.parent):
        if found := _read(path):  # made by another process meanwhile
            return found
        made = make()
        with suppress(OSError), tempfile.TemporaryDirectory(dir=path.parent) as half:
            key.save(made, Path(half, "key.npz"))
            Path(half, "key.npz").replace(path)
    return made


def _read(path: Path) -> Key | None:
    """The key in a file; None if it is not there, or damaged."""
    with suppress(OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        found = key.load(path)
        os.utime(path.parent)  # what nobody has used for a month is removed, as bundles are
        return found
    return None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time makes keys of an edition: the book, a release and a class that begin together ask alike.

    On a full disk, or one that cannot be written, each makes its own.
    """
    with ExitStack() as held:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            held.enter_context(FileLock(folder / ".lock"))
        yield


@cache
def _edition(house: Path) -> str | None:
    """A fingerprint of all that decides a key; None if a file has changed since it was imported."""
    files = sorted(file for pattern in SOURCES for file in house.glob(pattern))
    if max(file.stat().st_mtime for file in files) > _LATEST:
        return None
    digest = hashlib.sha256()
    parts = [platform.python_version(), *map(_version, PACKAGES), os.environ.get("OMP_NUM_THREADS", "")]
    for file in files:
        parts += [file.relative_to(house).as_posix(), hashlib.sha256(file.read_bytes()).hexdigest()]
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
