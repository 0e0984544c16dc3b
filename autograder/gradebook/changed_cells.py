"""Add cells to an assignment that has submissions.

nbgrader refuses to add or remove cells once there are submissions (nbgrader/preprocessors/savecells.py), even a cell of
text. Its tables have no such limit: a new exercise needs a row for its score in each submission.
"""

from collections.abc import Iterable

from nbformat.notebooknode import NotebookNode
from nbgrader.api import Comment, Grade, Gradebook, Notebook, SubmittedNotebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import is_grade, is_locked, is_solution

from autograder.course.handout import exercise_of
from autograder.errors import UserError
from autograder.gradebook.queries import registered_notebook
from autograder.gradebook.score_log import logged_changes
from check.words import count


class WouldLoseScores(UserError):
    """A release would remove exercises that have scores; the message names them."""


def adapt_cells(gradebook: Gradebook, coursedir: CourseDirectory, released: NotebookNode) -> None:
    """Give an assignment with submissions the cells of a new release, which nbgrader then accepts; keep every score.

    In each submission, a new exercise has 0 points until it is graded again. Does nothing without submissions. After a
    killed run, a second one completes the work.

    Raises WouldLoseScores.
    """
    name = coursedir.assignment_id
    notebook = registered_notebook(gradebook, name)
    if notebook is None or not notebook.submissions:
        return
    _refuse_removals(notebook, released)
    with logged_changes(gradebook, coursedir, "released again"):
        _add_cells(gradebook, name, released.cells)
        gradebook.db.refresh(notebook)
        kept = {cell.metadata.nbgrader.grade_id for cell in released.cells}
        for cell in notebook.source_cells:
            if cell.name not in kept:
                gradebook.db.delete(cell)  # a paragraph or a demonstration, which has no score
        for submitted in notebook.submissions:
            _complete(gradebook, notebook, submitted)
        gradebook.db.commit()


def _complete(gradebook: Gradebook, notebook: Notebook, submitted: SubmittedNotebook) -> None:
    """Give a submitted notebook the scores and comments that it lacks."""
    graded = {grade.cell_id for grade in submitted.grades}
    commented = {comment.cell_id for comment in submitted.comments}
    for cell in notebook.grade_cells:
        if cell.id not in graded:
            gradebook.db.add(Grade(cell=cell, notebook=submitted, auto_score=0.0))
    for cell in notebook.solution_cells:
        if cell.id not in commented:
            gradebook.db.add(Comment(cell=cell, notebook=submitted))


def _refuse_removals(notebook: Notebook, released: NotebookNode) -> None:
    grades = {cell.metadata.nbgrader.grade_id for cell in released.cells if is_grade(cell)}
    solutions = {cell.metadata.nbgrader.grade_id for cell in released.cells if is_solution(cell)}
    removed = {cell.name for cell in notebook.grade_cells} - grades
    removed |= {cell.name for cell in notebook.solution_cells} - solutions
    if removed:
        names = sorted({exercise_of(name) for name in removed})
        raise WouldLoseScores(
            f"{notebook.name} is not released: {count(len(notebook.submissions), 'submission')} would lose scores, "
            f"because the new release lacks {', '.join(names)}. Bring the exercise back, or remove the assignment with "
            f"all its scores: nbgrader db assignment remove {notebook.name} --force"
        )


def _add_cells(gradebook: Gradebook, name: str, cells: Iterable[NotebookNode]) -> None:
    """Add the cells that the gradebook lacks. nbgrader updates their content when it generates the release."""
    for cell in cells:
        grade_id, kind = cell.metadata.nbgrader.grade_id, {"cell_type": cell.cell_type}
        if is_grade(cell):
            points = float(cell.metadata.nbgrader.points)
            gradebook.update_or_create_grade_cell(grade_id, name, name, max_score=points, **kind)
        if is_solution(cell):
            gradebook.update_or_create_solution_cell(grade_id, name, name)
        if is_grade(cell) or is_solution(cell) or is_locked(cell):
            gradebook.update_or_create_source_cell(grade_id, name, name, locked=is_locked(cell), **kind)
