"""`autograder release`"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from autograder.cli.common import CHAPTER_HELP

HELP = "Build what students get; stop if it gives a solution away."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help=f"{CHAPTER_HELP} (default: all chapters)")
    parser.add_argument(
        "--to",
        choices=["gradescope"],
        help="also write the zip file that grades there; it contains solutions and a seed",
    )


def run(options: Namespace) -> int:
    from autograder.release.publish import publish_each

    for published in publish_each(options.course, options.chapters):
        status = "released" if published.changed else "unchanged"
        print(f"{published.chapter}: {status}, {published.zip}", flush=True)
        if options.to:
            _write_package(options.course, published.chapter)
    return 0


def _write_package(course: Path, chapter: str) -> None:
    from autograder.gradescope.package import write_package

    package = write_package(course, chapter)
    print(f"  for Gradescope: {package.path}, {package.points:g} points. Never publish it: it contains solutions.")
    for name, points in package.texts.items():
        print(f"  graded by hand there: `{name}`, {points:g} points")
