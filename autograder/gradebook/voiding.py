"""Make exercises void or optional in nbgrader's gradebook: their maximum, their scores, and penalties for late work.

Regrading keeps all of this: SaveScores asks for these exercises, and each release ends with `store_maximum`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from nbgrader.api import Assignment, BaseCell, Comment, Grade, Gradebook, GradeCell, SubmittedAssignment
from nbgrader.coursedir import CourseDirectory

from autograder.course.handout import Handout, exercise_of, load_handout, released_notebooks
from autograder.errors import UserError
from autograder.gradebook.counting import NO_RESPONSE, store_penalties
from autograder.gradebook.queries import cell_query, read_book, submissions_query
from autograder.gradebook.state import computed_scores
from autograder.scores.voids import ByHand, Kind, Void, load_voids, save_voids
from check.words import did_you_mean


@dataclass(frozen=True)
class Effect:
    """What a change of how exercises count did to their chapter.

    submissions: how many there are. changed: how many of them got another score. before, after: the maximum.
    """

    submissions: int
    changed: int
    before: float
    after: float


def find_exercise(course: Path, name: str) -> tuple[str, str]:
    """Return the released chapter that has an exercise, and its graded cell. Raises UserError if none has it."""
    chapters = {path.stem: points_of_cells(load_handout(course, path.stem)) for path in released_notebooks(course)}
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

    Raises UserError if there is nothing to void, or nothing to take back.
    """
    course, chapter = Path(coursedir.root), coursedir.assignment_id
    if not read_book(gradebook, chapter).marks.get(chapter):
        raise UserError(f"no submission of {chapter} is graded yet: run `autograder grade {chapter}` first")
    voids = load_voids(course, chapter)
    if cell in voids.optional:
        raise UserError(f"`{exercise_of(cell)}` is not assigned, so it counts in no score anyway")
    if kind is None and cell not in voids.cells:
        raise UserError(f"`{exercise_of(cell)}` is not void")
    return set_kinds(gradebook, coursedir, {cell: kind})


def set_kinds(gradebook: Gradebook, coursedir: CourseDirectory, kinds: Mapping[str, Kind | None]) -> Effect:
    """Change how some exercises of an assignment count, and return the effect.

    Points given by hand are set aside, and come back when the exercise counts again. Points given while it is void or
    optional count.

    kinds: graded cell -> how it counts from now on, None for as released.
    """
    course, chapter = Path(coursedir.root), coursedir.assignment_id
    before, earlier = read_book(gradebook), load_voids(course, chapter).cells
    by_hand = {cell: {**earlier[cell].by_hand} if cell in earlier else {} for cell in kinds}
    changes = {
        cell: Void(kind, by_hand[cell] | _given_by_hand(gradebook, chapter, cell)) if kind else None
        for cell, kind in kinds.items()
    }
    # Before the gradebook loses what is set aside; the same command completes a run that is killed here.
    save_voids(course, chapter, {cell: void for cell, void in changes.items() if void})
    points = points_of_cells(load_handout(course, chapter))
    computed = cache(partial(computed_scores, coursedir))
    for cell, void in changes.items():
        counted = void.counted(points[cell]) if void else points[cell]
        _graded_cell(gradebook, chapter, cell).max_score = counted
        if void:
            for _, grade in _grades(gradebook, chapter, cell):
                _set(grade, counted, ByHand(None, None))
        else:
            _restore(gradebook, chapter, cell, computed, by_hand[cell])
    store_penalties(gradebook, coursedir, submissions_query(gradebook, chapter))
    save_voids(course, chapter, changes)
    after = read_book(gradebook)
    totals = [
        {student: marks.total for student, marks in book.marks.get(chapter, {}).items()} for book in (before, after)
    ]
    changed = sum(totals[0][student] != total for student, total in totals[1].items())
    return Effect(len(totals[1]), changed, before.points[chapter], after.points[chapter])


def store_maximum(gradebook: Gradebook, course: Path, chapter: str) -> None:
    """Correct the maximum again, after a release has put its points into the gradebook."""
    points = points_of_cells(load_handout(course, chapter))
    for cell, void in load_voids(course, chapter).cells.items():
        if cell in points:
            _graded_cell(gradebook, chapter, cell).max_score = void.counted(points[cell])
    gradebook.db.commit()


def _restore(
    gradebook: Gradebook,
    chapter: str,
    cell: str,
    computed: Callable[[str], Mapping[str, float]],
    by_hand: Mapping[str, ByHand],
) -> None:
    """Let the scores that grading computed count again, and those given by hand before, unless newer ones were given.

    computed: returns a student's scores, by exercise. by_hand: student -> what was set aside.
    """
    comments = cell_query(gradebook, Comment, SubmittedAssignment.student_id, Comment.auto_comment)
    blank = {s for s, why in comments.filter(Assignment.name == chapter, BaseCell.name == cell) if why == NO_RESPONSE}
    for student, grade in _grades(gradebook, chapter, cell):
        auto = 0.0 if student in blank else computed(student).get(exercise_of(cell))
        newer = ByHand(grade.manual_score, grade.extra_credit)
        _set(grade, auto, by_hand.get(student, newer) if newer == ByHand(None, None) else newer)


def _set(grade: Grade, auto: float | None, by_hand: ByHand) -> None:
    grade.auto_score, grade.manual_score, grade.extra_credit = auto, by_hand.manual, by_hand.extra
    grade.needs_manual_grade = auto is None and by_hand.manual is None


def points_of_cells(released: Handout) -> dict[str, float]:
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
