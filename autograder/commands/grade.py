"""`autograder grade`"""

from autograder.commands import Refused, is_released, positive

WORDS = "Grade the submissions of a chapter and write scores and feedback."


def arguments(parser):
    parser.add_argument("chapter", metavar="CHAPTER", help="01_attention, say")
    parser.add_argument("--student", action="append", default=[], metavar="ID", help="only this one; may be repeated")
    parser.add_argument("--jobs", type=positive, metavar="N", help="submissions at a time (default: one a processor)")
    parser.add_argument("--force", action="store_true", help="grade again what has been graded already")
    parser.add_argument(
        "--sandbox",
        choices=("bwrap", "none"),
        default="bwrap",
        help="none runs student code with your own rights on your files: never for real submissions",
    )


def run(options):
    from autograder import class_run

    chapter = is_released(options.course, options.chapter)
    try:
        rows = class_run.grade(
            options.course,
            chapter,
            students=options.student,
            jobs=options.jobs,
            force=options.force,
            sandbox=options.sandbox,
        )
    except class_run.Incomplete as incomplete:
        _show(incomplete.rows, options.course, chapter)
        raise Refused(f"some submissions are not graded, through no fault of theirs:\n{incomplete}") from incomplete
    _show(rows, options.course, chapter)
    return 0


def _show(rows, course, chapter):
    from autograder import table

    if rows:
        print(table.of_class(rows))
    reused, written = sum(row.reused for row in rows), sum(row.written for row in rows)
    print(f"\n{len(rows) - reused} graded, {reused} reports reused, {written} written to the gradebook.")
    print(f"Feedback: {course / 'feedback'}/STUDENT/{chapter}/{chapter}.html")
