"""A plug-in for nbgrader that gives late work the credit of `autograder due --late`."""

from pathlib import Path

from nbgrader.plugins import LateSubmissionPlugin

from autograder.gradebook.deadlines import load_rules


class LateCredit(LateSubmissionPlugin):
    """Take off what the chapter's steps say. Without steps, nbgrader's `penalty_method` decides."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """Return the points to take off. The parent is nbgrader's AssignLatePenalties, which knows the chapter."""
        rules = load_rules(Path(self.config.CourseDirectory.root), self.parent.assignment_id)
        if not rules.steps:
            return super().late_submission_penalty(student_id, score, total_seconds_late)
        return score * (1 - rules.share(total_seconds_late))
