"""`autograder void`"""

from argparse import ArgumentParser, Namespace

HELP = "Void an exercise after grading, because its question is wrong, or let it count again."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("exercise", metavar="EXERCISE", help="for example softmax")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--credit-all", action="store_true", help="everyone who handed in gets its full points")
    what.add_argument("--drop", action="store_true", help="it counts neither in the score nor in the maximum")
    what.add_argument("--undo", action="store_true", help="it counts again, with the scores given by hand before")


def run(options: Namespace) -> int:
    from autograder.course.lock import course_lock
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.score_log import logged_changes
    from autograder.gradebook.voiding import find_exercise, set_void
    from autograder.scores.voids import Kind, load_voids

    chapter, cell = find_exercise(options.course, options.exercise)
    coursedir = open_coursedir(options.course, chapter)
    kind: Kind | None = None if options.undo else "drop" if options.drop else "credit-all"
    why = f"`{options.exercise}` counts again" if options.undo else f"`{options.exercise}` is void"
    with (
        course_lock(options.course),
        usable_gradebook(coursedir) as gradebook,
        logged_changes(gradebook, coursedir, why),
    ):
        effect = set_void(gradebook, coursedir, cell, kind)
    undone = [f"`{options.exercise}` counts again."] if options.undo else []
    print("\n".join([*undone, *load_voids(options.course, chapter).sentences]))
    instead = "" if effect.before == effect.after else f" instead of {effect.before:g}"
    print(f"{effect.changed} of {effect.submissions} scores changed. {chapter} has {effect.after:g} points{instead}.")
    print(f"`autograder grade {chapter}` brings the feedback pages up to date.")
    return 0
