"""Store the bytecode of the modules that Python imports when a page starts: `make bytecode`."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from book.live import assets
from book.live.bytecode import stored

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
STANDARD_LIBRARY, PACKAGES = "lib/python314.zip/", "lib/python3.14/site-packages/"  # folders of Pyodide
NO_NODE = "Pyodide compiles the modules in Node. Install Node 20 or newer: `apt-get install nodejs` on Debian."


def compiled(python: dict[str, bytes]) -> dict[str, bytes]:
    """Return the bytecode of the modules that Python imports when a page starts, "ARCHIVE/MODULE.pyc" -> content.

    python: Pyodide's files and the wheels, name -> content.

    Raises SystemExit if Node is missing.
    """
    if not shutil.which("node"):
        sys.exit(NO_NODE)
    with tempfile.TemporaryDirectory() as work:
        pyodide, out = Path(work, "pyodide"), Path(work, "out")
        pyodide.mkdir()
        out.mkdir()
        for name, content in {**python, assets.PYODIDE_LOCK: assets.lock_of_pyodide(python)}.items():
            (pyodide / name).write_bytes(content)
        command = ["node", str(FOLDER / "compile.mjs"), str(pyodide), str(ROOT), str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.pyc")}
    numpy = next(name for name in python if name.startswith("numpy-"))
    places = {STANDARD_LIBRARY: "python_stdlib.zip", PACKAGES: numpy}
    return {
        f"{archive}/{file.removeprefix(place)}": content
        for place, archive in places.items()
        for file, content in files.items()
        if file.startswith(place)
    }


def main() -> None:
    python = {name: path.read_bytes() for name, path in assets.files().items()}
    bytecode = compiled(python)
    archives = {member.partition("/")[0] for member in bytecode}
    stored.save({name: python[name] for name in archives}, bytecode)
    print(f"The bytecode of {len(bytecode)} modules is stored. `make` puts it into the pages.")


if __name__ == "__main__":
    main()
