"""`autograder feedback`"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from autograder.cli.common import CHAPTER_HELP, MAX_NAMES, released_chapter

HELP = "Write the feedback as a zip file that Canvas or Moodle can import in bulk."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapter", metavar="CHAPTER", help=CHAPTER_HELP)
    parser.add_argument(
        "--to",
        choices=("canvas", "moodle"),
        required=True,
        help="the platform that the submissions came from",
    )
    parser.add_argument(
        "--output", type=Path, default=Path("feedback.zip"), metavar="FILE", help="default: feedback.zip"
    )


def run(options: Namespace) -> int:
    """Return 0 if the zip file holds the feedback of all students; otherwise list what is missing and return 1."""
    from autograder.collecting.feedback_zip import zip_feedback
    from autograder.course.roster_file import load_roster
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import known_students
    from autograder.platforms.known_students import enrolled
    from check.words import count, listed, shown

    chapter = released_chapter(options.course, options.chapter)
    with usable_gradebook(open_coursedir(options.course, chapter)) as gradebook:
        known = known_students(gradebook, load_roster(options.course))
    included, missing = zip_feedback(known, options.course, chapter, options.to, options.output)
    for reason in dict.fromkeys(missing.values()):
        students = (shown(student) for student, its_reason in missing.items() if its_reason == reason)
        print(f"skipped: {listed(students, MAX_NAMES)}: {reason}")
    if nothing := sorted(enrolled(known) - {*included, *missing}):
        print(f"no page, because the course has no submission by them: {listed(map(shown, nothing), MAX_NAMES)}")
    print(f"{options.output}: the feedback of {count(len(included), 'student')}")
    return 1 if missing else 0
