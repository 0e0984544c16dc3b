"""Look for cases in which rounding decides, because they could reject a right answer.

    .venv/bin/python benchmarks/rounding.py [--seeds 200] [--first 0] [--exercises softmax attention]

With each seed the references of the NumPy exercises run three more times: once on inputs whose entries are moved by one
rounding error or not at all, and twice with their operations in another order (`reordering.py`). If the judge rejects
what they return, the case asks for digits that its inputs do not have, for example where all terms of a gradient
cancel. Modules in PyTorch are left out, and so are exercises whose answer is not compared value by value: tests,
predictions, and matrices that need a property. The benchmark prints each case in which rounding decides and how many
seeds it had, and then exits with code 1.
"""

import argparse
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import make_lazy_key
from autograder.grading.judging import judge_exercise
from autograder.layout import chapter_names
from benchmarks.reordering import ORDERS, reordered_reference
from check.calling import run
from check.faults import FORM_KINDS


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
        for exercise in exercises
        for seed in seeds
        for case in decided_by_rounding(exercise, seed)
    )
    for (name, case), n_seeds in rejected.most_common():
        print(f"{name}, {case}: {n_seeds} of {len(seeds)} seeds")
    print(f"{len(exercises)} exercises, {len(seeds)} seeds, {len(rejected)} cases in which rounding decides")
    sys.exit(bool(rejected))


def is_compared(exercise):
    is_module = isinstance(exercise.reference, type)
    return not (is_module or exercise.tests or exercise.measure)


def decided_by_rounding(exercise, seed):
    """The names of the cases in which another rounding of inputs or results makes the judge reject the reference."""
    key, rng = make_lazy_key(exercise, seed), np.random.default_rng(seed)
    answers = [[run(exercise.reference, rounded_otherwise(case.inputs, rng)) for case in key.cases]]
    answers += [
        [run(reference, case.inputs) for case in key.cases] for reference in references_in_other_orders(exercise)
    ]
    rejected = {
        case.name: None
        for outcomes in answers
        for case, faults in zip(key.cases, judge_exercise(key, outcomes).case_faults, strict=True)
        if any(fault.kind not in FORM_KINDS for fault in faults)
    }
    return list(rejected)


@cache
def references_in_other_orders(exercise):
    """The exercise's reference with its operations in each of the other orders."""
    return [reordered_reference(exercise, order) for order in ORDERS]


def rounded_otherwise(value, rng):
    """Return an input in which each entry of each float array is moved by one rounding or not at all.

    Whole numbers stay, because a case uses them where it needs exact sums.
    """
    if isinstance(value, dict):
        return {name: rounded_otherwise(part, rng) for name, part in value.items()}
    if isinstance(value, tuple | list):
        parts = [rounded_otherwise(part, rng) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        moves = rng.choice([-1, 0, 1], size=value.shape) * (value != np.round(value))
        return (value * (1 + moves * np.finfo(value.dtype).eps)).astype(value.dtype)
    return value


if __name__ == "__main__":
    main()
