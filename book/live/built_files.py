"""Write the files that pages load for their exercises: scripts, Python and zip files.

Their addresses contain a hash, so that a browser can cache them forever.
"""

import hashlib
import json
import math
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
from sphinx.application import Sphinx

from autograder.release.bundle import zipped
from book.live.assets import PYODIDE_LOCK, lock_of_pyodide
from book.live.bytecode.stored import for_pages
from book.live.self_study import all_chapters, unzipped

IN_PAGE, CODEMIRROR = Path(__file__).with_name("in_page"), Path(__file__).with_name("codemirror")
BUNDLE, LICENCES = CODEMIRROR / "codemirror.js", CODEMIRROR / "codemirror-MIT.txt"
MODULES = {"np": np, "np.linalg": np.linalg, "np.random": np.random, "math": math}
SERVICE_WORKER = "live-offline.js"
HASHES = "const HASHES = {};"  # line of the service worker that gets the hashes
OUT = "_static/live"
ALL = "_static/self-study.zip"


def store(app: Sphinx, name: str, data: bytes) -> str:
    """Store a file for a page beside the doctrees, and return its name there, which contains its hash."""
    folder = Path(app.doctreedir, "live")
    folder.mkdir(parents=True, exist_ok=True)
    stem, _, suffix = name.rpartition(".")
    stored = f"{stem}-{hashlib.sha256(data).hexdigest()[:12]}.{suffix}"
    (folder / stored).write_bytes(data)
    return stored


def copy_stored(app: Sphinx, names: Collection[str]) -> None:
    """Copy stored files to where the pages load them, and delete the files of earlier builds."""
    out = Path(app.outdir, OUT)
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        if old.is_file() and old.name not in names:
            old.unlink()
    for name in names:
        shutil.copyfile(Path(app.doctreedir, "live", name), out / name)


def write_all_chapters(app: Sphinx, names: Iterable[str], last_lent: int) -> None:
    """Write one zip file with all chapters, from their stored bundles. Its address is the same after each build.

    last_lent: number of the last chapter whose solutions the book lends.
    """
    bundles = [unzipped(Path(app.doctreedir, "live", name)) for name in names]
    out = Path(app.outdir, ALL)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(zipped(all_chapters(bundles, last_lent)))


def write_scripts(app: Sphinx, python: dict[str, Path]) -> str:
    """Write the scripts and Python, and return the name of their folder, which is their hash.

    python: the files of other projects, name -> path.
    """
    contents = {
        path.relative_to(IN_PAGE).as_posix(): path.read_bytes()
        for path in sorted(IN_PAGE.rglob("*.*"))
        if "__pycache__" not in path.parts and path.name != "__init__.py"
    }
    del contents["service_worker.js"]
    contents |= editor_files()
    contents |= {f"pyodide/{name}": data for name, data in python_files(python).items()}
    total = hashlib.sha256()
    for name, data in sorted(contents.items()):
        total.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
    folder = total.hexdigest()[:12]
    out = Path(app.outdir, OUT)
    for old in out.iterdir():
        if old.is_dir() and old.name != folder:
            shutil.rmtree(old)
    for name, data in contents.items():
        file = out / folder / name
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    return folder


def write_service_worker(out: Path) -> None:
    """Write the service worker of a built book, with the hashes of all other files.

    It controls the pages in its own folder and below, so it is in the top folder.
    """
    worker = out / SERVICE_WORKER
    hashes = {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path != worker
    }
    source = (IN_PAGE / "service_worker.js").read_text(encoding="utf-8")
    before, after = source.split(HASHES)
    worker.write_text(f"{before}const HASHES = {json.dumps(hashes)};{after}", encoding="utf-8")


def python_files(python: dict[str, Path]) -> dict[str, bytes]:
    """Return the files from which a page starts Python, name -> content: those of other projects, and a lock file.

    python: the files of other projects, name -> path. Two get bytecode instead of sources, and are divided.
    """
    contents = for_pages({name: path.read_bytes() for name, path in python.items()})
    return {**contents, PYODIDE_LOCK: lock_of_pyodide(contents)}


def editor_files() -> dict[str, bytes]:
    """Return path -> content of the editor's files that are not our scripts, beside the scripts of the pages."""
    return {
        BUNDLE.name: BUNDLE.read_bytes(),
        f"licences/{LICENCES.name}": LICENCES.read_bytes(),
        "members.js": f"export const members = {json.dumps(members())};\n".encode(),
    }


def members() -> dict[str, list[str]]:
    """Return the names that the editor completes after the name of a module and a dot: name of the module -> names.

    Names with an underscore at an end, such as `r_`, are left out: they would only make the list longer.
    """
    public = {name: getattr(module, "__all__", dir(module)) for name, module in MODULES.items()}
    return {
        name: sorted(member for member in members if member == member.strip("_")) for name, members in public.items()
    }
