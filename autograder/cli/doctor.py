"""`autograder doctor`"""

from argparse import ArgumentParser, Namespace

from autograder.layout import chapter_names, known_chapter

HELP = "Examine chapters for authors: stubs, sections, cases and mistakes, and whether the notebook runs."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="default: all chapters")
    parser.add_argument(
        "--quick", action="store_true", help="as `autograder release` does: without mistakes, rewrites and the notebook"
    )


def run(options: Namespace) -> int:
    """Return 0 if nothing is wrong, and 1 if it lists faults."""
    from autograder.chapter.chapter import read_chapter
    from autograder.release.doctor import faults, run_faults
    from check.words import count

    n_faults = 0
    for name in [known_chapter(chapter) for chapter in options.chapters] or chapter_names():
        found = list(faults(name, thorough=not options.quick))
        if not found and not options.quick:
            found = list(run_faults(read_chapter(name)))
        print(f"{name}: {count(len(found), 'fault') if found else 'nothing found'}", *found, sep="\n  ", flush=True)
        n_faults += len(found)
    return 1 if n_faults else 0
