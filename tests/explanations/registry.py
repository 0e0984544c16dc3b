"""Register wrong and right answers that public code and bug reports suggest.

For example, in tests/explanations/attention.py:

@wrong("softmax", "https://...", names="over_the_batch")
def softmax_down_the_columns(scores):
    '''Sum down the columns where each row needs a sum of its own.'''
    ...
"""

from collections.abc import Callable
from dataclasses import dataclass

WRONG: list["Answer"] = []
RIGHT: list["Answer"] = []


@dataclass(frozen=True)
class Answer:
    """An answer to an exercise, written for these tests.

    exercise: its name. address: where people reported the mistake, or where this way to write the exercise is public.
    names: slugs of the known mistakes that are true of a wrong answer; the judge may name no other.
    says: parts of the sentences of a true relation or slip. With neither, the judge only says that values are wrong.
    """

    exercise: str
    function: Callable
    address: str
    names: tuple[str, ...] = ()
    says: str = ""

    @property
    def id(self) -> str:
        """The name of its test."""
        return f"{self.exercise}-{self.function.__name__}"

    @property
    def kind(self) -> str:
        """How the judge is known to explain it: by a "name", by a "relation", or only in a "vague" way."""
        return "name" if self.names else "relation" if self.says else "vague"


def wrong(exercise: str, address: str, *, names: str = "", says: str = "") -> Callable[[Callable], Callable]:
    """Return a decorator for a wrong answer; its docstring says what is wrong. names: slugs, separated by spaces."""
    return _register(WRONG, exercise, address, tuple(names.split()), says)


def right(exercise: str, address: str) -> Callable[[Callable], Callable]:
    """Return a decorator for a right answer; its docstring says what is unusual about it."""
    return _register(RIGHT, exercise, address)


def _register(answers: list[Answer], exercise: str, address: str, names=(), says="") -> Callable[[Callable], Callable]:
    def register(function: Callable) -> Callable:
        answers.append(Answer(exercise, function, address, names, says))
        return function

    return register
