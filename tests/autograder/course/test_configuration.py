"""The configuration of a course folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from autograder.course.configuration import set_up_course

pytestmark = pytest.mark.grading

# No file may have more than 20 bytes, as on a full disk.
SCRIPT = """
import resource, sys
from pathlib import Path
from autograder.course.configuration import set_up_course

resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
set_up_course(Path(sys.argv[1]))
"""


def test_a_full_disk_leaves_no_configuration_without_a_sandbox(tmp_path: Path) -> None:
    """An incomplete file would stay, and nbgrader's own commands would run student code without a sandbox."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True)
    assert "OSError" in done.stderr and not (tmp_path / "nbgrader_config.py").exists()
    set_up_course(tmp_path)
    assert "load_subconfig" in (tmp_path / "nbgrader_config.py").read_text(encoding="utf-8")
