"""What an author writes: an exercise, its cases, its known mistakes, and rewrites that are just as right.

softmax = Exercise(reference.softmax, outputs={"weights": "... n"}, section="Softmax")

@softmax.cases("the idea", points=2)
def _(draw):
    yield "one row", dict(scores=draw.normal(draw.size()))

@softmax.mistake("normalises over the wrong axis")
def wrong_axis(scores):
    '''The message the student reads.'''
    ...
"""

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from autograder.errors import UserError
from autograder.house import chapter_names, exercise_names, number_and_word
from check.key import UNJUDGED, Mistake

__all__ = ["UNJUDGED", "Draw", "Exercise", "exercises_of"]

Decorator = Callable[[Callable], Callable]


class Draw:
    """Seeded random inputs for cases. Sizes drawn together differ, so that no transposed axis goes unnoticed."""

    def __init__(self, seed: int | Sequence[int]) -> None:
        self.rng = np.random.default_rng(seed)

    def sizes(self, count: int, low: int = 2, high: int = 8) -> list[int]:
        """`count` different ints from low to high - 1."""
        return [int(n) for n in self.rng.permutation(np.arange(low, high))[:count]]

    def size(self, low: int = 2, high: int = 8) -> int:
        """One int from low to high - 1."""
        return int(self.rng.integers(low, high))

    def normal(self, *shape: int, dtype: type = np.float64) -> np.ndarray:
        """Standard normal numbers of that shape."""
        return self.rng.normal(size=shape).astype(dtype)

    def tokens(self, *shape: int, vocab: int = 10, low: int = 1) -> np.ndarray:
        """Token numbers from low to vocab - 1, int64; 0 is left for padding."""
        return self.rng.integers(low, vocab, size=shape)


class Exercise:
    """One function to write, with everything that grades it.

    Args:
        reference: the solution; its name is the exercise's name.
        outputs: name of each returned value -> its axes ("... T_query d_value"), or UNJUDGED for a cache.
        section: title of the section of the chapter to read again.
        order: output names in the order of the derivation; by default the order of `outputs`.
        uses: names of exercises of the same chapter that this one calls.
        tolerance: allowed error in float64, as a share of the largest expected entry.
    """

    def __init__(
        self,
        reference: Callable,
        *,
        outputs: Mapping[str, str],
        section: str,
        order: Iterable[str] | None = None,
        uses: Iterable[str] = (),
        tolerance: float = 1e-9,
    ) -> None:
        self.reference = reference
        self.name = reference.__name__
        self.outputs = dict(outputs)
        self.section = section
        self.order = tuple(order or outputs)
        self.uses = tuple(uses)
        self.tolerance = tolerance
        self.aspects: dict[str, tuple[float, Callable]] = {}
        self.mistakes: dict[str, tuple[Mistake, Callable]] = {}
        self.equivalents: dict[str, Callable] = {}

    @property
    def points(self) -> float:
        return float(sum(points for points, _ in self.aspects.values()))

    def cases(self, aspect: str, *, points: float) -> Decorator:
        """Decorate a generator `draw -> (case name, inputs), ...`: the cases of one aspect, worth these points."""

        def register(generate: Callable) -> Callable:
            _refuse_twice(aspect in self.aspects, f"{self.name}: aspect {aspect!r}")
            self.aspects[aspect] = (float(points), generate)
            return generate

        return register

    def mistake(self, name: str, *, reread: str = "") -> Decorator:
        """Decorate a wrong implementation; its docstring is the message that teaches.

        reread: title of the section to read again; by default the exercise's own.
        """

        def register(wrong: Callable) -> Callable:
            _refuse_twice(wrong.__name__ in self.mistakes, f"{self.name}: mistake {wrong.__name__}")
            if not wrong.__doc__:
                raise ValueError(f"{self.name}: the mistake {wrong.__name__} has no message (its docstring)")
            message = " ".join(wrong.__doc__.split())
            self.mistakes[wrong.__name__] = (Mistake(name, message, reread or self.section), wrong)
            return wrong

        return register

    def equivalent(self, rewrite: Callable) -> Callable:
        """Decorate another right implementation, which must earn full marks."""
        _refuse_twice(rewrite.__name__ in self.equivalents, f"{self.name}: equivalent {rewrite.__name__}")
        self.equivalents[rewrite.__name__] = rewrite
        return rewrite


def exercises_of(chapter: str) -> list[Exercise]:
    """Return the exercises of a chapter ("01_attention"), in the order of its text.

    Raises:
        FileNotFoundError: there is no such chapter.
        ModuleNotFoundError: the chapter checks an exercise that has no file.
    """
    package = f"autograder.exercises.{number_and_word(chapter)[1]}"
    return [getattr(importlib.import_module(f"{package}.{name}"), name) for name in exercise_names(chapter)]


def find_exercise(name: str) -> Exercise:
    """Return the exercise of that name, whichever chapter it is in. Raises UserError, naming all exercises."""
    others = []
    for chapter in chapter_names():  # one by one: a chapter imports what its solutions need
        for exercise in exercises_of(chapter):
            if exercise.name == name:
                return exercise
            others.append(exercise.name)
    raise UserError(f"there is no exercise called {name!r}; there are: {', '.join(others)}")


def _refuse_twice(there: bool, what: str) -> None:
    if there:
        raise ValueError(f"{what} is there already")
