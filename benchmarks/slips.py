"""Count what the judge says about slips: functions that a program has changed in one place.

    python benchmarks/slips.py [--chapter 01_attention] [--rewrites] [--sample 10] [--unexplained]

The benchmark makes the slips of autograder/authoring/slips.py in each reference, and grades them with the public key,
which knows them. With --rewrites it makes them in each right rewrite, and makes the key without that rewrite, so the
key has not seen the code. With --sample N it judges every Nth slip of a function, and one rewrite of each exercise. It
asserts nothing.
"""

import argparse
from collections import Counter
from copy import copy
from itertools import islice

from tabulate import tabulate

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import PUBLIC_SEED, full_key, public_key
from autograder.authoring.slip_table import KINDS, kind_of_slip
from autograder.authoring.slips import slips
from autograder.layout import chapter_names
from check.verdicts_of_test import bound_key


def functions_to_change(exercise, rewrites):
    """Yield (key, function): the reference, or each rewrite with a key that does not know it."""
    if not rewrites:
        yield bound_key(public_key(exercise), exercise.tested_functions), exercise.reference
        return
    for name, rewrite in exercise.equivalents.items():
        without = copy(exercise)
        without.equivalents = {other: function for other, function in exercise.equivalents.items() if other != name}
        yield bound_key(full_key(without, PUBLIC_SEED), exercise.tested_functions), rewrite


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chapter", choices=chapter_names(), help="one chapter only")
    parser.add_argument("--rewrites", action="store_true", help="change rewrites, and leave them out of the key")
    parser.add_argument("--sample", type=int, metavar="N", help="every Nth slip only, in one rewrite of each exercise")
    parser.add_argument("--unexplained", action="store_true", help="list slips that pass or stay unexplained")
    options = parser.parse_args()
    rows = []
    for chapter in [options.chapter] if options.chapter else chapter_names():
        counted = Counter()
        for exercise in exercises_of(chapter):
            for key, function in islice(functions_to_change(exercise, options.rewrites), options.sample and 1):
                for slip in islice(slips(function, key.cases[0].inputs), 0, None, options.sample):
                    counted[kind := kind_of_slip(key, slip.function)] += 1
                    if options.unexplained and kind in ("wrong values", "accepted"):
                        print(f"{exercise.name}: {kind}: {slip.change}")
        rows.append([chapter, counted.total(), *(counted[kind] for kind in KINDS)])
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    print(tabulate(rows, headers=["chapter", "slips", *KINDS]))


if __name__ == "__main__":
    main()
