"""Compute what late work loses: a plug-in for nbgrader that applies the steps of `autograder due --late`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook, SubmittedAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties

from autograder.gradebook.deadlines import load_rules


class PenaltiesForLateWork(AssignLatePenalties):
    """nbgrader's AssignLatePenalties, but asked only about late work, because each answer takes two queries."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        return super().preprocess(nb, resources) if nb.metadata["autograder"]["late"] else (nb, resources)


class LateCredit(LateSubmissionPlugin):
    """Take off what the chapter's steps say. Without steps, nbgrader's `penalty_method` decides."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """Return the points to take off. The parent is nbgrader's AssignLatePenalties, which knows the chapter."""
        rules = load_rules(Path(self.config.CourseDirectory.root), self.parent.assignment_id)
        if not rules.steps:
            return super().late_submission_penalty(student_id, score, total_seconds_late)
        return score * (1 - rules.share(total_seconds_late))


def late_penalty(coursedir: CourseDirectory, student: str, score: float, seconds: float) -> float:
    """Return what nbgrader's AssignLatePenalties will take off, with the plug-in that the course configures."""
    preprocessor = AssignLatePenalties(config=coursedir.config)
    preprocessor.assignment_id = coursedir.assignment_id
    preprocessor.init_plugin()
    penalty = preprocessor.plugin_inst.late_submission_penalty(student, score, seconds)
    return min(max(penalty or 0.0, 0.0), score)


def store_penalties(
    gradebook: Gradebook, coursedir: CourseDirectory, submissions: Iterable[SubmittedAssignment]
) -> None:
    """Compute the penalties of these submissions again, because scores in this session have changed, and commit."""
    gradebook.db.flush()
    for submission in submissions:
        late = submission.total_seconds_late
        for notebook in submission.notebooks:
            gradebook.db.refresh(notebook)  # nbgrader's score is a query
            notebook.late_submission_penalty = (
                late_penalty(coursedir, submission.student_id, notebook.score, late) if late else None
            )
    gradebook.db.commit()
