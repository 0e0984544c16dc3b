"""What nbgrader_config.py plugs into nbgrader, so that it grades through our sandbox and our judge.

`nbgrader autograde`, formgrader's button and `autograder grade` all come through here.
"""

import re
from pathlib import Path

from nbconvert.exporters import NotebookExporter
from nbgrader.api import Comment, Grade, Gradebook
from nbgrader.converters import Autograde, NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution
from traitlets import Enum

from autograder.course.lock import alone
from autograder.errors import UserError
from autograder.gradebook.late_work import (
    TIMESTAMP,
    due_with_extension,
    read_timestamp,
    score_after_penalty,
    seconds_late,
    timestamp_text,
)
from autograder.gradebook.queries import by_cell, given_by_hand
from autograder.gradebook.rebuilding import rebuild
from autograder.grading.cluster import connected
from autograder.grading.queue import open_queue
from autograder.grading.submitted_file import read_file
from check.judge import Result

SECRET = re.compile("[0-9a-f]{128}")  # as nbgrader's exchange draws it, one for each submission


class SubmissionExporter(NotebookExporter):
    """Reads a submission, whatever is in the file, and gives nbgrader a clean and graded notebook.

    nbgrader makes one for each run, before it touches the first submission, and then asks it for every
    notebook twice: as submitted, and as written to `autograded`.
    """

    sandbox = Enum(["bwrap", "none"], "bwrap", help="none gives student code your own rights").tag(config=True)

    parent: Autograde

    def __init__(self, **options):
        super().__init__(**options)
        self.grader = getattr(self.parent, "grader", None) or self._open_grader(self.parent)
        self.parent.coursedir = guarded(self.parent.coursedir)

    def from_filename(self, filename, resources=None, **options):
        """The notebook to go on with, as text; a submission is replaced by what was rebuilt from it."""
        path = Path(filename)
        if not self._is_submitted(path, resources["nbgrader"]):
            return super().from_filename(filename, resources, **options)
        graded = self.grader.graded(path)
        notebook = rebuild(graded.submission, graded.report, self.grader.assignment.released)
        self._keep_what_nbgrader_needs(path.parent, resources["nbgrader"])
        return self.from_notebook_node(notebook, resources, **options)

    def _open_grader(self, autograde):
        course = autograde.coursedir
        try:
            with alone(Path(course.root)), connected() as client:
                grader = open_queue(Path(course.root), course.assignment_id, client, sandbox=self.sandbox)
            grader.expect(Path(file) for files in autograde.assignments.values() for file in files)
            return grader
        except (UserError, OSError) as error:
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from error

    def _is_submitted(self, path, names):
        course = self.parent.coursedir
        folder = course.format_path(course.submitted_directory, names["student"], names["assignment"])
        return path.parent == Path(folder)

    def _keep_what_nbgrader_needs(self, submitted, names):
        """The time, which nbgrader compares, and the exchange's secret, which names the page there; nothing else."""
        course = self.parent.coursedir
        timestamp = course.get_existing_timestamp(str(submitted))
        secret = read_file(submitted / "submission_secret.txt").raw[:200].decode("ascii", "replace").strip()
        kept = {
            TIMESTAMP: timestamp_text(timestamp) if timestamp else "",
            "submission_secret.txt": secret if SECRET.fullmatch(secret) else "",
        }
        graded = Path(course.format_path(course.autograded_directory, names["student"], names["assignment"]))
        for name, text in kept.items():
            if text:
                graded.mkdir(parents=True, exist_ok=True)
                (graded / name).write_text(text, encoding="utf-8")


class SaveScores(NbGraderPreprocessor):
    """nbgrader's SaveAutoGrades, with one transaction for a submission where that has two for each exercise."""

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            recorded = gradebook.find_submission_notebook(names["notebook"], names["assignment"], names["student"])
            grades = {grade.name: grade for grade in recorded.grades}
            comments = {comment.name: comment for comment in recorded.comments}
            for cell in nb.cells:
                name = cell.metadata.get("nbgrader", {}).get("grade_id")
                if is_grade(cell):
                    grade = grades[name]
                    grade.auto_score, _ = determine_grade(cell)
                    # A score given by hand stays, and asks to be looked at again.
                    grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
                if is_solution(cell):
                    comments[name].auto_comment = "No response." if _is_stub(cell) else None
            gradebook.db.commit()
            submission = recorded.assignment
            due = due_with_extension(submission.assignment.duedate, submission.extension)
            nb.metadata["autograder"]["late"] = seconds_late(submission.timestamp, due)
        return nb, resources


class MarkRecorded(NbGraderPreprocessor):
    """Runs last, and marks a notebook whose scores are in the gradebook: what a killed run left has no mark."""

    def preprocess(self, nb, resources):
        nb.metadata["autograder"]["recorded"] = True
        return nb, resources


class ReadGradebook(NbGraderPreprocessor):
    """nbgrader's GetGrades, with a few queries for a page where that has two or more for each cell."""

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            recorded = gradebook.find_submission_notebook(names["notebook"], names["assignment"], names["student"])
            penalty = recorded.late_submission_penalty or 0.0
            results = map(Result.from_json, nb.metadata.autograder.results)
            resources["feedback"] = {
                "score": score_after_penalty(recorded.score, penalty),
                "points": recorded.max_score,
                "penalty": penalty,
                "grades": by_cell(gradebook, recorded, Grade),
                "comments": by_cell(gradebook, recorded, Comment),
                "by_hand": given_by_hand(gradebook, names["assignment"], names["student"]).get(names["student"], ""),
                "results": {f"check-{result.function}": result for result in results},
            }
        return nb, resources


class GuardedCourse(CourseDirectory):
    """A course folder from which Autograde copies none of a student's other files, and follows no link.

    nbgrader copies all of them, links resolved, into `autograded` and on into the feedback.
    """

    def get_existing_timestamp(self, dest_path):
        try:
            return read_timestamp(read_file(Path(dest_path, TIMESTAMP)).raw)
        except ValueError:
            self.log.warning("%s: its timestamp.txt holds no time, and is ignored", dest_path)
            return None


def _is_stub(cell):
    return cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)


def guarded(coursedir: CourseDirectory) -> CourseDirectory:
    """The same course folder, guarded."""
    values = {name: getattr(coursedir, name) for name in coursedir.trait_names(config=True)}
    return GuardedCourse(parent=coursedir.parent, **values | {"ignore": ["*"]})
