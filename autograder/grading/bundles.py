"""Bundles unpacked in a cache: once for all processes of a machine, whoever comes first."""

import hashlib
import io
import os
import shutil
import tempfile
import time
import zipfile
from pathlib import Path

from filelock import FileLock

KEPT_SECONDS = 30 * 24 * 3600  # after the last use; a chapter is graded again within a month, or hardly ever


def unpacked(bundle: bytes, cache: Path) -> Path:
    """The folder with the bundle in it.

    In a cache and not in a temporary folder, which a killed run would leave behind each time. What nobody has used for
    a month is removed.

    Args:
        bundle: the content of a zip file.
        cache: a folder for its owner alone; made if there is none.
    """
    folder = cache / hashlib.sha256(bundle).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(cache / ".lock"):
        if not folder.exists():
            _prune(cache)
            _unzip(bundle, folder)
        os.utime(folder)
    return folder


def _unzip(bundle, folder):
    """Whole or not at all."""
    with tempfile.TemporaryDirectory(prefix=".", dir=folder.parent) as half:
        zipfile.ZipFile(io.BytesIO(bundle)).extractall(Path(half, "bundle"))
        Path(half, "bundle").rename(folder)


def _prune(cache):
    """Under the lock, so that nobody is unpacking: a hidden folder is what a killed run left half done."""
    for folder in cache.iterdir():
        if folder.is_dir() and (folder.name.startswith(".") or time.time() - folder.stat().st_mtime > KEPT_SECONDS):
            shutil.rmtree(folder, ignore_errors=True)
