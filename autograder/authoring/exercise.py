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
import inspect
from collections.abc import Callable

import numpy as np

from autograder.check.key import UNJUDGED, Mistake
from autograder.house import number_and_word

__all__ = ["UNJUDGED", "Draw", "Exercise", "exercises_of"]


class Draw:
    """Seeded random inputs for cases. Sizes drawn together differ, so that no transposed axis goes unnoticed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def sizes(self, count, low=2, high=8):
        """`count` different ints from low to high - 1."""
        return [int(n) for n in self.rng.permutation(np.arange(low, high))[:count]]

    def size(self, low=2, high=8):
        """One int from low to high - 1."""
        return int(self.rng.integers(low, high))

    def normal(self, *shape, dtype=np.float64):
        """Standard normal numbers of that shape."""
        return self.rng.normal(size=shape).astype(dtype)

    def tokens(self, *shape, vocab=10, low=1):
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

    def __init__(self, reference, *, outputs, section, order=None, uses=(), tolerance=1e-9):
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
    def points(self):
        return float(sum(points for points, _ in self.aspects.values()))

    def cases(self, aspect, *, points):
        """Decorate a generator `draw -> (case name, inputs), ...`: the cases of one aspect, worth these points."""

        def register(generate):
            _refuse_twice(aspect in self.aspects, f"{self.name}: aspect {aspect!r}")
            self.aspects[aspect] = (float(points), generate)
            return generate

        return register

    def mistake(self, name):
        """Decorate a wrong implementation; its docstring is the message that teaches."""

        def register(wrong):
            _refuse_twice(wrong.__name__ in self.mistakes, f"{self.name}: mistake {wrong.__name__}")
            if not wrong.__doc__:
                raise ValueError(f"{self.name}: the mistake {wrong.__name__} has no message (its docstring)")
            self.mistakes[wrong.__name__] = (Mistake(name, inspect.cleandoc(wrong.__doc__)), wrong)
            return wrong

        return register

    def equivalent(self, rewrite):
        """Decorate another right implementation, which must earn full marks."""
        _refuse_twice(rewrite.__name__ in self.equivalents, f"{self.name}: equivalent {rewrite.__name__}")
        self.equivalents[rewrite.__name__] = rewrite
        return rewrite


def exercises_of(chapter):
    """The exercises of a chapter ("01_attention"), in the order of its file. Raises ModuleNotFoundError."""
    module = importlib.import_module(f"autograder.exercises.{number_and_word(chapter)[1]}")
    return [value for value in vars(module).values() if isinstance(value, Exercise)]


def _refuse_twice(there, what):
    if there:
        raise ValueError(f"{what} is there already")
