"""Turn a source notebook into the released one and register it, with nbgrader's generate_assignment."""

from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.course.configuration import nbgrader_config
from autograder.errors import UserError
from autograder.gradebook.coursedir import CourseDirectory, open_coursedir, quiet_log
from autograder.gradebook.engine import usable_gradebook
from autograder.gradebook.queries import registered_notebook


class NotGenerated(UserError):
    """nbgrader cannot generate the assignment; the message tells the instructor why."""


class RestoreStub(NbGraderPreprocessor):
    """Put the chapter's own stub, byte for byte, where ClearSolutions removed a solution."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        if "autograder" in cell.metadata:
            cell.source = cell.metadata.pop("autograder")["stub"]
        return cell, resources


def generate(root: Path, name: str, repo: Path, database: str | None = None) -> None:
    """Convert root/source to root/release, and register the assignment in a gradebook if one is given.

    Raises NotGenerated.
    """
    config = nbgrader_config(root, repo)
    config.GenerateAssignment.force = True
    if database:
        config.CourseDirectory.db_url = database
    else:
        config.GenerateAssignment.no_database = True
        config.SaveCells.enabled = False
    coursedir = CourseDirectory(config=config, assignment_id=name)
    with quiet_log() as (log, errors):
        try:
            GenerateAssignment(coursedir=coursedir, config=config, log=log).start()
        except NbGraderException as error:
            raise NotGenerated("\n".join([f"{name}: nbgrader could not generate the assignment", *errors])) from error


def refuse_unregistered(course: Path, name: str) -> None:
    """Raise UserError if the gradebook lacks an assignment; it may be a new gradebook beside an old release."""
    with usable_gradebook(open_coursedir(course, name)) as gradebook:
        registered = registered_notebook(gradebook, name)
    if registered is None:
        raise UserError(
            f"{name} is released in {course}, but not in its gradebook, where the scores belong: run `autograder "
            f"release {name}`, which adds it and changes no file that students have"
        )
