"""`autograder submit-check`"""

from pathlib import Path

from autograder.errors import UserError

WORDS = "Show what grading will find in one notebook, with the public cases; no grade is written."


def arguments(parser):
    parser.add_argument("file", type=Path, metavar="FILE", help="a notebook as it is handed in")
    parser.add_argument(
        "--sandbox",
        choices=("bwrap", "none"),
        default="bwrap",
        help="none runs the notebook with your own rights on your files: only for your own",
    )


def run(options):
    """0: every exercise holds. 1: something does not. 2: it could not be read, or not be run."""
    from autograder.grading.submit_check import submit_check
    from check import render
    from check.words import shown

    checked = submit_check(options.file, options.course, options.sandbox)
    report, name = checked.report, shown(options.file.name)
    if report.trouble:
        raise UserError(f"{name} would score 0. {report.trouble}")
    blank = [result.function for result in report.results if result.verdict and result.verdict.kind == "blank"]
    print(f"{name} is the notebook of {checked.chapter}, with {len(report.results)} exercises.")
    print(f"Not written yet: {', '.join(blank) or 'none'}.\n")
    print("\n".join([*(f"- {shown(note, 1000)}" for note in report.notes), *map(render.as_text, report.results)]))
    print("\nThese are the public cases; grading asks for others. No grade was written.")
    return 0 if all(result.passed for result in report.results) else 1
