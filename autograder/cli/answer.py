"""`autograder answer`"""

from argparse import ArgumentParser, Namespace

from autograder.cli.common import CHAPTER_HELP, released_chapter
from autograder.errors import UserError

HELP = "Answer a student's regrade request, and change the score if it was wrong."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("student", metavar="STUDENT", help="the student's id")
    parser.add_argument("chapter", metavar="CHAPTER", help=CHAPTER_HELP)
    parser.add_argument("exercise", metavar="EXERCISE", help="the exercise, or a text that you grade by hand")
    parser.add_argument("text", metavar="TEXT", help="the answer, which may contain Markdown; the student reads it")
    parser.add_argument("--points", type=float, metavar="P", help="set the exercise's score by hand")


def run(options: Namespace) -> int:
    from autograder.course.handout import load_handout
    from autograder.course.lock import course_lock
    from autograder.course.regrade_requests import save_requests
    from autograder.course.roster_file import load_roster
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import known_students
    from autograder.gradebook.regrading import answered, gather, gradable, known_name, set_score
    from autograder.gradebook.score_log import logged_changes
    from autograder.platforms.known_students import ids_hint
    from check.words import did_you_mean, shown

    chapter, student = released_chapter(options.course, options.chapter), options.student
    cells = gradable(load_handout(options.course, chapter))
    exercise = known_name(options.exercise, cells, chapter)
    if not options.text.strip():
        raise UserError("the answer is empty: write a sentence for the student")
    coursedir = open_coursedir(options.course, chapter)
    with course_lock(options.course), usable_gradebook(coursedir) as gradebook:
        requests = gather(options.course, chapter, cells)
        if student not in requests:
            known = known_students(gradebook, load_roster(options.course))
            hint = ids_hint(known, student) or did_you_mean(student, requests)
            raise UserError(f"{student!r} has no request in {chapter}{hint}")
        with_answer = requests | {student: answered(requests[student], exercise, options.text)}
        if options.points is not None:
            with logged_changes(gradebook, coursedir, f"regrade request about `{exercise}` answered"):
                set_score(gradebook, coursedir, student, cells[exercise], options.points)
        save_requests(options.course, chapter, with_answer)
    score = "" if options.points is None else f", {options.points:g} points"
    print(f"{shown(student)}: `{exercise}` answered{score}. `autograder grade {chapter}` puts it on the feedback page.")
    return 0
