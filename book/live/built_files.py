"""What lies beside the pages for their exercises: scripts and Python in a folder named after its hash, zip files."""

import hashlib
import json
import shutil
from pathlib import Path

from book.live.self_study import together, unzipped, zipped

IN_PAGE = Path(__file__).with_name("in_page")
OUT = "_static/live"
ALL = "_static/self-study.zip"
LOCK = "pyodide-lock.json"


def store(app, name, data):
    """Keep what a page is to find beside the doctrees, and return its name, which holds its hash."""
    store = Path(app.doctreedir, "live")
    store.mkdir(parents=True, exist_ok=True)
    stem, _, suffix = name.rpartition(".")
    named = f"{stem}-{hashlib.sha256(data).hexdigest()[:12]}.{suffix}"
    (store / named).write_bytes(data)
    return named


def ship(app, python):
    """Write the scripts and Python; returns the name of their folder, which is their hash."""
    contents = {
        path.relative_to(IN_PAGE).as_posix(): path.read_bytes()
        for path in sorted(IN_PAGE.rglob("*.*"))
        if "__pycache__" not in path.parts and path.name != "__init__.py"
    }
    # A service worker has its say over what lies below it.
    Path(app.outdir, "live-offline.js").write_bytes(contents.pop("service_worker.js"))
    contents |= {f"pyodide/{name}": path.read_bytes() for name, path in python.items()}
    contents[f"pyodide/{LOCK}"] = lock_of_pyodide(python)
    total = hashlib.sha256()
    for path, data in sorted(contents.items()):
        total.update(path.encode() + b"\0" + hashlib.sha256(data).digest())
    folder = total.hexdigest()[:12]
    out = Path(app.outdir, OUT)
    for old in out.iterdir():
        if old.is_dir() and old.name != folder:
            shutil.rmtree(old)
    for path, data in contents.items():
        file = out / folder / path
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    return folder


def ship_stored(app, names):
    """Put what was stored under these names where the pages find it, and take away what earlier builds put there."""
    out = Path(app.outdir, OUT)
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        if old.is_file() and old.name not in names:
            old.unlink()
    for name in names:
        shutil.copyfile(Path(app.doctreedir, "live", name), out / name)


def ship_together(app, names):
    """Put the chapters' bundles that were stored under these names into one, at an address that stays."""
    stored = [unzipped(Path(app.doctreedir, "live", name)) for name in names]
    out = Path(app.outdir, ALL)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(zipped(together(stored)))


def lock_of_pyodide(python):
    """What Pyodide reads to find its packages: NumPy, and matplotlib with all that it needs for a figure as SVG."""
    found = {
        wheel.split("-")[0].replace("_", "-"): (wheel, path) for wheel, path in python.items() if wheel.endswith(".whl")
    }
    packages = {name: _package(name, wheel, path) for name, (wheel, path) in found.items()}
    packages["matplotlib"]["depends"] = sorted(packages.keys() - {"matplotlib"})
    info = {"arch": "wasm32", "platform": "emscripten_5_0_3", "abi_version": "2026_0", "python": "3.14.0"}
    return json.dumps({"info": info, "packages": packages}, sort_keys=True).encode()


def _package(name, wheel, path):
    return {
        "name": name,
        "version": wheel.split("-")[1],
        "file_name": wheel,
        "install_dir": "site",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": [],
        "depends": [],
        "unvendored_tests": False,
    }
