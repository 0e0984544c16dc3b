"""Helpers that grade a course, and read its gradebook, its pages and its exported scores."""

import csv

from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.plugins import CsvExportPlugin

from autograder.course.handout import exercise_of
from autograder.gradebook import class_run
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.queries import read_book
from autograder.pages.class_report import entries
from tests.conftest import CHAPTER


def graded(course, **options):
    return {row.student: row for row in class_run.grade_class(course, CHAPTER, **options)}


def open_gradebook(course):
    return Gradebook(open_coursedir(course, CHAPTER).db_url)


def grade_by_hand(course, cell, manual_score=None, extra_credit=None):
    """Enter scores, as formgrader's GradeHandler does (nbgrader.server_extensions.formgrader.apihandlers)."""
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade(cell, CHAPTER, CHAPTER, "ada")
        grade = gradebook.find_grade_by_id(grade.id)
        grade.manual_score, grade.extra_credit = manual_score, extra_credit
        grade.needs_manual_grade = grade.manual_score is None and grade.auto_score is None
        gradebook.db.commit()


def comment(course, cell, words):
    """Enter a comment, as formgrader's CommentHandler does."""
    with open_gradebook(course) as gradebook:
        kept_comment = gradebook.find_comment(cell, CHAPTER, CHAPTER, "ada")
        gradebook.find_comment_by_id(kept_comment.id).manual_comment = words
        gradebook.db.commit()


def formgrader_of(course):
    """Return what formgrader calls when its buttons are pressed."""
    directory = open_coursedir(course, CHAPTER)
    return NbGraderAPI(directory, config=directory.config)


def book(course):
    """Return the marks in the gradebook of a course."""
    with open_gradebook(course) as gradebook:
        return read_book(gradebook)


def computed_scores(course, chapter=CHAPTER):
    """Return student id -> exercise -> the computed score that the gradebook has."""
    return {
        student: {exercise_of(cell): mark.auto for cell, mark in marks.cells.items()}
        for student, marks in book(course).marks.get(chapter, {}).items()
    }


def read_class(course, paths):
    """Return the class as the report reads it. paths: student -> submitted file."""
    with open_gradebook(course) as gradebook:
        return entries.read_class(gradebook, open_coursedir(course, CHAPTER), paths)


def page(course, student="ada"):
    return (course / "feedback" / student / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")


def exported(course, tmp_path):
    with open_gradebook(course) as gradebook:
        CsvExportPlugin(to=str(tmp_path / "grades.csv")).export(gradebook)
    with (tmp_path / "grades.csv").open(encoding="utf-8") as lines:
        return {row["student_id"]: row for row in csv.DictReader(lines)}
