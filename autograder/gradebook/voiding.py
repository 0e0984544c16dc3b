"""Void an exercise in nbgrader's gradebook: its maximum, its scores, and the penalties for late work.

Regrading keeps all of this: SaveScores asks for the void exercises, and each release ends with `store_maximum`.
"""

from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Assignment, BaseCell, Comment, Grade, Gradebook, GradeCell, SubmittedAssignment
from nbgrader.coursedir import CourseDirectory

from autograder.course.handout import Handout, exercise_of, load_handout, released_notebooks
from autograder.errors import UserError
from autograder.gradebook.counting import NO_RESPONSE, store_penalties
from autograder.gradebook.queries import cell_query, read_book, submissions_query
from autograder.gradebook.state import computed_score
from autograder.scores.voids import ByHand, Kind, Void, load_voids, save_void
from check.words import did_you_mean


@dataclass(frozen=True)
class Effect:
    """What voiding an exercise, or taking it back, did to its chapter.

    submissions: how many there are. changed: how many of them got another score. before, after: the maximum.
    """

    submissions: int
    changed: int
    before: float
    after: float


def find_exercise(course: Path, name: str) -> tuple[str, str]:
    """Return the released chapter that has an exercise, and its graded cell. Raises UserError if none has it."""
    chapters = {path.stem: _points(load_handout(course, path.stem)) for path in released_notebooks(course)}
    if not chapters:
        raise UserError(f"no chapter is released in {course}: run `autograder release CHAPTER` first")
    for chapter, points in chapters.items():
        for cell in points:
            if exercise_of(cell) == name:
                return chapter, cell
    known = [exercise_of(cell) for points in chapters.values() for cell in points]
    raise UserError(f"there is no exercise {name!r} in the released chapters{did_you_mean(name, known)}")


def set_void(gradebook: Gradebook, coursedir: CourseDirectory, cell: str, kind: Kind | None) -> Effect:
    """Void an exercise of an assignment, or let it count again if `kind` is None, and return the effect.

    Points given by hand are set aside, and come back when the exercise counts again. Points given while it is void
    count.

    Raises UserError if there is nothing to void, or nothing to take back.
    """
    course, chapter = Path(coursedir.root), coursedir.assignment_id
    before = read_book(gradebook)
    if not before.marks.get(chapter):
        raise UserError(f"no submission of {chapter} is graded yet: run `autograder grade {chapter}` first")
    earlier = load_voids(course, chapter).cells.get(cell)
    if kind is None and earlier is None:
        raise UserError(f"`{exercise_of(cell)}` is not void")
    by_hand = {**earlier.by_hand} if earlier else {}
    void = Void(kind, by_hand | _given_by_hand(gradebook, chapter, cell)) if kind else None
    if void:  # before the gradebook loses what is set aside; the same command completes a run that is killed here
        save_void(course, chapter, cell, void)
    _write(gradebook, coursedir, cell, void, by_hand)
    if not void:
        save_void(course, chapter, cell, None)
    after = read_book(gradebook)
    totals = [{student: marks.total for student, marks in book.marks[chapter].items()} for book in (before, after)]
    changed = sum(totals[0][student] != total for student, total in totals[1].items())
    return Effect(len(totals[1]), changed, before.points[chapter], after.points[chapter])


def store_maximum(gradebook: Gradebook, course: Path, chapter: str) -> None:
    """Take the void exercises out of the maximum again, after a release has put its points into the gradebook."""
    points = _points(load_handout(course, chapter))
    for cell, void in load_voids(course, chapter).cells.items():
        if cell in points:
            _graded_cell(gradebook, chapter, cell).max_score = void.counted(points[cell])
    gradebook.db.commit()


def _write(
    gradebook: Gradebook, coursedir: CourseDirectory, cell: str, void: Void | None, by_hand: dict[str, ByHand]
) -> None:
    """Write the maximum, the scores and the penalties, in one transaction. by_hand: manual scores to restore."""
    chapter = coursedir.assignment_id
    points = _points(load_handout(Path(coursedir.root), chapter))[cell]
    _graded_cell(gradebook, chapter, cell).max_score = void.counted(points) if void else points
    comments = cell_query(gradebook, Comment, SubmittedAssignment.student_id, Comment.auto_comment)
    blank = {s for s, why in comments.filter(Assignment.name == chapter, BaseCell.name == cell) if why == NO_RESPONSE}
    for student, grade in _grades(gradebook, chapter, cell):
        if void:
            grade.auto_score, grade.manual_score, grade.extra_credit = void.counted(points), None, None
        else:
            grade.auto_score = 0.0 if student in blank else computed_score(coursedir, student, exercise_of(cell))
            if grade.manual_score is None and grade.extra_credit is None and student in by_hand:
                grade.manual_score, grade.extra_credit = by_hand[student].manual, by_hand[student].extra
        grade.needs_manual_grade = grade.auto_score is None and grade.manual_score is None
    store_penalties(gradebook, coursedir, submissions_query(gradebook, chapter))


def _points(released: Handout) -> dict[str, float]:
    """Return the name of each graded cell -> its points."""
    positions = {*released.graded.values(), *released.editable}
    points = {released.grade_id(position): released.points(position) for position in sorted(positions)}
    return {cell: of_cell for cell, of_cell in points.items() if of_cell is not None}


def _given_by_hand(gradebook: Gradebook, chapter: str, cell: str) -> dict[str, ByHand]:
    given = {s: ByHand(grade.manual_score, grade.extra_credit) for s, grade in _grades(gradebook, chapter, cell)}
    return {student: by_hand for student, by_hand in given.items() if by_hand != ByHand(None, None)}


def _grades(gradebook: Gradebook, chapter: str, cell: str) -> list[tuple[str, Grade]]:
    rows = cell_query(gradebook, Grade, SubmittedAssignment.student_id, Grade)
    return [(student, grade) for student, grade in rows.filter(Assignment.name == chapter, BaseCell.name == cell)]


def _graded_cell(gradebook: Gradebook, chapter: str, cell: str) -> GradeCell:
    return gradebook.find_graded_cell(cell, chapter, chapter)
