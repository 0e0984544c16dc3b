"""Define an exercise: its reference solution, its cases, its known mistakes, and other right solutions.

For example, in autograder/exercises/attention/softmax.py:

softmax = Exercise(reference.softmax, outputs={"weights": "... n"}, section="Softmax")

@softmax.cases("the idea", points=2)
def _(draw):
    yield "one row", dict(scores=draw.normal(draw.size()))

@softmax.mistake("normalises over the wrong axis")
def wrong_axis(scores):
    '''The message that the student reads.'''
    ...

@softmax.equivalent
def with_loops(scores):
    ...
"""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from autograder.errors import UserError
from autograder.layout import REPO, chapter_names, exercise_names, number_and_word
from check.calling import Outcome, run
from check.comparing import TOLERANCE
from check.harms.harmed import bound
from check.key import UNJUDGED, Mistake

__all__ = ["UNJUDGED", "Draw", "Exercise", "exercises_of"]

TESTED = "function"  # the parameter of a test

Decorator = Callable[[Callable], Callable]


class Draw:
    """Draw random inputs for cases, from a seed.

    Draw all sizes of a case in one call of `sizes`. They are different, so that a transposed axis gives a wrong shape.

    at_home: whether the cases are for a public key, which may hold no hidden function.
    """

    def __init__(self, seed: int | Sequence[int], at_home: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.at_home = at_home

    def sizes(self, count: int, low: int = 2, high: int = 8) -> list[int]:
        """Return `count` different ints from low to high - 1."""
        return [int(n) for n in self.rng.permutation(np.arange(low, high))[:count]]

    def size(self, low: int = 2, high: int = 8) -> int:
        """Return an int from low to high - 1."""
        return int(self.rng.integers(low, high))

    def normal(self, *shape: int, dtype: type = np.float64) -> np.ndarray:
        """Return an array of standard normal numbers. shape: its size along each axis."""
        return self.rng.normal(size=shape).astype(dtype)

    def tokens(self, *shape: int, vocab: int = 10, low: int = 1) -> np.ndarray:
        """Return an int64 array of token numbers from low to vocab - 1. By default no token is 0, which is padding.

        shape: the array's size along each axis.
        """
        return self.rng.integers(low, vocab, size=shape)


class Exercise:
    """A function that students write, with everything that grades it.

    Args:
        reference: the reference solution, a function or a PyTorch module's class. Its name is the exercise's name.
        outputs: name of each returned value -> its axes ("... T_query d_value"), or UNJUDGED for a cache. The order is
            that in which the function returns them.
        section: title of the chapter's section that a student with a wrong answer should read again.
        order: the output names in the order in which to report errors, usually that of the derivation; by default the
            order of `outputs`.
        solved_by: names of earlier exercises that solve this one if they are called with its inputs. Grading does not
            replace a wrong one among them with a right one. For a test, the tested exercise is always one of them.
        tolerance: the largest allowed error in float64, as a share of the largest expected entry.
        measure: name of a measure of `check.measures`, for an exercise that asks for matrices: the judge compares what
            the matrices do. For an exercise that asks to predict runs, `check.predictions.ORDER`.
        unseen: names of the inputs that only the measure gets, such as the sentences.
        tests: the exercise whose functions this one tests, if it asks for a test; see `functions_to_test`. The only
            parameter of the reference is then called TESTED.
        likely: for an exercise with a function among its inputs: takes the inputs, and yields the arrays, all of one
            shape, with which a right answer is likely to call that function. Their values are sent ahead.

    Attributes:
        aspects: name of each aspect -> its points, and the generator of its cases.
        mistakes: slug of each known mistake -> what students read about it, and the wrong function.
        equivalents: name -> function, for the other right solutions.

    Raises ValueError if a test has other parameters than TESTED.
    """

    def __init__(
        self,
        reference: Callable,
        *,
        outputs: Mapping[str, str],
        section: str,
        order: Iterable[str] | None = None,
        solved_by: Iterable[str] = (),
        tolerance: float = TOLERANCE,
        measure: str = "",
        unseen: Iterable[str] = (),
        tests: "Exercise | None" = None,
        likely: Callable[..., Iterable[np.ndarray]] | None = None,
    ) -> None:
        if tests and (parameters := list(signature(reference).parameters)) != [TESTED]:
            stub, given = f"def {reference.__name__}({TESTED}):", ", ".join(parameters)
            raise ValueError(f"write `{stub}` instead of ({given}): a test gets one function")
        self.reference = reference
        self.name = reference.__name__
        self.outputs = dict(outputs)
        self.section = section
        self.order = tuple(order or outputs)
        self.solved_by = {*solved_by, *([tests.name] if tests else [])}
        self.tolerance = tolerance
        self.measure = measure
        self.unseen = tuple(unseen)
        self.tests = tests
        self.likely = likely
        self.aspects: dict[str, tuple[float, Callable]] = {}
        self.mistakes: dict[str, tuple[Mistake, Callable]] = {}
        self.equivalents: dict[str, Callable] = {}

    @property
    def points(self) -> float:
        """The points of all aspects together."""
        return float(sum(points for points, _ in self.aspects.values()))

    @property
    def tested_functions(self) -> dict[str, Callable]:
        """The reference of the exercise whose functions this one tests, by name; empty if it asks for no test."""
        return {self.tests.name: self.tests.reference} if self.tests else {}

    def outcome(self, function: Callable, inputs: dict[str, Any]) -> Outcome:
        """Run one of our functions on a case. Apply harms to the reference of the tested exercise."""
        return run(function, bound(inputs, self.tested_functions))

    def cases(self, aspect: str, *, points: float) -> Decorator:
        """Return a decorator for the function that generates the cases of an aspect.

        The function takes a Draw and yields (name of the case, dict of argument name -> value). A student gets the
        aspect's points only if all of its cases pass; for a prediction, see `check.scoring.points_for_share`. Raises
        ValueError if the aspect already has a function.
        """

        def register(generate: Callable) -> Callable:
            _refuse_duplicate(aspect in self.aspects, f"{self.name}: the aspect {aspect!r}")
            self.aspects[aspect] = (float(points), generate)
            return generate

        return register

    def mistake(self, name: str, *, reread: str = "", **family: Sequence[float]) -> Decorator:
        """Return a decorator for a wrong solution. Its docstring is the message that students read.

        Args:
            name: the mistake in a few words, such as "normalises over the wrong axis".
            reread: title of the section to read again; by default the exercise's section.
            family: a keyword-only parameter of the wrong solution and its values, such as number=(1e-8, 1e-6). Each
                value is a mistake of its own, and {number} stands for it in the name and the docstring. The first
                mistake has the name of the function as its slug; the value follows it in the slugs of the others.

        Raises ValueError if the wrong solution has no docstring, or another mistake has the name of its function.
        """

        def register(wrong: Callable) -> Callable:
            if not wrong.__doc__:
                raise ValueError(
                    f"{self.name}: the mistake {wrong.__name__} needs a docstring, the message for students"
                )
            message = " ".join(wrong.__doc__.split())
            members = [(wrong.__name__, name, message, wrong)]
            for parameter, values in family.items():
                members = list(_members(wrong, name, message, parameter, values))
            for slug, short, long, function in members:
                _refuse_duplicate(slug in self.mistakes, f"{self.name}: the mistake {slug}")
                self.mistakes[slug] = (Mistake(short, long, reread or self.section), function)
            return members[0][-1]

        return register

    def equivalent(self, rewrite: Callable) -> Callable:
        """Decorate another right solution, which must earn full marks."""
        _refuse_duplicate(rewrite.__name__ in self.equivalents, f"{self.name}: the equivalent {rewrite.__name__}")
        self.equivalents[rewrite.__name__] = rewrite
        return rewrite


def exercises_of(chapter: str, repo: Path = REPO) -> list[Exercise]:
    """Return the exercises of a chapter ("01_attention"), in the order in which its text checks them.

    repo: the folder in which `chapters/` is.

    Raises:
        FileNotFoundError: there is no such chapter.
        ModuleNotFoundError: the chapter checks an exercise that has no file in autograder/exercises/.
    """
    package = f"autograder.exercises.{number_and_word(chapter)[1]}"
    return [getattr(importlib.import_module(f"{package}.{name}"), name) for name in exercise_names(chapter, repo)]


def find_exercise(name: str) -> Exercise:
    """Return the exercise with this name. Raises UserError, with the names of all exercises, if there is none."""
    others = []
    for chapter in chapter_names():  # import one chapter after another, and no more than necessary
        for exercise in exercises_of(chapter):
            if exercise.name == name:
                return exercise
            others.append(exercise.name)
    raise UserError(f"there is no exercise called {name!r}; there are: {', '.join(others)}")


def _members(
    wrong: Callable, name: str, message: str, parameter: str, values: Sequence[float]
) -> Iterator[tuple[str, str, str, Callable]]:
    """Yield (slug, name, message, function) of each mistake of a family."""
    for i, value in enumerate(values):
        words = {parameter: short_number(value)}
        slug = f"{wrong.__name__}_{words[parameter]}" if i else wrong.__name__
        yield slug, name.format(**words), message.format(**words), _with_default(wrong, parameter, value)


def short_number(number: float) -> str:
    """Return a number as people write it: 1e-8, -10000, 1e9."""
    return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].strip("+"), f"{number:g}")


def _with_default(function: Callable, parameter: str, value: float) -> FunctionType:
    """A copy of a function with a default value for a keyword-only parameter."""
    assert isinstance(function, FunctionType)
    copied = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__ = {parameter: value}
    return copied


def _refuse_duplicate(exists: bool, what: str) -> None:
    if exists:
        raise ValueError(f"{what} already exists")
