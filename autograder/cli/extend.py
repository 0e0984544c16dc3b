"""`autograder extend`"""

from argparse import ArgumentParser, Namespace

from autograder.cli.common import CHAPTER_HELP
from autograder.errors import UserError
from autograder.layout import known_chapter

HELP = "Give a student more time for a chapter, before or after they hand in."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("student", metavar="STUDENT", help="the student's id")
    parser.add_argument("chapter", metavar="CHAPTER", help=CHAPTER_HELP)
    when = parser.add_mutually_exclusive_group(required=True)
    when.add_argument("--until", metavar="WHEN", help="such as 2026-12-11 (its last minute) or '2026-12-11 18:00'")
    when.add_argument("--remove", action="store_true", help="take the extension back")
    parser.add_argument("--why", default="", metavar="TEXT", help="a reason, for yourself; students do not see it")


def run(options: Namespace) -> int:
    from autograder.collecting.late_labels import times_of_labels
    from autograder.course.lock import course_lock
    from autograder.course.roster_file import load_roster
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.deadlines import extend
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import due_date, known_students
    from autograder.platforms.known_students import known_id
    from autograder.scores.hand_in_times import TIMESTAMP
    from autograder.scores.late import LateRules, load_rules, parse_when, sentences
    from check.words import shown

    chapter = known_chapter(options.chapter)
    coursedir = open_coursedir(options.course, chapter)
    until = parse_when(options.until) if options.until else None
    with course_lock(options.course), usable_gradebook(coursedir) as gradebook:
        student = known_id(known_students(gradebook, load_roster(options.course)), options.student)
        due = due_date(gradebook, chapter)
        if due is None:
            raise UserError(f"{chapter} has no due date: set one first, `autograder due {chapter} --at WHEN`")
        if until and until <= due:
            raise UserError(
                f"{options.until} is not after the due date of {chapter}: {' '.join(sentences(due, LateRules()))}"
            )
        extend(gradebook, options.course, chapter, student, until, options.why)
    print(f"{shown(student)} reads: {' '.join(sentences(due, load_rules(options.course, chapter), student))}")
    if until and times_of_labels(options.course, chapter).get(student, due) > due:
        file = options.course / "submitted" / student / chapter / TIMESTAMP
        print(
            "The time of handing in comes from Canvas's LATE label, a second after the class's due date, so the work "
            f"counts as in time. Write the exact time into {shown(file, 300)}, or collect with --table FILE."
        )
    print(f"`autograder grade {chapter}` brings a penalty up to date.")
    return 0
