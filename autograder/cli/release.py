"""`autograder release`"""

from argparse import ArgumentParser, Namespace

from autograder.cli.common import CHAPTER_HELP

HELP = "Build what students get; stop if it gives a solution away."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help=f"{CHAPTER_HELP} (default: all chapters)")


def run(options: Namespace) -> int:
    from autograder.release.publish import publish_each

    for published in publish_each(options.course, options.chapters):
        status = "released" if published.changed else "unchanged"
        print(f"{published.chapter}: {status}, {published.zip}", flush=True)
    return 0
