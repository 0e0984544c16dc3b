"""Compile the modules that Python imports when a page starts. `compile.mjs` runs this in Pyodide."""

import importlib
import py_compile
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, "/project")
IN_PAGE = ("cell_run", "rest", "steps")
LATER = ("numpy.random", "numpy.ma", "_ast_unparse")  # check needs these for a wrong answer: np.unique imports numpy.ma
for name in (*(f"book.live.in_page.{name}" for name in IN_PAGE), *LATER, "os"):
    importlib.import_module(name)

source = Path("/tmp/source.py")
for name, module in sorted(sys.modules.items()):
    origin = module.__spec__ and module.__spec__.origin
    if not origin or not origin.startswith("/lib/"):
        continue
    if origin.endswith(".so"):
        target = Path(f"/out{origin}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
        continue
    loader: Any = module.__loader__
    source.write_text(loader.get_source(name), encoding="utf-8")
    py_compile.compile(
        str(source),
        f"/out{origin}c",
        origin,
        doraise=True,
        # Without docstrings, except those of NumPy, because readers may ask for help(np.sum).
        optimize=0 if name.startswith("numpy") else 2,
        # Python must not compare a module with its source, which the page does not have.
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
