"""Cache answer keys on disk, because the book's cells, its pages and each release need the same ones.

Making all public keys takes thirteen seconds. Reading them takes almost no time.
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

from autograder.layout import REPO
from check import key
from check.key import Key

# Everything that decides a key: these files, and the packages that they import. Processors round differently, too, but
# so do students' processors, and the judge tolerates it.
SOURCES = (
    *("autograder/errors.py", "autograder/layout.py", "autograder/progress_bar.py", "autograder/authoring/*.py"),
    *("autograder/exercises/**/*.py", "check/**/*.py", "solutions/*.py"),
)
DATA = ("autograder/exercises/**/*.npz",)  # data from which exercises draw cases
PACKAGES = ("numpy", "torch")
# If a file changed later than this, Python may have imported an older version of it, so no key is cached.
_LATEST_CHANGE = time.time() - 10


def cached_key(name: str, make: Callable[[], Key], repo: Path = REPO) -> Key:
    """Return the key that this version of the course has cached under a name. If there is none, make and cache it."""
    version_digest = _version_digest(repo)
    if version_digest is None:
        return make()
    path = user_cache_path("autograder") / f"keys-{version_digest}" / f"{name}.npz"
    if stored_key := _read(path):
        return stored_key
    with _locked(path.parent):
        if stored_key := _read(path):  # another process has made it in the meantime
            return stored_key
        new_key = make()
        with suppress(OSError), tempfile.TemporaryDirectory(dir=path.parent) as partial:
            key.save(new_key, Path(partial, "key.npz"))
            Path(partial, "key.npz").replace(path)
    return new_key


def _read(path: Path) -> Key | None:
    """The key in a file; None if the file is missing or damaged."""
    with suppress(OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        stored_key = key.load(path)
        os.utime(path.parent)  # `grading.bundles` removes the folders in this cache that were not used for a month
        return stored_key
    return None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let only one process at a time make keys for a folder; the others wait and then read them.

    If the folder cannot be written, each process makes its own keys.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            stack.enter_context(FileLock(folder / ".lock"))
        yield


@cache
def _version_digest(repo: Path) -> str | None:
    """A digest of everything that decides a key; None if a file may have changed since Python imported it."""
    files = sorted(file for pattern in (*SOURCES, *DATA) for file in repo.glob(pattern))
    if max(file.stat().st_mtime for file in files) > _LATEST_CHANGE:
        return None
    digest = hashlib.sha256()
    parts = [platform.python_version(), *map(installed_version, PACKAGES), os.environ.get("OMP_NUM_THREADS", "")]
    for file in files:
        parts += [file.relative_to(repo).as_posix(), hashlib.sha256(file.read_bytes()).hexdigest()]
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def installed_version(package: str) -> str:
    """The version of a package, or "none". This does not import the package: importing PyTorch takes a second."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
