"""Register wrong and right answers, in any module of tests/explanations/answers/.

For example:

@wrong("softmax", "https://...", names="over_the_batch")
def softmax_down_the_columns(scores):
    '''Sum down the columns where each row needs a sum of its own.'''
    ...
"""

from collections.abc import Callable
from dataclasses import dataclass

SECRET = (20_260_101, 7)  # seeds of secret keys
MANY = tuple(range(18))  # seeds for wrong answers that only some keys accepted
SOME = MANY[:6]  # fewer seeds, for keys that take a second to make

WRONG: list["Answer"] = []
RIGHT: list["Answer"] = []


@dataclass(frozen=True)
class Answer:
    """An answer to an exercise, written for these tests.

    exercise: its name. address: where people reported the mistake, or where this way to write the exercise is public;
    "" if we thought of it ourselves.
    names: slugs of the known mistakes that are true of a wrong answer; the judge may name no other.
    says: parts of the sentences of a true relation or slip. With neither, the judge only says that values are wrong.
    seeds: seeds of keys of which one, or the public key, once accepted a wrong answer; no explanation is expected then.
    name: the name of its test, by default that of the function.
    """

    exercise: str
    function: Callable
    address: str = ""
    names: tuple[str, ...] = ()
    says: str = ""
    seeds: tuple[int, ...] = ()
    name: str = ""

    @property
    def id(self) -> str:
        """The name of its test, with the exercise."""
        return f"{self.exercise}-{self.name or self.function.__name__}"

    @property
    def kind(self) -> str:
        """How the judge is known to explain it: by a "name", by a "relation", or only in a "vague" way."""
        return "name" if self.names else "relation" if self.says else "vague"


def wrong(exercise: str, address: str = "", *, names: str = "", **more) -> Callable[[Callable], Callable]:
    """Return a decorator for a wrong answer; its docstring says what is wrong.

    names: slugs, separated by spaces. more: says, seeds and name, see Answer.
    """
    return _register(WRONG, exercise, address, names=tuple(names.split()), **more)


def right(exercise: str, address: str) -> Callable[[Callable], Callable]:
    """Return a decorator for a right answer; its docstring says what is unusual about it."""
    return _register(RIGHT, exercise, address)


def _register(answers: list[Answer], exercise: str, address: str, **more) -> Callable[[Callable], Callable]:
    def register(function: Callable) -> Callable:
        answers.append(Answer(exercise, function, address, **more))
        return function

    return register
