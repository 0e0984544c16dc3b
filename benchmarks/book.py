"""Measure `make`, a second `make` with nothing changed, `make check` and `make test`, and list the slowest tests.

    python benchmarks/book.py [--no-test]

The commands run one after the other in a copy of the committed files with a new virtual environment, so your own
`_build` stays as it is. pip uses its cache. The benchmark asserts nothing.
"""

import argparse
import re
import subprocess
import tempfile
import time
from pathlib import Path

from tabulate import tabulate

ROOT = Path(__file__).resolve().parent.parent
# The file that each step of `make` writes last. The book is built in parallel with the last two steps.
STEPS = {
    "set up": ".venv/.done",
    "book": "_build/.done",
    "release": "course/release/.done",
    "example class": "example/summary.txt",
}


def copy_tracked_files(folder):
    """Copy the committed files into a folder."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)


def timed(folder, *command):
    """Run a command in a folder. Return the seconds it took and what it printed."""
    start = time.time()
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return time.time() - start, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-test", action="store_true", help="leave out `make check` and `make test`")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy_tracked_files(folder)
        start = time.time()
        fresh, _ = timed(folder, "make")
        rows = [["make", fresh]]
        rows += [[f"  {step} done after", Path(folder, file).stat().st_mtime - start] for step, file in STEPS.items()]
        rows.append(["make, nothing changed", timed(folder, "make")[0]])
        if not options.no_test:
            rows.append(["make check", timed(folder, "make", "check")[0]])
            seconds, output = timed(folder, "make", "test")
            slowest = re.findall(r"^([\d.]+)s (?:call|setup|teardown) +(\S+)", output, re.MULTILINE)
            rows += [["make test", seconds], *([f"  {name}", float(duration)] for duration, name in slowest)]
        print(tabulate(rows, headers=["", "seconds"], floatfmt=".1f"))


if __name__ == "__main__":
    main()
