"""What a command says if a package of the hub is missing."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.grading


@pytest.mark.parametrize(
    "module, package, command", [("watchfiles", "watchfiles", "watch"), ("jwt", "PyJWT", "passback")]
)
def test_a_command_names_what_installs_a_missing_package(module, package, command, released_course):
    code = f"""
import sys
sys.modules[{module!r}] = None  # importing it raises ModuleNotFoundError
from autograder.cli.main import main
sys.exit(main([{command!r}, "01_attention", "--course", {str(released_course)!r}]))"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.returncode == 2 and process.stderr.count("\n") == 1
    assert f"`{package}`" in process.stderr and "run `make formgrader`" in process.stderr
