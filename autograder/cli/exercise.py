"""`autograder exercise`"""

import argparse

HELP = "Show an exercise's kill table, and what a student reads for each of its known mistakes."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the exercise, such as softmax")


def run(options: argparse.Namespace) -> int:
    from autograder.authoring.exercise import find_exercise
    from autograder.authoring.kill_table import table_of
    from autograder.authoring.make_key import PUBLIC_SEED, public_key
    from autograder.pages import kill_page
    from check.checking import tried

    exercise = find_exercise(options.name)
    table = table_of(exercise, {"public": PUBLIC_SEED}, with_both=False)
    print("● caught with the public key, · not caught", kill_page.as_text(table), sep="\n\n")
    key = public_key(exercise)
    for slug, (_, wrong) in exercise.mistakes.items():
        text = tried(wrong, key, exercise.tested_functions).text
        print(f"\n--- What a student reads who makes the mistake {slug}:\n\n{text}")
    return 0
