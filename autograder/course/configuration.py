"""Set up a course folder, and read its configuration of nbgrader, without importing nbgrader, which takes seconds."""

from contextlib import suppress
from pathlib import Path

from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.course.files import write_atomically
from autograder.layout import REPO


def nbgrader_config(course: Path, repo: Path = REPO) -> Config:
    """Return the repository's nbgrader_config.py merged with the course's own, which has priority."""
    merged = Config()
    for folder in (repo, course):
        if (folder / "nbgrader_config.py").exists():
            merged.merge(PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config())
    merged.CourseDirectory.root = str(course.absolute())
    return merged


def set_up_course(course: Path, repo: Path = REPO) -> None:
    """Make the course folder if it does not exist, and write a nbgrader_config.py that loads the repository's.

    Only its owner can open a new or empty folder, because nbgrader lets everyone read its gradebook and feedback. A
    folder with files keeps its mode. Without the configuration, nbgrader's commands inside the folder would use
    nbgrader's own configuration, and run student code without a sandbox.
    """
    course.mkdir(parents=True, exist_ok=True)
    if not any(course.iterdir()):
        with suppress(PermissionError):  # another account owns the folder
            course.chmod(0o700)
    path = course / "nbgrader_config.py"
    if not path.exists():
        write_atomically(path, _COURSE_CONFIG.format(repo=str(repo.absolute())))


_COURSE_CONFIG = """\
# nbgrader's commands that start in this folder use the configuration of the repository. Add your own settings below.
from contextlib import suppress
from pathlib import Path

c = get_config()
load_subconfig("nbgrader_config.py", path={repo!r})
c.CourseDirectory.root = str(Path(__file__).resolve().parent)
"""
