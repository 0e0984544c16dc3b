"""Turn a source notebook into the released one, and register it in the gradebook, by nbgrader's generate_assignment."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.errors import UserError
from autograder.gradebook.coursedir import CourseDirectory, nbgrader_config, quiet_log
from autograder.gradebook.queries import registered_cells
from check.words import count


class NotGenerated(UserError):
    """nbgrader cannot make the assignment; the message tells the instructor why."""


class RestoreStub(NbGraderPreprocessor):
    """Put the chapter's own stub, byte for byte, where ClearSolutions removed a solution."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        if "autograder" in cell.metadata:
            cell.source = cell.metadata.pop("autograder")["stub"]
        return cell, resources


def generate(root: Path, name: str, house: Path, database: str | None = None) -> None:
    """Convert root/source to root/release, and register the assignment in a gradebook if one is given.

    Raises NotGenerated.
    """
    config = nbgrader_config(root, house)
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


def refuse_other_cells(database: str, name: str, cells: set[str]) -> None:
    """Raise NotGenerated if a release would add or remove cells of an assignment that has submissions.

    nbgrader cannot do that, and says so only after it has begun to write.

    cells: the grade ids of the notebook to release.
    """
    registered = registered_cells(database, name)
    if registered is None or not registered.submissions or registered.cells == cells:
        return
    raise NotGenerated(
        f"{name} is not released: the gradebook has {count(registered.submissions, 'submission')} of it, and nbgrader "
        f"cannot add or remove cells of an assignment that has submissions.\n"
        f"  new cells: {_listed(cells - registered.cells)}\n  removed cells: {_listed(registered.cells - cells)}\n"
        f"Changes inside cells are fine. To release other cells, first remove the assignment and its scores: "
        f"nbgrader db assignment remove {name} --force"
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
