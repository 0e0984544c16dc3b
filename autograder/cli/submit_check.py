"""`autograder submit-check`"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from autograder.cli.common import add_sandbox
from autograder.errors import UserError

HELP = "Show what grading will find in one notebook, using the public cases; write no grade."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a notebook as it is handed in")
    add_sandbox(parser, "the notebook runs with your own rights on your files: only use it for your own notebooks")


def run(options: Namespace) -> int:
    """Return 0 if every exercise passes, and 1 if some do not. Raises UserError for an unusable notebook."""
    from autograder.grading.submit_check import submit_check
    from check import messages
    from check.words import shown

    checked = submit_check(options.file, options.course, options.sandbox)
    report, name = checked.report, shown(options.file.name)
    if report.trouble:
        raise UserError(f"{name} would score 0. {report.trouble}")
    blank = [result.function for result in report.results if result.verdict and result.verdict.kind == "blank"]
    print(f"{name} is the notebook of {checked.chapter}, with {len(report.results)} exercises.")
    print(f"Not written yet: {', '.join(blank) or 'none'}.\n")
    if due := _due(options.course, checked.chapter):
        print(due, end="\n\n")
    print("\n".join([*(f"- {shown(note, 1000)}" for note in report.notes), *map(messages.as_text, report.results)]))
    print("\nThese are the public cases; grading uses others. No grade was written.")
    return 0 if all(result.passed for result in report.results) else 1


def _due(course: Path, chapter: str) -> str:
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.deadlines import due_sentences
    from autograder.gradebook.engine import usable_gradebook

    with usable_gradebook(open_coursedir(course, chapter)) as gradebook:
        return due_sentences(gradebook, course, chapter)
