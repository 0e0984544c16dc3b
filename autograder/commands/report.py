"""`autograder report`"""

from autograder.commands import Refused, is_released

WORDS = "Write the instructor's pages about a graded class."


def arguments(parser):
    parser.add_argument("chapter", metavar="CHAPTER", help="01_attention, say")
    parser.add_argument("--anonymous", action="store_true", help="pseudonyms for all ids, the same in every chapter")


def run(options):
    from autograder import course as courses
    from autograder import released
    from autograder.class_report import entries, pages
    from autograder.class_report.pseudonyms import anonymous
    from autograder.gradebook import usable
    from autograder.grader import submissions
    from autograder.seed import secret_seed

    chapter = is_released(options.course, options.chapter)
    with usable():
        group = entries.read(courses.directory(options.course, chapter), submissions(options.course, chapter))
    if not group.entries:
        raise Refused(f"nobody's {chapter} is graded: run `autograder grade {chapter}` first")
    folder = options.course / "report" / chapter
    if options.anonymous:
        group, folder = anonymous(group, secret_seed(options.course)), folder.with_name(f"{chapter}-anonymous")
    print(pages.write(group, released.load(options.course, chapter).heading, folder))
    return 0
