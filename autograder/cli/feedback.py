"""`autograder feedback`"""

from pathlib import Path

from autograder.cli.common import is_released

WORDS = "Pack the feedback into the zip file that Canvas or Moodle takes back in bulk."


def arguments(parser):
    parser.add_argument("chapter", metavar="CHAPTER", help="01_attention, say")
    parser.add_argument("--to", choices=("canvas", "moodle"), required=True, help="where it was collected from")
    parser.add_argument(
        "--output", type=Path, default=Path("feedback.zip"), metavar="FILE", help="default: feedback.zip"
    )


def run(options):
    """Return 0 if the zip file holds the feedback of all students, 1 if it lacks some, whom it lists."""
    from autograder.collecting.feedback_zip import zip_feedback
    from check.words import count, shown

    chapter = is_released(options.course, options.chapter)
    included, missing = zip_feedback(options.course, chapter, options.to, options.output)
    for student, reason in missing.items():
        print(f"skipped: {shown(student)}: {reason}")
    print(f"{options.output}: the feedback of {count(len(included), 'student')}")
    return 1 if missing else 0
