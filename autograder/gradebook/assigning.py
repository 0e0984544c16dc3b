"""Let the gradebook count the assigned exercises of a chapter, as nbgrader_config.py names them.

voided.json and the gradebook have the part that counts, so everything that shows a sum agrees. `follow_assignment`
brings both up to date with the configuration.
"""

from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory

from autograder.course.handout import exercise_of
from autograder.errors import UserError
from autograder.gradebook.queries import registered_notebook
from autograder.gradebook.score_log import logged_changes
from autograder.gradebook.voiding import Effect, set_kinds
from autograder.scores.assigned import assigned_exercises
from autograder.scores.voids import Kind, load_voids
from check.words import listed


def graded_cells(gradebook: Gradebook, chapter: str) -> dict[str, float]:
    """Return graded cell -> the points that it adds to the maximum; {} if the gradebook does not have the chapter."""
    notebook = registered_notebook(gradebook, chapter)
    return {cell.name: cell.max_score for cell in notebook.grade_cells} if notebook else {}


def follow_assignment(gradebook: Gradebook, coursedir: CourseDirectory) -> Effect | None:
    """Let the assigned exercises count, and only these; return the effect, None if they do already.

    The caller holds the course's lock. Raises UserError for an assignment that makes no sense, and changes nothing.
    """
    kinds = _pending(gradebook, coursedir)
    if not kinds:
        return None
    with logged_changes(gradebook, coursedir, f"another part of {coursedir.assignment_id} is assigned"):
        return set_kinds(gradebook, coursedir, kinds)


def refuse_contradictions(gradebook: Gradebook, coursedir: CourseDirectory) -> None:
    """Raise UserError if the configuration assigns what the chapter lacks, or leaves out what counts for everyone."""
    _pending(gradebook, coursedir)


def refuse_outdated(gradebook: Gradebook, coursedir: CourseDirectory) -> None:
    """Raise UserError if nbgrader_config.py assigns other exercises than those that count in the gradebook."""
    if kinds := _pending(gradebook, coursedir):
        chapter, names = coursedir.assignment_id, [f"`{exercise_of(cell)}`" for cell in kinds]
        raise UserError(
            f"nbgrader_config.py now assigns another part of {chapter}, which differs in {listed(names)}: run "
            f"`autograder assign {chapter}`, which brings the scores up to date"
        )


def _pending(gradebook: Gradebook, coursedir: CourseDirectory) -> dict[str, Kind | None]:
    """Return graded cell -> how it should count, for the cells that do not count so yet. Raises UserError."""
    course, chapter = Path(coursedir.root), coursedir.assignment_id
    points = graded_cells(gradebook, chapter)
    if not points:
        return {}
    voids = load_voids(course, chapter)
    assigned = assigned_exercises(coursedir.config, chapter, [exercise_of(cell) for cell in points])
    optional = [cell for cell in points if exercise_of(cell) not in assigned]
    for cell in optional:
        if cell in voids.cells and voids.cells[cell].kind == "credit-all":
            name = exercise_of(cell)
            raise UserError(
                f"`{name}` is void with --credit-all, so it counts in every score: assign it, or let it count again "
                f"with `autograder void {name} --undo`"
            )
    # After a killed run, voided.json has the exercise, but the gradebook still its points.
    kinds: dict[str, Kind | None] = {
        cell: "optional" for cell in optional if cell not in voids.cells or (cell in voids.optional and points[cell])
    }
    return kinds | {cell: None for cell in voids.optional if cell in points and cell not in optional}
