"""What a chapter says about the weights that students hand in: which model, which points, what to measure it on."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from autograder.layout import number_and_word
from check.weights_file import WEIGHTS, Expected


@dataclass(frozen=True)
class Tier:
    """Points for a figure of at most `limit`. name: what students read about it, such as "at most 25% errors"."""

    points: float
    limit: float
    name: str


@dataclass(frozen=True)
class HandIn:
    """The weights that a chapter asks for, and how they are graded.

    expected: the form of the file.
    section: title of the section to reread.
    tiers: from the easiest to the hardest.
    model: source of a cell for the sandbox. It defines two functions of the weights and of rows of tokens, which return
        an array with two axes and a row for each row: `measured`, of any numbers, and `written`, of tokens.
    withheld: seed -> (rows for `measured`, right tokens), of words or texts that students do not have.
    figure: (what `measured` returned, right tokens) -> what the tiers limit, such as the errors for each right token.
    sentence: a sentence for the feedback about `{figure}` and the number `{n}` of rows, as `str.format` takes it.
    examples: words for the feedback. spelled: tokens -> text. encoded: words -> rows for `written`.
    book: the vector of the book's own weights, float16.
    hidden: (weights, rows) -> what the model computes inside for each token of these rows of `withheld`, float32 of the
        shape (n_tokens, n_columns). `audit.likeness` compares these columns, in any order and with any sign and scale.
    start: recipe -> the vector before training. retrained: recipe -> the vector after it, with the book's functions.
    work: recipe -> how many times the work of the book's recipe it takes.
    same_seed, same_run: correlations of matrices. An honest model has at least `same_seed` with its first weights and
        `same_run` with another run of its recipe.
    copy: the likeness of the hidden outputs, which two models of different seeds do not reach.
    same_way: the largest relative difference between the distances that an honest model and another run moved.
    """

    expected: Expected
    section: str
    tiers: tuple[Tier, ...]
    model: str
    withheld: Callable[[int], tuple[np.ndarray, np.ndarray]]
    figure: Callable[[np.ndarray, np.ndarray], float]
    sentence: str
    examples: tuple[str, ...]
    encoded: Callable[[tuple[str, ...]], np.ndarray]
    spelled: Callable[[np.ndarray], str]
    book: Callable[[], np.ndarray]
    hidden: Callable[[np.ndarray, np.ndarray], np.ndarray]
    start: Callable[[Mapping[str, float]], np.ndarray]
    retrained: Callable[[Mapping[str, float]], np.ndarray]
    work: Callable[[Mapping[str, float]], float]
    same_seed: float
    same_run: float
    same_way: float
    copy: float

    @property
    def points(self) -> float:
        return sum(tier.points for tier in self.tiers)


def hand_in_of(chapter: str) -> HandIn | None:
    """Return what a chapter ("10_project") says about handed-in weights; None if it asks for none."""
    module = f"autograder.exercises.{number_and_word(chapter)[1]}.{WEIGHTS}"
    return importlib.import_module(module).hand_in if find_spec(module) else None
