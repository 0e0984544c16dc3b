"""The values that a feedback page needs from the gradebook, besides the graded notebook."""

from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.utils import is_grade, is_solution

from autograder.course.comments import expanded
from autograder.course.handout import check_cell
from autograder.gradebook.submission_rows import SubmissionRows, marks_of
from autograder.scores.notices import Notices
from check.scoring import Result


def page_values(notebook: NotebookNode, rows: SubmissionRows, notices: Notices) -> dict[str, Any]:
    """Return the values by their names in the template."""
    marks = marks_of(rows.grades, rows.notebook.late_submission_penalty)
    results = map(Result.from_json, notebook.metadata.autograder.results)
    texts = [cell.metadata.nbgrader for cell in notebook.cells if is_grade(cell) and is_solution(cell)]
    comments = {name: expanded(row.manual_comment or "", notices.reusable) for name, row in rows.comments.items()}
    return {
        "notices": notices,
        "score": marks.total,
        "points": rows.notebook.max_score,
        "penalty": marks.penalty,
        "grades": rows.grades,
        "comments": comments,
        "texts": {about.grade_id: about.points for about in texts},
        "results": {check_cell(result.function): result for result in results},
    }
