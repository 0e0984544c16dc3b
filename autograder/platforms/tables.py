"""Grades as the tables that spreadsheets and learning platforms read, through nbgrader's exporter interface.

    nbgrader export --exporter=autograder.platforms.export.CanvasExporter --to=grades.csv

nbgrader's own exporter puts values between commas as they are, so that a comma in a name moves the score into
another column, and gives 0 to whoever handed in nothing. Here an ungraded chapter is an empty cell, which no
platform takes for a score.
"""

import csv
from collections.abc import Iterator

from nbgrader.api import Assignment, Grade, Gradebook, SubmittedAssignment, SubmittedNotebook
from nbgrader.plugins import ExportPlugin

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def harmless(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: text that begins like one gets an apostrophe before it.

    See OWASP, "CSV Injection". Numbers stay numbers. An id that begins so will not be found by the platform, which
    is the lesser evil.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


class CsvExporter(ExportPlugin):
    """A row for each student and chapter, with the columns of nbgrader's own exporter."""

    file = "grades.csv"

    def export(self, gradebook: Gradebook) -> None:
        """Write the table to `to`, or to grades.csv; commas, quotes and line ends in names stay where they are."""
        with open(self.to or self.file, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(map(harmless, row) for row in self.rows(gradebook))

    def rows(self, gradebook: Gradebook) -> Iterator[list]:
        """The table, its heading first."""
        heads = "assignment duedate timestamp student_id last_name first_name email"
        yield [*heads.split(), "raw_score", "late_submission_penalty", "score", "max_score"]
        for chapter in self.chapters(gradebook):
            submissions = graded(gradebook, chapter)
            for student in self.students(gradebook):
                found = submissions.get(student.id)
                names = [student.id, student.last_name, student.first_name, student.email]
                scores = [found.score, found.late_submission_penalty, final(found)] if found else [None] * 3
                handed_in = found and found.timestamp
                yield [chapter.name, chapter.duedate, handed_in, *names, *scores, chapter.max_score]

    def chapters(self, gradebook: Gradebook) -> list[Assignment]:
        """The chapters that are asked for; all if none is."""
        return [each for each in gradebook.assignments if not self.assignment or each.name in self.assignment]

    def students(self, gradebook: Gradebook) -> list:
        """The students who are asked for; all if none is."""
        return [each for each in gradebook.students if not self.student or each.id in map(str, self.student)]

    def scores(self, gradebook: Gradebook) -> Iterator[tuple]:
        """Each student, with the final score in each chapter; None where there is none."""
        submissions = [graded(gradebook, chapter) for chapter in self.chapters(gradebook)]
        for student in self.students(gradebook):
            found = [each.get(student.id) for each in submissions]
            yield student, [each and final(each) for each in found]


class CanvasExporter(CsvExporter):
    """The table that Canvas imports into its gradebook: one column a chapter, and a row of possible points.

    A number for an id is taken for Canvas's own, anything else for the login. Canvas makes an assignment of a column
    that it does not know; name one that it does "01_attention (4711)", as in its export. See Instructure's guide
    "How do I import grades in the Gradebook?".
    """

    def rows(self, gradebook: Gradebook) -> Iterator[list]:
        chapters = self.chapters(gradebook)
        yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(each.name for each in chapters)]
        yield ["Points Possible", "", "", "", "", *(each.max_score for each in chapters)]
        for student, scores in self.scores(gradebook):
            name = ", ".join(filter(None, (student.last_name, student.first_name))) or student.id
            ids = [student.id, "", ""] if student.id.isdecimal() else ["", "", student.id]
            yield [name, *ids, "", *scores]


class MoodleExporter(CsvExporter):
    """The table that Moodle imports: map "Username" or "Email address" to the user, each chapter to its grade item.

    See MoodleDocs, "Grade import".
    """

    def rows(self, gradebook: Gradebook) -> Iterator[list]:
        names = ["First name", "Last name", "Username", "Email address"]
        yield [*names, *(each.name for each in self.chapters(gradebook))]
        for student, scores in self.scores(gradebook):
            yield [student.first_name, student.last_name, student.id, student.email, *scores]


def graded(gradebook: Gradebook, chapter: Assignment) -> dict[str, SubmittedAssignment]:
    """Student id -> submission, for those in which every exercise has a score."""
    unscored = (
        gradebook.db.query(SubmittedNotebook.assignment_id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .filter(Grade.auto_score.is_(None), Grade.manual_score.is_(None))
    )
    found = gradebook.db.query(SubmittedAssignment).filter(
        SubmittedAssignment.assignment_id == chapter.id, SubmittedAssignment.id.not_in(unscored)
    )
    return {each.student_id: each for each in found}


def final(submission: SubmittedAssignment) -> float:
    """What a submission is worth after the penalty for being late."""
    return max(0.0, submission.score - submission.late_submission_penalty)
