"""An archive of a course that the user may not change can still be read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import autograder
from autograder.course.regrade_requests import FILE
from autograder.sandbox import bubblewrap
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
REPO = Path(autograder.__file__).parent.parent
# This user owns the files, as root does outside, but has to respect their modes.
USER = ["--unshare-user", "--uid", "1000", "--gid", "1000", "--dev-bind", "/", "/", "--die-with-parent"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("history", ["none → 22", "1 change.", "is read-only, so what another program changed"]),
        ("requests", [f"{CHAPTER}, ada: `softmax`, 4 points\n  why\n", "1 open request in"]),
    ],
)
def test_an_archive_can_be_read(command, words, ada):
    (ada / "submitted" / "ada" / CHAPTER / FILE).write_text("softmax: why")  # no command has seen this request
    before = {path: path.read_bytes() for path in ada.rglob("*") if path.is_file()}
    for path in [ada, *ada.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    autograder = [sys.executable, "-m", "autograder", command, "--course", str(ada)]
    done = subprocess.run(
        [str(bubblewrap.find()), *USER, *autograder],
        env=os.environ | {"PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert all(part in done.stdout for part in words), done.stdout
    assert {path: path.read_bytes() for path in ada.rglob("*") if path.is_file()} == before
