"""Count the known mistakes that the judge still names when the same function has a second bug.

    python benchmarks/explaining.py

The benchmark adds a second bug to the outcomes of every known mistake of every exercise, with the public key. The
second bugs are: float32 results promoted to float64, an exception where an input has a batch axis, and an input changed
in place. It counts the mistakes on which the second bug is visible and which still have wrong values of their own.

The last row counts pairs of mistakes of one exercise. The answer makes the first mistake on the cases that catch it and
the second one everywhere else, and the judge should name both. The benchmark asserts nothing.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
from tabulate import tabulate

from autograder.authoring.exercise import exercises_of
from autograder.authoring.kill_table import both_named
from autograder.authoring.make_key import PUBLIC_SEED, make_key
from autograder.layout import chapter_names
from check.calling import Outcome, Raised
from check.faults import FORM_KINDS, faults
from check.scoring import grade
from check.values import pack, unpack


def promoted(key, case, outcome):
    """Return the outcome with float32 results as float64, as after a division by np.sqrt(d)."""
    tree, arrays = pack(outcome.value)
    return replace(outcome, value=unpack(tree, [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]))


def raises_on_batches(key, case, outcome):
    """Return a ValueError if the first array has more axes than in the key's simplest case."""
    first = next((name for name, value in case.inputs.items() if isinstance(value, np.ndarray)), None)
    if first is None:
        return outcome
    fewest_axes = min(np.ndim(other.inputs.get(first)) for other in key.cases if first in other.inputs)
    return Outcome(raised=Raised("ValueError", "axes")) if np.ndim(case.inputs[first]) > fewest_axes else outcome


def changes_an_input(key, case, outcome):
    """Return the outcome with the first array marked as changed in place."""
    first = next((name for name, value in case.inputs.items() if isinstance(value, np.ndarray)), None)
    return outcome if first is None or outcome.raised else replace(outcome, modified=(first,))


SECOND_BUGS = (promoted, raises_on_batches, changes_an_input)


def packed(outcome):
    """Return an outcome as bytes, to compare it before and after the second bug."""
    tree, arrays = pack(outcome.value)
    return str((tree, outcome.raised, outcome.modified)), [(a.dtype, a.shape, a.tobytes()) for a in arrays]


def has_wrong_values(key, before, after):
    """Whether a case that still runs to its end has the mistake's wrong values."""
    triples = zip(key.cases, before, after, strict=True)
    return any(
        o.raised == b.raised and any(f.kind not in FORM_KINDS for f in faults(key, c.expected, b))
        for c, b, o in triples
    )


def counts(key, second_bug):
    """Return how many mistakes the judge still names, and on how many the second bug is visible beside wrong values."""
    named = visible = 0
    for slug, mistake in key.mistakes.items():
        before = [case.mistakes[slug] for case in key.cases]
        after = [second_bug(key, case, outcome) for case, outcome in zip(key.cases, before, strict=True)]
        unchanged = all(packed(a) == packed(b) for a, b in zip(after, before, strict=True))
        if unchanged or not has_wrong_values(key, before, after):
            continue
        visible += 1
        named += mistake in grade(key, after).mistakes
    return named, visible


def main():
    keys = [make_key(exercise, PUBLIC_SEED) for chapter in chapter_names() for exercise in exercises_of(chapter)]
    rows = []
    for second_bug in SECOND_BUGS:
        named, visible = np.sum([counts(key, second_bug) for key in keys], axis=0)
        rows.append([second_bug.__name__.replace("_", " "), visible, named, f"{100 * named / visible:.0f}%"])
    pairs = [both_named(key, *pair) for key in keys for pair in combinations(key.mistakes, 2)]
    possible = [named for named in pairs if named is not None]
    rows.append(["another known mistake", len(possible), sum(possible), f"{100 * sum(possible) / len(possible):.0f}%"])
    print(tabulate(rows, headers=["second bug", "known mistakes", "still named", ""]))


if __name__ == "__main__":
    main()
