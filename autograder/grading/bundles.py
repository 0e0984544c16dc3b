"""Unpack bundles into a cache that all processes of a machine share."""

import hashlib
import io
import os
import shutil
import tempfile
import time
import zipfile
from pathlib import Path

from filelock import FileLock

_KEYS = "check/keys/"
KEPT_SECONDS = 30 * 24 * 3600  # after the last use; a chapter is rarely graded again after more than a month


def unpacked(bundle: bytes, cache: Path) -> Path:
    """Return the folder in the cache that holds a bundle without its answer keys; unpack it if no process has yet.

    The keys hold the results of runs that a submission should predict. A temporary folder would stay behind after each
    killed run. The cache removes folders that were not used for a month.

    Args:
        bundle: the content of a zip file.
        cache: a folder that only its owner can read; made if it does not exist.
    """
    # Earlier versions unpacked the keys, too, under the bundle's own hash.
    folder = cache / hashlib.sha256(_KEYS.encode() + bundle).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(cache / ".lock"):
        if not folder.exists():
            _remove_unused(cache)
            _unzip(bundle, folder)
        os.utime(folder)
    return folder


def _unzip(bundle: bytes, folder: Path) -> None:
    """Unpack a bundle beside the folder first and rename it then, so that the folder is always complete."""
    with tempfile.TemporaryDirectory(prefix=".", dir=folder.parent) as partial:
        archive = zipfile.ZipFile(io.BytesIO(bundle))
        archive.extractall(Path(partial, "bundle"), [name for name in archive.namelist() if not name.startswith(_KEYS)])
        Path(partial, "bundle").rename(folder)


def _remove_unused(cache: Path) -> None:
    """Remove old folders, and hidden ones: with the lock held, a hidden folder is what a killed run left."""
    for folder in cache.iterdir():
        if folder.is_dir() and (folder.name.startswith(".") or time.time() - folder.stat().st_mtime > KEPT_SECONDS):
            shutil.rmtree(folder, ignore_errors=True)
