"""Print explanations of slips, so that a person can read them and count how many are true.

    python benchmarks/reading.py [--count 100] [--seed 23]

The benchmark draws slips of autograder/authoring/slips.py in the right rewrites of all exercises. It judges each with a
public key that was made without that rewrite, so the key has not seen the code, and prints those that get a name, a
relation or a slip: the change in the source, then what a student reads. It cycles through the exercises, and draws one
slip of a random rewrite in each. It asserts nothing.
"""

import argparse
import textwrap
from copy import copy
from itertools import islice, zip_longest

import numpy as np

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import PUBLIC_SEED, full_key
from autograder.authoring.slips import slips
from autograder.layout import chapter_names
from check.causes import explain
from check.measuring import outcomes_of
from check.scoring import faults_of_cases, result_of
from check.verdicts_of_test import bound_key, with_rejections


def without(exercise, name):
    """Return the exercise without one of its rewrites."""
    rest = copy(exercise)
    rest.equivalents = {other: rewrite for other, rewrite in exercise.equivalents.items() if other != name}
    return rest


def explanation(key, function):
    """Return what a student reads about a wrong function; "" if it is accepted or nothing explains its values."""
    outcomes = with_rejections(key, outcomes_of(function, key))
    case_faults = faults_of_cases(key, outcomes)
    why = explain(key, outcomes, case_faults)
    if why is None or not (why.mistakes or why.relation):
        return ""
    result = result_of(key, case_faults, why)
    named = [f"Known mistake: {mistake.name}. {mistake.message}" for mistake in result.mistakes]
    return "\n".join([f"{result.verdict.message} (On the case “{result.case}”.)", *named, *result.remarks])


def explained(exercise, rng):
    """Yield (exercise, rewrite, change in the source, explanation) of the slips in one rewrite, in random order."""
    name = str(rng.choice(sorted(exercise.equivalents)))
    key = bound_key(full_key(without(exercise, name), PUBLIC_SEED), exercise.tested_functions)
    all_slips = list(slips(exercise.equivalents[name], key.cases[0].inputs))
    for i in rng.permutation(len(all_slips)):
        if text := explanation(key, all_slips[i].function):
            yield exercise.name, name, all_slips[i].change, text


def in_turns(iterators):
    """Yield the first item of each iterator, then the second of each, and so on."""
    missing = object()
    for items in zip_longest(*iterators, fillvalue=missing):
        yield from (item for item in items if item is not missing)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="how many explanations to print")
    parser.add_argument("--seed", type=int, default=23, help="seed of the draw")
    options = parser.parse_args()
    exercises = [exercise for chapter in chapter_names() for exercise in exercises_of(chapter)]
    seeds = np.random.default_rng(options.seed).spawn(len(exercises))
    pairs = zip(exercises, seeds, strict=True)
    drawn = in_turns(explained(exercise, rng) for exercise, rng in pairs if exercise.equivalents)
    for i, (exercise, rewrite, change, text) in enumerate(islice(drawn, options.count), start=1):
        print(f"\n{i}. {exercise}, {rewrite}\n   {change}\n{textwrap.indent(text, '   ')}", flush=True)


if __name__ == "__main__":
    main()
