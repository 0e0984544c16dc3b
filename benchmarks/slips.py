"""What the judge says of small slips that nobody has written down: functions changed in one place by a machine.

    python benchmarks/slips.py [--chapter 01_attention] [--rewrites] [--unexplained]

The slips are those of autograder/authoring/slips.py, in each reference; each is graded with the public key, which knows
them. With --rewrites they are made in each right rewrite, and the key is made without that rewrite: code that the key
has not seen. Nothing is asserted.
"""

import argparse
from collections import Counter
from copy import copy

from tabulate import tabulate

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import PUBLIC_SEED, key_of
from autograder.authoring.slip_table import KINDS, came_to
from autograder.authoring.slips import slips
from autograder.house import chapter_names


def asked(exercise, rewrites):
    """(key, function to change) of an exercise: its reference, or each rewrite with a key that does not know it."""
    if not rewrites:
        yield key_of(exercise, PUBLIC_SEED), exercise.reference
        return
    for name, rewrite in exercise.equivalents.items():
        without = copy(exercise)
        without.equivalents = {other: each for other, each in exercise.equivalents.items() if other != name}
        yield key_of(without, PUBLIC_SEED), rewrite


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chapter", choices=chapter_names(), help="one chapter only")
    parser.add_argument("--rewrites", action="store_true", help="change rewrites that the key does not know")
    parser.add_argument("--unexplained", action="store_true", help="list what is accepted, or wrong without a reason")
    options = parser.parse_args()
    rows = []
    for chapter in [options.chapter] if options.chapter else chapter_names():
        counted = Counter()
        for exercise in exercises_of(chapter):
            for key, function in asked(exercise, options.rewrites):
                for slip in slips(function, key.cases[0].inputs):
                    counted[kind := came_to(key, slip.function)] += 1
                    if options.unexplained and kind in ("wrong values", "accepted"):
                        print(f"{exercise.name}: {kind}: {slip.place}")
        rows.append([chapter, counted.total(), *(counted[kind] for kind in KINDS)])
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    print(tabulate(rows, headers=["chapter", "slips", *KINDS]))


if __name__ == "__main__":
    main()
