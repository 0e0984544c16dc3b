"""`autograder audit`"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from autograder.cli.common import CHAPTER_HELP, add_jobs, released_chapter
from autograder.errors import UserError

HELP = "Compare the weights that a class handed in, and train a share of the recipes again."
LONGEST = 4  # times the work of the book's recipe; we run no longer recipes


def share(text: str) -> float:
    """Return the share that an option gives, from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return value


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapter", metavar="CHAPTER", help=CHAPTER_HELP)
    parser.add_argument(
        "--share",
        type=share,
        default=0.05,
        metavar="X",
        help="share of the recipes to train again: first those of students with the same seed, then some that the "
        "course's seed draws (default: 0.05; 0 for none)",
    )
    parser.add_argument(
        "--student", action="append", default=[], metavar="ID", help="train this recipe instead; may be repeated"
    )
    add_jobs(parser, "recipes to train")


def run(options: Namespace) -> int:
    """Return 0 if honest runs explain all weights, 1 otherwise."""
    from autograder.authoring.hand_in import hand_in_of
    from autograder.course.handout import load_handout
    from autograder.course.seed import secret_seed
    from autograder.grading import audit
    from autograder.grading.submissions import submissions
    from check.words import count, shown

    chapter = released_chapter(options.course, options.chapter)
    hand_in = hand_in_of(chapter)
    if hand_in is None:
        raise UserError(f"{chapter} asks for no weights")
    paths = submissions(options.course, chapter)
    group = audit.read_class(paths, load_handout(options.course, chapter), hand_in)
    print(f"{count(len(paths), 'submission')}, {len(group)} with weights that can be used.")
    suspicious = list(audit.suspicions(group, hand_in))
    print("\n".join(suspicious) or "No two models are alike, and each started from its recipe's seed.")
    chosen = [one for one in group if one.student in options.student]
    if missing := sorted(set(options.student) - {one.student for one in chosen}):
        raise UserError(f"no usable weights by {', '.join(map(shown, missing))}")
    chosen = chosen or audit.drawn(group, options.share, secret_seed(options.course), chapter)
    long = [one for one in chosen if hand_in.work(one.recipe) > LONGEST]
    for one in long:
        print(f"{shown(one.student)}: not run, since the recipe takes {hand_in.work(one.recipe):.0f} times the book's.")
        suspicious.append(one.student)
    for again in audit.rerun([one for one in chosen if one not in long], chapter, options.jobs):
        agrees = again.agrees(hand_in)
        print(
            f"{shown(again.student)}: the weights {'agree with' if agrees else 'DIFFER from'} a run of the recipe "
            f"(correlation {again.alike:.3f}, moved {again.way:.2f} times as far; honest runs have "
            f"{hand_in.same_run} or more, and {1 - hand_in.same_way:.2f} to {1 + hand_in.same_way:.2f}).",
            flush=True,
        )
        suspicious += [] if agrees else [again.student]
    if suspicious:
        print("This proves nothing. It shows whom to ask how the weights were made.")
    return int(bool(suspicious))
