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
NO_NODE = "Pyodide compiles the modules in Node. Install Node 20 or newer: `apt-get install nodejs` on Debian."


def compiled(python: dict[str, bytes]) -> dict[str, bytes]:
    """Return the bytecode of the modules that Python imports when a page starts: path in Pyodide -> content.

    A library (.so) has no content, because it needs no compiling.

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
        files = sorted(path for path in out.rglob("*") if path.is_file())
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


def main() -> None:
    python = {name: path.read_bytes() for name, path in assets.files().items()}
    bytecode = compiled(python)
    stored.save(python, bytecode)
    print(f"The bytecode of {len(bytecode)} modules is stored. `make` puts it into the pages.")


if __name__ == "__main__":
    main()
