"""Grade the submissions of a chapter, from the submitted files to gradebook and feedback."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from autograder.course.lock import Busy, course_lock
from autograder.grading.client import connected
from autograder.grading.queue import GradingQueue, open_queue
from autograder.grading.submissions import NoSubmissions, invalid_id_messages, submissions, submitted_files
from autograder.layout import chapter_names
from autograder.scores.rows import Incomplete, StudentRow
from check.words import listed, shown

__all__ = ["Incomplete", "NoSubmissions", "chapters_handed_in", "grade_class", "rows_as_graded"]


def chapters_handed_in(course: Path, students: Sequence[str] = ()) -> dict[str, list[str]]:
    """Return chapter -> which of the students handed it in; without students, every chapter that was handed in.

    Raises NoSubmissions if there are none, or if one of the students handed in nothing.
    """
    ids = {chapter: submitted_files(course, chapter).keys() for chapter in chapter_names()}
    if missing := sorted(set(students).difference(*ids.values())):
        raise NoSubmissions(f"no submission by {listed(map(shown, missing))} in {course / 'submitted'}")
    if not any(ids.values()):
        place = f"{course / 'submitted'}/STUDENT/CHAPTER/CHAPTER.ipynb"
        raise NoSubmissions(f"no submissions: they are expected as {place}")
    wanted = {chapter: [name for name in students if name in known] for chapter, known in ids.items()}
    return {chapter: wanted[chapter] for chapter, known in ids.items() if (wanted[chapter] if students else known)}


def grade_class(
    course: Path,
    chapter: str,
    *,
    students: Iterable[str] = (),
    jobs: int | None = None,
    scheduler: str | None = None,
    tls: Path | None = None,
    trusting: bool = False,
    force: bool = False,
    dry_run: bool = False,
    sandbox: str = "bwrap",
) -> list[StudentRow]:
    """Grade a class and write scores and feedback.

    Args:
        course: the course folder.
        chapter: "01_attention".
        students: ids; all students with a submission, if none is given.
        jobs: how many submissions at a time; None for `default_jobs`.
        scheduler: address of a Dask scheduler, whose workers grade instead of this machine.
        tls: folder of the scheduler's certificates.
        trusting: grade on a scheduler without certificates that others can reach.
        force: grade again what has been graded already.
        dry_run: grade, but leave gradebook and feedback as they are.
        sandbox: "bwrap", or "none" for no isolation at all.

    Returns:
        One row for each student, by id.

    Raises:
        NoSubmissions: there is no submission, or none of these students.
        NotReleased: the chapter is not released, or the gradebook does not know the release.
        UserError: nbgrader_config.py assigns exercises that the chapter lacks, or in a dry run others than those that
            count.
        SandboxUnavailable: there is no place to run student code in.
        Busy: another command is running in this course.
        Incomplete: something failed that no student caused; it holds the rows of the other submissions.
    """
    course = course.resolve()
    paths = submissions(course, chapter, students)
    with course_lock(course), connected(scheduler, jobs, tls=tls, trusting=trusting) as client:
        grader = open_queue(course, chapter, client, sandbox=sandbox, force=force)
        rows = sorted(_rows(grader, course, chapter, paths, dry_run=dry_run), key=lambda row: row.student)
    if not students and (bad := invalid_id_messages(submitted_files(course, chapter))):
        raise Incomplete(rows, bad)
    return rows


def rows_as_graded(course: Path, chapter: str, students: Iterable[str]) -> Iterator[StudentRow]:
    """Grade these students as `grade_class` does, and yield each row once its scores and feedback are written.

    Raises what `grade_class` does, Incomplete after all rows.
    """
    course = course.resolve()
    paths = submissions(course, chapter, students)
    with course_lock(course), connected() as client:
        yield from _rows(open_queue(course, chapter, client), course, chapter, paths)


def _rows(
    grader: GradingQueue, course: Path, chapter: str, paths: Mapping[str, Path], *, dry_run: bool = False
) -> Iterator[StudentRow]:
    """Let the grader begin, check the gradebook meanwhile, and then write and yield the rows."""
    grader.expect(paths.values())
    # Importing nbgrader takes seconds; meanwhile the first sandboxes run.
    from autograder.gradebook.assigning import follow_assignment, refuse_outdated
    from autograder.gradebook.assignments import refuse_unregistered
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.regrading import gather, gradable
    from autograder.gradebook.write import write_class

    try:
        refuse_unregistered(course, chapter)
        coursedir = open_coursedir(course, chapter)
        with usable_gradebook(coursedir) as gradebook:
            (refuse_outdated if dry_run else follow_assignment)(gradebook, coursedir)
    except Busy as error:  # another program holds the gradebook
        raise Incomplete([], [str(error)]) from error
    if not dry_run:
        gather(course, chapter, gradable(grader.assignment.released))
    yield from write_class(grader, course, chapter, paths, dry_run=dry_run)
