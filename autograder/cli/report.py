"""`autograder report`"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from autograder.cli.common import CHAPTER_HELP, released_chapter
from autograder.errors import UserError

HELP = "Write the instructor's pages about a graded class."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapter", metavar="CHAPTER", help=CHAPTER_HELP)
    parser.add_argument(
        "--anonymous", action="store_true", help="replace all ids by pseudonyms, the same ones in every chapter"
    )
    parser.add_argument(
        "--save-fingerprints",
        type=Path,
        metavar="FILE",
        help="keep fingerprints of this class's code, without code, names and ids, to compare later classes with",
    )
    parser.add_argument(
        "--earlier",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="also look for code like that of an earlier class, from such a file; may be repeated",
    )


def run(options: Namespace) -> int:
    from autograder.course.handout import load_handout
    from autograder.course.seed import secret_seed
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.grading.submissions import submissions
    from autograder.pages.class_report import entries, pages
    from autograder.pages.class_report.alike import known_code, similar_pairs
    from autograder.pages.class_report.cohorts import like_earlier, load_cohort, save_cohort
    from autograder.pages.class_report.pseudonyms import anonymous

    chapter = released_chapter(options.course, options.chapter)
    coursedir = open_coursedir(options.course, chapter)
    with usable_gradebook(coursedir) as gradebook:
        group = entries.read_class(gradebook, coursedir, submissions(options.course, chapter))
    if not group.entries:
        raise UserError(f"no submission of {chapter} is graded yet: run `autograder grade {chapter}` first")
    folder = options.course / "report" / chapter
    if options.anonymous:
        group, folder = anonymous(group, secret_seed(options.course)), folder.with_name(f"{chapter}-anonymous")
    released = load_handout(options.course, chapter)
    known = known_code(released)
    earlier = like_earlier(group.entries, known, {path.name: load_cohort(path, chapter) for path in options.earlier})
    if options.save_fingerprints:
        save_cohort(options.save_fingerprints, chapter, group.entries, known)
    pairs = similar_pairs(group.entries, known)
    print(pages.write_pages(group, released.heading, folder, pairs, earlier))
    return 0
