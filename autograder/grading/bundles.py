"""Unpack bundles into a cache for all processes of this machine."""

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
KEPT_SECONDS = 30 * 24 * 3600  # since its last use; a chapter is rarely graded again after a month


def unpacked(bundle: bytes, cache: Path) -> Path:
    """Return the folder of the cache with a bundle, without its answer keys. The first process unpacks the bundle.

    The keys contain the results of runs that a submission should predict. We use a cache because each killed run would
    leave a temporary folder behind. The cache removes folders that no process has used for a month.

    Args:
        bundle: the content of a zip file.
        cache: a folder that only its owner can read. It is created if it does not exist.
    """
    # Earlier versions also unpacked the keys, under the bundle's own hash.
    folder = cache / hashlib.sha256(_KEYS.encode() + bundle).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(cache / ".lock"):
        if not folder.exists():
            _remove_unused(cache)
            _unzip(bundle, folder)
        os.utime(folder)
    return folder


def _unzip(bundle: bytes, folder: Path) -> None:
    """Unpack a bundle next to the folder, then rename it, so that the folder is always complete."""
    with tempfile.TemporaryDirectory(prefix=".", dir=folder.parent) as partial:
        archive = zipfile.ZipFile(io.BytesIO(bundle))
        archive.extractall(Path(partial, "bundle"), [name for name in archive.namelist() if not name.startswith(_KEYS)])
        Path(partial, "bundle").rename(folder)


def _remove_unused(cache: Path) -> None:
    """Remove old folders and hidden ones. We hold the lock, so a hidden folder is left over from a killed run."""
    for folder in cache.iterdir():
        if folder.is_dir() and (folder.name.startswith(".") or time.time() - folder.stat().st_mtime > KEPT_SECONDS):
            shutil.rmtree(folder, ignore_errors=True)
