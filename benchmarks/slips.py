"""Count what the judge says about slips: functions that a program has changed in one place.

    python benchmarks/slips.py [--chapter 01_attention] [--rewrites] [--unexplained]

The benchmark makes the slips of autograder/authoring/slips.py in each reference, and grades them with the public key,
which knows them. With --rewrites it makes them in each right rewrite, and makes the key without that rewrite, so the
key has not seen the code. It asserts nothing.
"""

import argparse
from collections import Counter
from copy import copy

from tabulate import tabulate

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import PUBLIC_SEED, full_key
from autograder.authoring.slip_table import KINDS, kind_of_slip
from autograder.authoring.slips import slips
from autograder.layout import chapter_names
from check.verdicts_of_test import bound_key


def functions_to_change(exercise, rewrites):
    """Yield (key, function): the reference, or each rewrite with a key that does not know it."""
    if not rewrites:
        yield bound_key(full_key(exercise, PUBLIC_SEED), exercise.tested_functions), exercise.reference
        return
    for name, rewrite in exercise.equivalents.items():
        without = copy(exercise)
        without.equivalents = {other: function for other, function in exercise.equivalents.items() if other != name}
        yield bound_key(full_key(without, PUBLIC_SEED), exercise.tested_functions), rewrite


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chapter", choices=chapter_names(), help="one chapter only")
    parser.add_argument("--rewrites", action="store_true", help="change rewrites, and leave them out of the key")
    parser.add_argument("--unexplained", action="store_true", help="list slips that pass or stay unexplained")
    options = parser.parse_args()
    rows = []
    for chapter in [options.chapter] if options.chapter else chapter_names():
        counted = Counter()
        for exercise in exercises_of(chapter):
            for key, function in functions_to_change(exercise, options.rewrites):
                for slip in slips(function, key.cases[0].inputs):
                    counted[kind := kind_of_slip(key, slip.function)] += 1
                    if options.unexplained and kind in ("wrong values", "accepted"):
                        print(f"{exercise.name}: {kind}: {slip.change}")
        rows.append([chapter, counted.total(), *(counted[kind] for kind in KINDS)])
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    print(tabulate(rows, headers=["chapter", "slips", *KINDS]))


if __name__ == "__main__":
    main()
