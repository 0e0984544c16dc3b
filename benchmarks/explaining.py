"""How many known mistakes keep their name when the same function also has a second slip.

    python benchmarks/explaining.py

Each second slip is put onto the outcomes of every known mistake of every exercise, in the public key: float32 results
promoted to float64; an exception where an input has a batch axis; an input changed in place. Counted are the mistakes
on which the slip can be seen, and whose own wrong values can still be seen beside it. Last come pairs: an answer that
is wrong as one mistake is, and as another of the same exercise on the cases that the first leaves right, must be told
both. Nothing is asserted.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
from tabulate import tabulate

from autograder.authoring.exercise import exercises_of
from autograder.authoring.kill_table import both_named
from autograder.authoring.make_key import PUBLIC_SEED, make_key
from autograder.house import chapter_names
from check.calling import Outcome, Raised
from check.faults import FORM_KINDS, faults
from check.judge import grade
from check.values import pack, unpack


def promoted(key, case, outcome):
    """float32 results as float64: what dividing by np.sqrt(d) does."""
    tree, arrays = pack(outcome.value)
    return replace(outcome, value=unpack(tree, [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]))


def raises_on_batches(key, case, outcome):
    """ValueError where the first array has more axes than in the key's plainest case."""
    first = next((name for name, value in case.inputs.items() if isinstance(value, np.ndarray)), None)
    if first is None:
        return outcome
    plainest = min(np.ndim(each.inputs.get(first)) for each in key.cases if first in each.inputs)
    return Outcome(raised=Raised("ValueError", "axes")) if np.ndim(case.inputs[first]) > plainest else outcome


def changes_an_input(key, case, outcome):
    """The first array is changed in place."""
    first = next((name for name, value in case.inputs.items() if isinstance(value, np.ndarray)), None)
    return outcome if first is None or outcome.raised else replace(outcome, modified=(first,))


SLIPS = (promoted, raises_on_batches, changes_an_input)


def packed(outcome):
    """An outcome as bytes, to see whether a slip changed it."""
    tree, arrays = pack(outcome.value)
    return str((tree, outcome.raised, outcome.modified)), [(a.dtype, a.shape, a.tobytes()) for a in arrays]


def shows(key, slug, before, after):
    """Whether a case that the slip leaves to its end still has the mistake's wrong values."""
    triples = zip(key.cases, before, after, strict=True)
    return any(
        o.raised == b.raised and any(f.kind not in FORM_KINDS for f in faults(key, c.expected, b))
        for c, b, o in triples
    )


def named(key, slip):
    """(mistakes that keep their name, mistakes on which the slip is seen and a wrong value stays)."""
    kept = seen = 0
    for slug, mistake in key.mistakes.items():
        before = [case.mistakes[slug] for case in key.cases]
        after = [slip(key, case, outcome) for case, outcome in zip(key.cases, before, strict=True)]
        unseen = all(packed(a) == packed(b) for a, b in zip(after, before, strict=True))
        if unseen or not shows(key, slug, before, after):
            continue
        seen += 1
        kept += mistake in grade(key, after).mistakes
    return kept, seen


def main():
    keys = [make_key(each, PUBLIC_SEED) for chapter in chapter_names() for each in exercises_of(chapter)]
    rows = []
    for slip in SLIPS:
        kept, seen = np.sum([named(key, slip) for key in keys], axis=0)
        rows.append([slip.__name__.replace("_", " "), seen, kept, f"{100 * kept / seen:.0f}%"])
    told = [both_named(key, *pair) for key in keys for pair in combinations(key.mistakes, 2)]
    both = [each for each in told if each is not None]
    rows.append(["another known mistake", len(both), sum(both), f"{100 * sum(both) / len(both):.0f}%"])
    print(tabulate(rows, headers=["second slip", "known mistakes", "keep their name", ""]))


if __name__ == "__main__":
    main()
