"""How long the book takes: built from nothing, and built again with nothing changed.

    python benchmarks/book.py

Both builds run one after the other in a copy of the tracked files, so that neither touches your `_build`.
Nothing is asserted. `make` from a fresh clone is timed from outside, with pip's cache warm: `time make`.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def copy_tracked_files(folder):
    """The files git tracks, as they are committed."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)


def seconds_to_build(folder):
    command = [Path(sys.executable).with_name("jupyter-book"), "build", folder, "--quiet"]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main():
    with tempfile.TemporaryDirectory() as folder:
        copy_tracked_files(folder)
        from_nothing, unchanged = seconds_to_build(folder), seconds_to_build(folder)
    print(f"from nothing {from_nothing:.1f} s, unchanged {unchanged:.1f} s, ratio {from_nothing / unchanged:.0f}")


if __name__ == "__main__":
    main()
