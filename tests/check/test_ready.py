"""`python -m check` says in one line whether a student's computer is ready, or what to do."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import public_key
from autograder.layout import REPO
from autograder.release.bundle import NEEDED, check_files, write
from check import __main__ as ready
from check import bundle_data, key

pytestmark = pytest.mark.autograder


@pytest.fixture
def bundle(tmp_path):
    """The files of a bundle that the command reads."""
    write(check_files(), tmp_path)
    (tmp_path / "check" / "keys").mkdir()
    key.save(public_key(find_exercise("softmax")), tmp_path / "check" / "keys" / "softmax.npz")
    return tmp_path


def test_a_ready_bundle_prints_one_line(bundle):
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", bundle_data.FOLDER)}
    result = subprocess.run(
        [sys.executable, "-m", "check"], cwd=bundle, env=environment, capture_output=True, text=True
    )
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    assert (result.stdout, result.returncode) == (f"OK: {versions}, and check is ready for 1 exercise.\n", 0)
    assert not result.stderr


def test_a_missing_package_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setattr(ready, "find_spec", lambda name: None if name in ("numpy", "jupyterlab") else True)
    is_ready, line = ready.readiness()
    assert not is_ready and " has no numpy and no jupyterlab. Install the packages as step 1 of README.txt says" in line


def test_missing_keys_are_said(tmp_path, monkeypatch):
    monkeypatch.setenv(bundle_data.FOLDER, str(tmp_path))
    is_ready, line = ready.readiness()
    assert not is_ready and "Unzip the whole bundle" in line


@pytest.mark.parametrize("content", [b"", b"half of a file", b"PK\x03\x04"])
def test_a_damaged_key_is_named(bundle, monkeypatch, content):
    (bundle / "check" / "keys" / "softmax.npz").write_bytes(content)
    monkeypatch.setenv(bundle_data.FOLDER, str(bundle / "check"))
    is_ready, line = ready.readiness()
    assert not is_ready and "the answer key softmax.npz is damaged. Unzip the whole bundle" in line


def test_the_command_looks_for_what_the_bundle_installs():
    assert ready.NEEDED == NEEDED


def test_numpy_is_not_needed_to_say_that_it_is_missing():
    code = "import sys; sys.modules['numpy'] = None; from check import __main__"
    assert subprocess.run([sys.executable, "-c", code], cwd=REPO).returncode == 0
