"""Grade the submissions of a chapter, from the files that were handed in to gradebook and feedback."""

import sys
from collections.abc import Iterable
from pathlib import Path

from autograder.grader import Incomplete, Row, open_grader, submissions

__all__ = ["Incomplete", "grade"]


def grade(
    course: Path,
    chapter: str,
    *,
    students: Iterable[str] = (),
    jobs: int | None = None,
    force: bool = False,
    sandbox: str = "bwrap",
) -> list[Row]:
    """Grade a class and write scores and feedback.

    Args:
        course: the course folder.
        chapter: "01_attention".
        students: ids; all who handed in, if none is given.
        jobs: how many submissions at a time; as many as there are processors, unless told.
        force: grade anew what has been graded already.
        sandbox: "bwrap", or "none" for no isolation at all.

    Returns:
        One row for each student, by id.

    Raises:
        NoSubmissions: nobody handed in, or not the students asked for.
        FileNotFoundError: the chapter is not released.
        SandboxUnavailable: there is no sandbox to run student code in.
        Incomplete: something that is not a student's doing went wrong; it holds the rows of the others.
    """
    course = course.resolve()
    paths = submissions(course, chapter, students)
    grader = open_grader(course, chapter, sandbox=sandbox, jobs=jobs, force=force)
    grader.expect(paths.values())
    # Importing nbgrader takes seconds, in which the first sandboxes run. Most of a second of it is a check of
    # international addresses, which jsonschema does without where it is not installed.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    from autograder.recording import record

    return record(grader, course, chapter, paths, force=force)
