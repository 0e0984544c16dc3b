"""Compile the modules that Python imports when a page starts. `compile.mjs` runs this in Pyodide."""

import importlib
import py_compile
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, "/project")
for name in ("check.checking", "numpy.random", "json", "os"):
    importlib.import_module(name)

source = Path("/tmp/source.py")
for name, module in sorted(sys.modules.items()):
    spec = module.__spec__
    if spec and spec.origin and spec.origin.startswith("/lib/") and spec.origin.endswith(".py"):
        loader: Any = spec.loader
        source.write_text(loader.get_source(name), encoding="utf-8")
        # Python must not compare a module with its source, which the page does not have.
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        target = f"/out{spec.origin}c"
        py_compile.compile(str(source), target, spec.origin, doraise=True, invalidation_mode=mode)
