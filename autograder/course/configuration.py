"""Set up a course folder, and read and change its nbgrader_config.py.

This does not import nbgrader, which takes seconds.
"""

import ast
from contextlib import suppress
from pathlib import Path
from pprint import pformat
from typing import Any

from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.course.files import replacing, write_atomically
from autograder.errors import UserError
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


def set_option(course: Path, option: str, value: Any) -> None:
    """Set an option in a course's nbgrader_config.py; an empty value removes it.

    option: such as "Assigned.exercises". Raises UserError if the file sets it in another way than `c.OPTION = value`.
    """
    set_up_course(course)
    path, target = course / "nbgrader_config.py", f"c.{option}"
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    earlier = [statement for statement in ast.parse(text).body if target in ast.unparse(statement)]
    if len(earlier) > 1 or not all(_sets(target, statement) for statement in earlier):
        raise UserError(f"{path}, line {earlier[0].lineno}, sets {target} in a way of its own: change it there")
    at = slice(earlier[0].lineno - 1, earlier[0].end_lineno) if earlier else slice(len(lines), None)
    lines[at] = [f"{target} = {pformat(value, width=100, sort_dicts=False)}"] if value else []
    with replacing(path) as part:
        part.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _sets(target: str, statement: ast.stmt) -> bool:
    """Return whether a statement does nothing but set an option to a value that is written out."""
    if not isinstance(statement, ast.Assign) or [ast.unparse(node) for node in statement.targets] != [target]:
        return False
    with suppress(ValueError):
        ast.literal_eval(statement.value)
        return True
    return False


_COURSE_CONFIG = """\
# nbgrader's commands that start in this folder use the configuration of the repository. Add your own settings below.
from contextlib import suppress
from pathlib import Path

c = get_config()
load_subconfig("nbgrader_config.py", path={repo!r})
c.CourseDirectory.root = str(Path(__file__).resolve().parent)
"""
