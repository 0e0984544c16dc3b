"""How `make test` distributes the tests among processes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.patience import SECONDS

TEST = """import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def made(made_once):
    def make(folder):
        (folder / "maker").write_text(os.environ["PYTEST_XDIST_WORKER"])
        with Path({makers!r}).open("a") as makers:
            makers.write("made ")

    return made_once("anything", make)


@pytest.fixture(scope="session")
def fault(made_once):
    def make(folder):
        with Path({makers!r}).open("a") as makers:
            makers.write("failed ")
        raise ValueError("the book has an error")

    with pytest.raises((ValueError, AssertionError)) as raised:
        made_once("broken", make)
    return str(raised.value)


@pytest.mark.thorough("shows that a test left out is counted")
def test_left_out():
    raise AssertionError


@pytest.mark.parametrize("number", range(6))
def test_anything(number, made):
    assert [path.name for path in made.iterdir()] == ["maker"]
    with Path({log!r}).open("a") as log:
        log.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")


def test_each_process_reports_what_could_not_be_made(fault):
    assert "the book has an error" in fault
"""


def test_tests_of_one_file_share_a_process_and_all_processes_share_made_once(tmp_path):
    """Otherwise two processes would build the same book at once."""
    tests = tmp_path / "tests"
    tests.mkdir()
    for file in ("book", "solutions"):
        source = TEST.format(log=str(tmp_path / file), makers=str(tmp_path / "makers"))
        (tests / f"test_{file}.py").write_text(source)
    shutil.copy(Path(__file__).with_name("conftest.py"), tests)
    options = ["--numprocesses=2", "--dist=loadgroup", "--no-loadscope-reorder", f"--basetemp={tmp_path / 'run'}"]
    command = [sys.executable, "-m", "pytest", "--quick", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(Path(__file__).parent.parent)  # conftest.py imports from it
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "14 passed, 2 deselected" in result.stdout
    processes = [set((tmp_path / file).read_text().split()) for file in ("book", "solutions")]
    assert [len(names) for names in processes] == [1, 1] and processes[0] != processes[1]
    assert sorted((tmp_path / "makers").read_text().split()) == ["failed", "made"]
