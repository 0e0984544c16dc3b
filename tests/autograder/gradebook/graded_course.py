"""Helpers that grade a course, and read its gradebook, its pages and its exported scores."""

import csv

from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin

from autograder.gradebook import class_run
from autograder.gradebook.coursedir import open_coursedir
from tests.conftest import CHAPTER


def graded(course, **options):
    return {row.student: row for row in class_run.grade_class(course, CHAPTER, **options)}


def open_gradebook(course):
    return Gradebook(open_coursedir(course, CHAPTER).db_url)


def page(course, student="ada"):
    return (course / "feedback" / student / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")


def exported(course, tmp_path):
    with open_gradebook(course) as gradebook:
        CsvExportPlugin(to=str(tmp_path / "grades.csv")).export(gradebook)
    with (tmp_path / "grades.csv").open(encoding="utf-8") as lines:
        return {row["student_id"]: row for row in csv.DictReader(lines)}
