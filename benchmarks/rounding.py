"""Look for cases in which rounding decides, and which could so reject a right answer.

    .venv/bin/python benchmarks/rounding.py [--seeds 200] [--first 0] [--exercises softmax attention]

With each seed the references of the NumPy exercises run once more, on inputs whose entries are larger or smaller by one
rounding, or the same. If the judge rejects what they return, the case asks for digits that its inputs do not have, as
where all terms of a gradient cancel. Left out are modules in PyTorch and exercises whose answer is not compared value
by value: tests, predictions, and matrices that need a property. The benchmark prints each case in which rounding
decides and how many seeds it had, and then exits with code 1.
"""

import argparse
import sys
from collections import Counter

import numpy as np

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import make_lazy_key
from autograder.grading.questions import judge_exercise
from autograder.layout import chapter_names
from check.calling import run
from check.faults import FORM_KINDS

# Their answers have to be exact: a length that is a whole number in any dtype, and a run that is saved bit for bit.
EXACT = ("clip_gradients", "saved_run")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--exercises", nargs="+")
    options = parser.parse_args()
    exercises = [
        exercise
        for chapter in chapter_names()
        for exercise in exercises_of(chapter)
        if is_compared(exercise) and exercise.name in (options.exercises or [exercise.name])
    ]
    seeds = range(options.first, options.first + options.seeds)
    rejected = Counter(
        (exercise.name, case)
        for seed in seeds
        for exercise in exercises
        for case in decided_by_rounding(exercise, seed)
    )
    for (name, case), n_seeds in rejected.most_common():
        print(f"{name}, {case}: {n_seeds} of {len(seeds)} seeds")
    print(f"{len(exercises)} exercises, {len(seeds)} seeds, {len(rejected)} cases in which rounding decides")
    sys.exit(bool(rejected))


def is_compared(exercise):
    is_module = isinstance(exercise.reference, type)
    return not (is_module or exercise.tests or exercise.measure or exercise.name in EXACT)


def decided_by_rounding(exercise, seed):
    """Return the names of the cases whose reference is rejected when its inputs are rounded otherwise."""
    key, rng = make_lazy_key(exercise, seed), np.random.default_rng(seed)
    outcomes = [run(exercise.reference, rounded_otherwise(case.inputs, rng)) for case in key.cases]
    case_faults = judge_exercise(key, outcomes).case_faults
    return [
        case.name
        for case, found in zip(key.cases, case_faults, strict=True)
        if any(fault.kind not in FORM_KINDS for fault in found)
    ]


def rounded_otherwise(value, rng):
    """Return an input in which each entry of each float array is moved by one rounding or not at all."""
    if isinstance(value, dict):
        return {name: rounded_otherwise(part, rng) for name, part in value.items()}
    if isinstance(value, tuple | list):
        parts = [rounded_otherwise(part, rng) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        shares = rng.choice([-1, 0, 1], size=value.shape) * np.finfo(value.dtype).eps
        return (value * (1 + shares)).astype(value.dtype)
    return value


if __name__ == "__main__":
    main()
