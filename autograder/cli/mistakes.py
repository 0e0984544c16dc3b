"""`autograder mistakes`"""

from pathlib import Path

from autograder.house import chapter_names, known_chapter

WORDS = "Show which case of the answer keys catches which mistake, and tells which from which."


def arguments(parser):
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all chapters if none is named")
    parser.add_argument("--slips", action="store_true", help="and what is said of small slips in the solutions; slower")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write it as an HTML page for instructors instead")


def run(options):
    from autograder.authoring.kill_table import tables_of_chapter
    from autograder.authoring.make_key import PUBLIC_SEED
    from autograder.course.seed import secret_seed
    from autograder.pages import kill_page

    seeds = {"public": PUBLIC_SEED}
    if (options.course / "secret_seed").exists():
        seeds["secret"] = secret_seed(options.course)
    named = [known_chapter(chapter) for chapter in options.chapters] or chapter_names()

    def tables(chapter):
        return tables_of_chapter(chapter, seeds, options.slips)

    if options.page:
        print(kill_page.write_page({chapter: tables(chapter) for chapter in named}, options.page))
        return 0
    print(f"● caught with the {' and the '.join(seeds)} key, p or s with only one of them, · with none\n")
    for chapter in named:
        print(chapter, *map(kill_page.as_text, tables(chapter)), sep="\n\n", end="\n\n")
    return 0
