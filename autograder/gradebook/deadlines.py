"""Set when a chapter is due, for all or for one student, in nbgrader's gradebook and in the course's rules."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from nbgrader.api import Gradebook, SubmittedAssignment

from autograder.gradebook.queries import due_date, submissions_query
from autograder.scores.late import Extension, Step, load_rules, save_rules, sentences


def set_due(gradebook: Gradebook, course: Path, chapter: str, due: datetime | None, steps: tuple[Step, ...]) -> None:
    """Set the due date and the steps; None removes the date. Extensions stay, but have no effect without a date."""
    gradebook.update_or_create_assignment(chapter, duedate=due)
    save_rules(course, chapter, replace(load_rules(course, chapter), steps=steps))
    store_extensions(gradebook, course, chapter)


def extend(gradebook: Gradebook, course: Path, chapter: str, student: str, until: datetime | None, why: str) -> None:
    """Extend a student's due date to `until`; None withdraws the extension."""
    rules = load_rules(course, chapter)
    extensions = {other: extension for other, extension in rules.extensions.items() if other != student}
    if until:
        extensions[student] = Extension(until, why)
    save_rules(course, chapter, replace(rules, extensions=extensions))
    for submission in submissions_query(gradebook, chapter).filter(SubmittedAssignment.student_id == student):
        submission.extension = None
    store_extensions(gradebook, course, chapter)


def store_extensions(gradebook: Gradebook, course: Path, chapter: str) -> None:
    """Write the extensions of students with a submission into nbgrader's table."""
    rules = load_rules(course, chapter)
    for submission in submissions_query(gradebook, chapter):
        due = submission.assignment.duedate
        if due is None:
            submission.extension = None  # nbgrader would add the extension to the due date
        elif extension := rules.extensions.get(submission.student_id):
            submission.extension = max(extension.until - due, timedelta())
    gradebook.db.commit()


def due_sentences(gradebook: Gradebook, course: Path, chapter: str) -> str:
    """Return what all students need to know about a chapter's due date."""
    return " ".join(sentences(due_date(gradebook, chapter), load_rules(course, chapter)))
