"""`autograder mistakes`"""

from autograder.commands import known

WORDS = "Show which case of the answer keys catches which mistake."


def arguments(parser):
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all chapters if none is named")


def run(options):
    from autograder import chapters, table
    from autograder.keys import PUBLIC_SEED
    from autograder.seed import secret_seed

    named = [known(chapter) for chapter in options.chapters]
    seeds = {"public": PUBLIC_SEED}
    if (options.course / "secret_seed").exists():
        seeds["secret"] = secret_seed(options.course)
    for chapter in named or chapters.names():
        print(f"{chapter}\n{table.of_mistakes(chapter.partition('_')[2], seeds)}\n")
    return 0
