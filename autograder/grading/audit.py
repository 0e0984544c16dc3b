"""Compare handed-in weights with each other, with the book's, with their first weights, and with a run of their recipe.

Two models are compared by what they compute: many weights compute the same, because neurons can be exchanged and
scaled, heads rotated, and columns of the stream exchanged. `likeness` compares hidden outputs and does not depend on
any of these.

The weights themselves are compared with the first weights of a seed and with another run, by the correlation between
the matrices. Training moves a matrix only a little, so a trained matrix stays correlated with the initial matrix of its
seed. `benchmarks/weight_limits.py` measures all of this for honest runs, and `HandIn` has the limits.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import ceil, prod
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from autograder.authoring.hand_in import HandIn, hand_in_of
from autograder.course.handout import Handout
from autograder.course.seed import case_seed
from autograder.grading.jobs import default_jobs
from autograder.grading.reading import read_submission
from autograder.grading.submitted_file import read_file
from check.weights_file import Expected, UnusableWeights, unpack
from check.words import listed, shown

N_ROWS = 20  # of withheld words or texts, for whose tokens hidden outputs are compared


@dataclass(frozen=True)
class HandedIn:
    """A student's recipe, and the weights as float16 in shape (n_numbers,)."""

    student: str
    weights: np.ndarray
    recipe: dict[str, float]


def read_class(paths: Mapping[str, Path], released: Handout, hand_in: HandIn) -> list[HandedIn]:
    """Return the usable weights in these submissions, in the order of the student ids.

    paths: student id -> submitted file.
    """
    handed_in = []
    for student, path in sorted(paths.items()):
        weights = read_submission(read_file(path), released).weights
        try:
            handed_in.append(HandedIn(student, *unpack(weights.raw, hand_in.expected)))
        except UnusableWeights:
            continue  # grading has told the student why
    return handed_in


def suspicions(group: Sequence[HandedIn], hand_in: HandIn) -> Iterator[str]:
    """Yield a sentence about each model, and each group of models, that honest runs cannot explain."""
    matrices, (rows, _) = is_in_matrix(hand_in.expected), hand_in.withheld(0)
    books = hidden_columns(hand_in.book(), hand_in, rows)
    computed = [hidden_columns(one.weights, hand_in, rows) for one in group]
    for one, columns in zip(group, computed, strict=True):
        weights, name = one.weights[matrices], shown(one.student)
        if (alike := likeness(columns, books)) >= hand_in.copy:
            yield f"{name}'s weights are the book's, or nearly (likeness {alike:.3f}); they earn no points."
        elif (alike := correlation(weights, hand_in.start(one.recipe)[matrices])) < hand_in.same_seed:
            yield (
                f"{name}'s weights did not start from the seed {one.recipe['seed']} (correlation {alike:.3f}; honest "
                f"runs have {hand_in.same_seed} or more)."
            )
    yield from _copies(group, computed, hand_in.copy)


def _copies(group: Sequence[HandedIn], computed: Sequence[np.ndarray], limit: float) -> Iterator[str]:
    """Yield a sentence about each group of students whose models compute nearly the same.

    computed: the `hidden_columns` of each model.
    """
    explained: set[int] = set()
    for i in range(len(group)):
        if i in explained:
            continue
        later = [j for j in range(i + 1, len(group)) if j not in explained]
        alike = {j: likeness(computed[i], computed[j]) for j in later}
        same = [i, *(j for j in later if alike[j] >= limit)]
        if len(same) == 1:
            continue
        explained.update(same)
        names = listed((shown(group[j].student) for j in same), limit=len(same))
        seeds = listed(str(seed) for seed in sorted({group[j].recipe["seed"] for j in same}))
        yield (
            f"{names} handed in models that compute nearly the same (likeness {min(alike[j] for j in same[1:]):.3f} or "
            f"more). Seeds of their recipes: {seeds}."
        )


def drawn(group: Sequence[HandedIn], share: float, secret: int, chapter: str) -> list[HandedIn]:
    """Return a share of a class, rounded up: first students who name the same seed as another, then random ones.

    A course always draws the same students. Weights that were copied and disguised keep the seed that they come from.

    secret: the course's seed.
    """
    named = Counter(one.recipe["seed"] for one in group)
    in_order = sorted(
        group,
        key=lambda one: (named[one.recipe["seed"]] == 1, case_seed(secret, chapter, "audit", one.student)),
    )
    return in_order[: ceil(share * len(group))]


@dataclass(frozen=True)
class Rerun:
    """Compares a student's weights with those of another run of the same recipe.

    alike: their correlation. way: the distance that the student's weights moved, divided by that of the other run.
    """

    student: str
    alike: float
    way: float

    def agrees(self, hand_in: HandIn) -> bool:
        return self.alike >= hand_in.same_run and abs(self.way - 1) <= hand_in.same_way


def rerun(group: Sequence[HandedIn], chapter: str, jobs: int | None) -> Iterator[Rerun]:
    """Train each recipe with the book's functions, and compare the resulting weights with the student's.

    jobs: how many recipes to run at once; None for `default_jobs`.
    """
    from unittest import mock  # it imports asyncio, for which `grade` should not wait

    hand_in = hand_in_of(chapter)
    assert hand_in is not None
    matrices = is_in_matrix(hand_in.expected)
    # One thread for each run: more threads would be slower in total, and would add numbers in an order that varies.
    with (
        mock.patch.dict(os.environ, {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}),
        ProcessPoolExecutor(jobs or default_jobs(), mp_context=get_context("spawn")) as pool,
    ):
        vectors = pool.map(_retrained, [chapter] * len(group), [one.recipe for one in group])
        for one, vector in zip(group, vectors, strict=True):
            start = hand_in.start(one.recipe)[matrices]
            weights, others = one.weights[matrices].astype(np.float32), vector[matrices]
            way = np.linalg.norm(weights - start) / np.linalg.norm(others - start)
            yield Rerun(one.student, correlation(weights, others), float(way))


def _retrained(chapter: str, recipe: dict[str, float]) -> np.ndarray:
    hand_in = hand_in_of(chapter)
    assert hand_in is not None
    return hand_in.retrained(recipe)


def hidden_columns(weights: np.ndarray, hand_in: HandIn, rows: np.ndarray) -> np.ndarray:
    """Return the hidden outputs of a model with each column standardised, float32 of shape (n_tokens, n_columns).

    Columns that are constant, or that overflow, are zeros. rows: withheld words or texts, of which the first are used.
    """
    with np.errstate(all="ignore"):  # a student's numbers may overflow
        columns = hand_in.hidden(weights, rows[:N_ROWS]).astype(np.float64)
    columns[:, ~np.isfinite(columns).all(axis=0)] = 0
    return np.stack([standardised(column) for column in columns.T], axis=1)


def likeness(one: np.ndarray, other: np.ndarray) -> float:
    """Return how alike the hidden outputs of two models are: 1 if they have the same columns, otherwise less.

    It is the mean over the columns of one model of the largest absolute correlation with a column of the other. So it
    depends neither on the order nor on the sign and the scale of columns.

    one, other: from `hidden_columns`, of shape (n_tokens, n_columns).
    """
    return float(np.abs(one.T @ other).max(axis=1).mean())


def is_in_matrix(expected: Expected) -> np.ndarray:
    """Return for each number whether it is in a matrix, as bool (n_numbers,).

    Gains and biases start alike in every model, so they prove nothing.
    """
    return np.concatenate([np.full(prod(shape), len(shape) == 2) for shape in expected.layout.values()])


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Return the correlation of two vectors, or 0 if one of them is constant."""
    return float(standardised(one) @ standardised(other))


def standardised(vector: np.ndarray) -> np.ndarray:
    """Return a vector in float32 with the mean 0 and the length 1; zeros if it is constant."""
    centred = vector.astype(np.float64) - vector.mean(dtype=np.float64)
    length = np.linalg.norm(centred)
    return (centred / length if length else centred).astype(np.float32)
