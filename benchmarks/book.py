"""How long the README's two commands take, and where the time goes: `make`, `make` again at once, and `make test`.

    python benchmarks/book.py [--no-test]

All run one after the other in a copy of the tracked files with a new virtual environment, pip's cache as it is, so that
nothing touches your own `_build`. Nothing is asserted.
"""

import argparse
import re
import subprocess
import tempfile
import time
from pathlib import Path

from tabulate import tabulate

ROOT = Path(__file__).resolve().parent.parent
# The file that each step of `make` ends with; the book is built beside the last two.
STEPS = {
    "set up": ".venv/.done",
    "book": "_build/.done",
    "release": "course/release/.done",
    "example class": "example/summary.txt",
}


def copy_tracked_files(folder):
    """The files git tracks, as they are committed."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)


def timed(folder, *command):
    """Seconds that a command took in a folder, and what it printed."""
    start = time.time()
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return time.time() - start, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-test", action="store_true", help="leave `make test` out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy_tracked_files(folder)
        start = time.time()
        fresh, _ = timed(folder, "make")
        rows = [["make", fresh]]
        rows += [[f"  {step} done after", Path(folder, file).stat().st_mtime - start] for step, file in STEPS.items()]
        rows.append(["make, nothing changed", timed(folder, "make")[0]])
        if not options.no_test:
            seconds, said = timed(folder, "make", "test", "PYTEST_ADDOPTS=--durations=10")
            slowest = re.findall(r"^([\d.]+)s (?:call|setup|teardown) +(\S+)", said, re.MULTILINE)
            rows += [["make test", seconds], *([f"  {name}", float(took)] for took, name in slowest)]
        print(tabulate(rows, headers=["", "seconds"], floatfmt=".1f"))


if __name__ == "__main__":
    main()
