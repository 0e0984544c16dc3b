"""`autograder requests`"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.cli.common import CHAPTER_HELP, released_chapters

if TYPE_CHECKING:
    from autograder.course.regrade_requests import Request

HELP = "List the regrade requests that students handed in as regrade.txt."


def add_arguments(parser: ArgumentParser) -> None:
    every = "default: all released chapters"
    parser.add_argument("chapter", nargs="?", metavar="CHAPTER", help=f"{CHAPTER_HELP} ({every})")
    parser.add_argument("--all", action="store_true", help="list answered requests too")


def run(options: Namespace) -> int:
    from check.words import count

    chapters = released_chapters(options.course, [options.chapter] if options.chapter else [])
    n_open = {chapter: _print_requests(options.course, chapter, answered_too=options.all) for chapter in chapters}
    for chapter, number in n_open.items():
        if number:
            print(f"{count(number, 'open request')} in {chapter}.")
            print(
                f'Answer with `autograder answer STUDENT {chapter} EXERCISE "TEXT"`, and --points P for another score.'
            )
    if not any(n_open.values()):
        print(f"0 open requests in {options.chapter or options.course}.")
    return 0


def _print_requests(course: Path, chapter: str, *, answered_too: bool) -> int:
    """Print the requests in a chapter, and return how many are open."""
    from autograder.course.handout import load_handout
    from autograder.course.lock import course_lock, is_read_only
    from autograder.course.roster_file import load_roster
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import known_students, read_book
    from autograder.gradebook.regrading import gather, gradable
    from check.words import shown

    cells = gradable(load_handout(course, chapter))
    coursedir = open_coursedir(course, chapter)
    with nullcontext() if is_read_only(course) else course_lock(course), usable_gradebook(coursedir) as gradebook:
        requests = gather(course, chapter, cells)
        marks = read_book(gradebook, chapter).marks.get(chapter, {})
        names = {student.id: student.name for student in known_students(gradebook, load_roster(course))}
    for student, of_student in sorted(requests.items()):
        scores = marks[student].cells if student in marks else {}
        for request in of_student:
            if answered_too or not request.answer:
                mark = scores.get(cells.get(request.exercise, ""))
                score = f", {mark.score:g} points" if mark and mark.is_graded else ""
                about = f"`{request.exercise}`{score}" if request.exercise else "names no exercise of the chapter"
                print(f"{chapter}, {shown(' '.join([student, names.get(student, '')]).strip())}: {about}")
                print(*_lines(request), sep="\n")
    return sum(not request.answer for of_student in requests.values() for request in of_student)


def _lines(request: Request) -> Iterator[str]:
    from autograder.course.regrade_requests import MAX_BYTES
    from check.words import shown

    for line in request.text.split("\n"):
        yield f"  {shown(line, MAX_BYTES)}"
    if request.answer:
        yield f"  Answer: {shown(request.answer, MAX_BYTES)}"
    yield ""
