"""A disk that fills up while a class is graded gives one message, and nothing is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import autograder
from autograder.sandbox import bubblewrap
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
REPO = Path(autograder.__file__).parent.parent
SIZE = 30_000_000

# The folder `small` is a disk of its own. The script grades with little space left, then with enough.
SCRIPT = """
import json, os, shutil, sys
from pathlib import Path
from autograder.cli.main import main
from tests.autograder.gradebook.graded_course import computed_scores

chapter, course, small = sys.argv[1], sys.argv[2], Path(sys.argv[3])
filler = small / "filler"
shutil.copytree(course, small / "course")
room = os.statvfs(small).f_bavail * os.statvfs(small).f_frsize
filler.write_bytes(bytes(room - 600_000))
codes = [main(["grade", chapter, "--course", str(small / "course")])]
filler.unlink()
codes.append(main(["grade", chapter, "--course", str(small / "course")]))
scores = computed_scores(small / "course", chapter)
pages = sorted(page.parent.parent.name for page in small.glob("course/feedback/*/*/*.html"))
print(json.dumps([codes, {student: sum(of_exercises.values()) for student, of_exercises in scores.items()}, pages]))
"""


@pytest.mark.thorough("a run that is killed at any moment loses nothing either")
def test_a_full_disk_loses_nothing(course, hand_in, contents, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    scores = {}
    for number in range(12):
        name, score = [("perfect", 22), ("mistake-1", 18), ("half-done", 9)][number % 3]
        hand_in(f"{name}-{number}", contents[name] + b"\n" * number)
        scores[f"{name}-{number}"] = score
    disk = ["--dev-bind", "/", "/", "--size", str(SIZE), "--tmpfs", str(small)]
    done = subprocess.run(
        [str(bubblewrap.find()), *disk, sys.executable, "-c", SCRIPT, CHAPTER, str(course), str(small)],
        env=os.environ | {"PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    codes, recorded, pages = json.loads(done.stdout.splitlines()[-1])
    assert codes == [2, 0], done.stderr
    assert "No space left on device" in done.stderr or "disk is full" in done.stderr
    errors = [line for line in done.stderr.splitlines() if not line.startswith("grading: ")]
    assert len(errors) < len(scores)
    assert recorded == scores and pages == sorted(scores)
