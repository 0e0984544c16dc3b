"""nbgrader's generate_assignment: from a source notebook to the released one, and into the gradebook."""

from pathlib import Path

from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.errors import UserError
from autograder.gradebook.coursedir import CourseDirectory, nbgrader_config, quiet_log
from autograder.gradebook.queries import registered_cells
from check.words import count


class NotGenerated(UserError):
    """Why nbgrader has no such assignment now; the message is for whoever releases it."""


class RestoreStub(NbGraderPreprocessor):
    """Runs after ClearSolutions, and puts the chapter's own stub where a solution was, byte for byte."""

    def preprocess_cell(self, cell, resources, cell_index):
        if "autograder" in cell.metadata:
            cell.source = cell.metadata.pop("autograder")["stub"]
        return cell, resources


def generate(root: Path, name: str, house: Path, database: str | None = None) -> None:
    """From root/source to root/release, and into a gradebook if one is given. Raises NotGenerated."""
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
    """nbgrader cannot add or remove cells once there are submissions; say so before anything is touched.

    cells: the grade ids of the notebook that would be released. Raises NotGenerated.
    """
    there = registered_cells(database, name)
    if there is None or not there.submissions or there.cells == cells:
        return
    raise NotGenerated(
        f"{name} is not released: the gradebook has {count(there.submissions, 'submission')} of it, and nbgrader "
        f"cannot change which cells an assignment has under them.\n"
        f"  new cells: {_listed(cells - there.cells)}\n  cells no longer there: {_listed(there.cells - cells)}\n"
        f"Changes inside cells are fine. To release new cells, remove the assignment and its scores first: "
        f"nbgrader db assignment remove {name} --force"
    )


def _listed(names):
    return ", ".join(sorted(names)) or "none"
