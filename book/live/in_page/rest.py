"""Import modules of Python and NumPy that a page does not load at its start. The first import loads all of them."""

import json
import shutil
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = "/rest"  # of the unpacked archive, in which a module has the path that it would have in Pyodide


class Finder:
    """Find the modules of these names."""

    def __init__(self, names: Iterable[str]):
        self.names = frozenset(names)

    def find_spec(self, name: str, path: Iterable[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name not in self.names:
            return None
        if not Path(FOLDER).exists():
            shutil.unpack_archive(HERE / "rest.zip", FOLDER)
        return PathFinder.find_spec(name, [f"{FOLDER}{entry}" for entry in path or sys.path])


def install() -> None:
    """Let Python look for modules there, after all other places."""
    sys.meta_path.append(Finder(json.loads((HERE / "rest.json").read_text(encoding="utf-8"))))
