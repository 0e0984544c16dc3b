"""Gather the regrade requests of a class, and answer them.

Points go into nbgrader's gradebook as a manual score, which formgrader shows and regrading keeps.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory

from autograder.course.handout import Handout, exercise_of
from autograder.course.lock import is_read_only
from autograder.course.regrade_requests import FILE, Request, load_requests, parse, save_requests, with_new
from autograder.course.student_ids import reason_to_reject_id
from autograder.errors import UserError
from autograder.gradebook.counting import store_penalties
from autograder.grading.submissions import submitted_files
from autograder.grading.submitted_file import read_file
from check.words import did_you_mean, listed, shown


def gradable(released: Handout) -> dict[str, str]:
    """Map everything that a request can be about to its graded cell: exercises, and texts that people grade."""
    exercises = {name: released.grade_id(position) for name, position in released.graded.items()}
    texts = {released.grade_id(i): released.grade_id(i) for i in released.editable if released.points(i) is not None}
    return texts | exercises


def gather(course: Path, chapter: str, names: Collection[str]) -> dict[str, list[Request]]:
    """Store the requests that students have handed in since the last call; return student -> all requests.

    The caller holds the course's lock. A read-only course has no lock, and nothing is stored in it. names: from
    `gradable`.
    """
    kept = load_requests(course, chapter)
    gathered = dict(kept)
    for student, notebook in submitted_files(course, chapter).items():
        path = notebook.with_name(FILE)
        if path.exists() and not reason_to_reject_id(student):
            gathered[student] = with_new(kept.get(student, []), parse(read_file(path).raw, names))
    if gathered != kept and not is_read_only(course):
        save_requests(course, chapter, gathered)
    return gathered


def set_score(gradebook: Gradebook, coursedir: CourseDirectory, student: str, cell: str, points: float) -> None:
    """Set a cell's score by hand, as formgrader does, and compute the penalty for late work again. Raises UserError."""
    chapter = coursedir.assignment_id
    try:
        grade = gradebook.find_grade(cell, chapter, chapter, student)
    except MissingEntry as error:
        reason = f"{shown(student)} has no score in {chapter} yet: run `autograder grade {chapter}` first"
        raise UserError(reason) from error
    if not grade.max_score:
        raise UserError(f"{exercise_of(cell)} counts in no score, because it is optional or void, so it has no points")
    if not 0 <= points <= grade.max_score:
        raise UserError(f"{exercise_of(cell)} has {grade.max_score:g} points, so its score cannot be {points:g}")
    grade.manual_score, grade.needs_manual_grade = points, False
    store_penalties(gradebook, coursedir, [grade.notebook.assignment])


def answered(requests: list[Request], exercise: str, answer: str) -> list[Request]:
    """Answer a student's open requests about an exercise, and return all of the student's requests.

    If no such request is open, those that name no exercise get the answer, because they may mean this one. If none of
    these is open either, the answer replaces the last answer about the exercise. Raises UserError if there is no
    request.
    """
    for about in (exercise, ""):
        if any(request.exercise == about and not request.answer for request in requests):
            return [
                replace(request, answer=answer) if request.exercise == about and not request.answer else request
                for request in requests
            ]
    earlier = [position for position, request in enumerate(requests) if request.exercise == exercise]
    if not earlier:
        asked = listed(dict.fromkeys(request.exercise or "no exercise in particular" for request in requests))
        raise UserError(f"there is no open request about {exercise}; the student asked about {asked or 'nothing'}")
    requests = requests.copy()
    requests[earlier[-1]] = replace(requests[earlier[-1]], answer=answer)
    return requests


def known_name(name: str, names: Collection[str], chapter: str) -> str:
    """Return the name of something that is graded. Raises UserError for another name."""
    if name not in names:
        raise UserError(f"{chapter} has no exercise {name!r}{did_you_mean(name, names)}")
    return name
