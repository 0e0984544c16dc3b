"""Say in one line whether a chapter's bundle is ready, or what to do: `python -m check`."""

import platform
from importlib.util import find_spec

from check.bundle_data import data_folder
from check.words import count

NEEDED = ("numpy", "matplotlib", "jupyterlab")
INSTALL = "Install the packages as step 1 of README.txt says, and use the Python in .venv: .venv/bin/python -m check"
UNZIP = "Unzip the whole bundle into an empty folder, and run this command in that folder."


def readiness() -> tuple[bool, str]:
    """Return whether everything works, and the line that says so or what to do."""
    python = f"Python {platform.python_version()}"
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        return False, f"Not ready: {python} has no {' and no '.join(missing)}. {INSTALL}"
    import numpy

    from check.key import load

    files = sorted((data_folder() / "keys").glob("*.npz"))
    if not files:
        return False, f"Not ready: check finds no answer keys. {UNZIP}"
    for file in files:
        try:
            load(file)
        except Exception:  # a damaged file can raise anything
            return False, f"Not ready: the answer key {file.name} is damaged. {UNZIP}"
    return True, f"OK: {python}, NumPy {numpy.__version__}, and check is ready for {count(len(files), 'exercise')}."


if __name__ == "__main__":
    ready, line = readiness()
    print(line)
    raise SystemExit(not ready)
