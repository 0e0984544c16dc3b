"""`autograder requests`"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from autograder.cli.common import CHAPTER_HELP, released_chapter

if TYPE_CHECKING:
    from autograder.course.regrade_requests import Request

HELP = "List the regrade requests that students handed in as regrade.txt."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapter", metavar="CHAPTER", help=CHAPTER_HELP)
    parser.add_argument("--all", action="store_true", help="list answered requests too")


def run(options: Namespace) -> int:
    from autograder.course.handout import load_handout
    from autograder.course.lock import course_lock
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import known_students, read_marks
    from autograder.gradebook.regrading import gather, gradable
    from check.words import count, shown

    chapter = released_chapter(options.course, options.chapter)
    cells = gradable(load_handout(options.course, chapter))
    coursedir = open_coursedir(options.course, chapter)
    with course_lock(options.course), usable_gradebook():
        requests = gather(options.course, chapter, cells)
        marks = read_marks(coursedir).marks.get(chapter, {})
        names = {student.id: student.name for student in known_students(coursedir)}
    n_open = sum(not request.answer for of_student in requests.values() for request in of_student)
    for student, of_student in sorted(requests.items()):
        scores = marks[student].cells if student in marks else {}
        for request in of_student:
            if options.all or not request.answer:
                mark = scores.get(cells.get(request.exercise, ""))
                score = f", {mark.score:g} points" if mark and mark.is_graded else ""
                about = f"`{request.exercise}`{score}" if request.exercise else "names no exercise of the chapter"
                print(f"{shown(' '.join([student, names.get(student, '')]).strip())}: {about}")
                print(*_lines(request), sep="\n")
    print(f"{count(n_open, 'open request')} in {chapter}.")
    if n_open:
        print(f'Answer with `autograder answer STUDENT {chapter} EXERCISE "TEXT"`, and --points P to change the score.')
    return 0


def _lines(request: Request) -> Iterator[str]:
    from autograder.course.regrade_requests import MAX_BYTES
    from check.words import shown

    for line in request.text.split("\n"):
        yield f"  {shown(line, MAX_BYTES)}"
    if request.answer:
        yield f"  Answer: {shown(request.answer, MAX_BYTES)}"
    yield ""
