"""`autograder mistakes`"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.layout import chapter_names, known_chapter

if TYPE_CHECKING:
    from autograder.authoring.kill_table import KillTable

HELP = "Show which cases of the answer keys catch which known mistake, and which cases distinguish two mistakes."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="default: all chapters")
    parser.add_argument(
        "--slips", action="store_true", help="also show what `check` reports for small slips in the solutions; slower"
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="write an HTML page for instructors instead")


def run(options: Namespace) -> int:
    """Return 0 if the keys are good, and 1 if some have the problems that the tables list."""
    from autograder.authoring.kill_table import tables_of_chapter
    from autograder.authoring.make_key import PUBLIC_SEED
    from autograder.course.seed import secret_seed
    from autograder.pages import kill_page

    seeds = {"public": PUBLIC_SEED}
    if (options.course / "secret_seed").exists():
        seeds["secret"] = secret_seed(options.course)
    chapters = [known_chapter(chapter) for chapter in options.chapters] or chapter_names()

    tables: dict[str, list[KillTable]] = {}
    if not options.page:
        print(_legend(list(seeds)), end="\n\n")
    for chapter in chapters:
        tables[chapter] = tables_of_chapter(chapter, seeds, options.slips)
        if not options.page:
            print(chapter, *map(kill_page.as_text, tables[chapter]), sep="\n\n", end="\n\n")
    if options.page:
        print(kill_page.write_page(tables, options.page))
    return 1 if any(table.problems for of_chapter in tables.values() for table in of_chapter) else 0


def _legend(keys: list[str]) -> str:
    if len(keys) == 1:
        return f"● caught with the {keys[0]} key, · not caught"
    return f"● caught with the {' and the '.join(keys)} key, p or s caught with only that key, · not caught"
