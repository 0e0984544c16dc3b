"""How `make test` shares the tests out among processes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

TEST = """import os
from pathlib import Path

import pytest


@pytest.mark.parametrize("number", range(6))
def test_anything(number):
    with Path({log!r}).open("a") as log:
        log.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_the_tests_of_one_folder_share_a_process(tmp_path):
    """Else two processes would build the one book at once."""
    tests = tmp_path / "tests"
    for folder in ("book", "solutions"):
        (tests / folder).mkdir(parents=True)
        (tests / folder / f"test_{folder}.py").write_text(TEST.format(log=str(tmp_path / folder)))
    shutil.copy(Path(__file__).with_name("conftest.py"), tests)
    command = [sys.executable, "-m", "pytest", "--numprocesses=2", "--dist=loadgroup", "--no-loadscope-reorder"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(Path(__file__).parent.parent / "book")  # conftest.py imports from it
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    processes = [set((tmp_path / folder).read_text().split()) for folder in ("book", "solutions")]
    assert [len(names) for names in processes] == [1, 1] and processes[0] != processes[1]
