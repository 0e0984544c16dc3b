"""The lock file in which Pyodide finds the packages that a page can load."""

import hashlib
import json
from typing import Any

LOCK = "pyodide-lock.json"


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
