"""`autograder feedback`"""

from pathlib import Path

from autograder.cli.common import is_released

WORDS = "Write the feedback as the zip file that Canvas or Moodle take back in bulk."


def arguments(parser):
    parser.add_argument("chapter", metavar="CHAPTER", help="01_attention, say")
    parser.add_argument("--to", choices=("canvas", "moodle"), required=True, help="where it was collected from")
    parser.add_argument(
        "--output", type=Path, default=Path("feedback.zip"), metavar="FILE", help="default: feedback.zip"
    )


def run(options):
    """0: everybody's is in it. 1: somebody's is not, and is listed."""
    from autograder.collecting.feedback_zip import zip_feedback
    from check.words import count, shown

    chapter = is_released(options.course, options.chapter)
    within, left = zip_feedback(options.course, chapter, options.to, options.output)
    for student, why in left.items():
        print(f"left: {shown(student)}: {why}")
    print(f"{options.output}: the feedback of {count(len(within), 'student')}")
    return 1 if left else 0
