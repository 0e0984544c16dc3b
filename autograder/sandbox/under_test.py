"""Answer the calls of functions under test, some of them before the test makes the call.

A test calls most functions with the same arguments. A point is all the arguments of one call. The grader numbers
the points at which a submission calls the functions of an exercise. If the submission calls the next function at such a
point, the grader also sends the values of this function at the following points. The more of these values the test
needs, the more the grader sends next time.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.sandbox.inside import frames
from check import tested, values
from check.tested import FunctionUnderTest
from check.trees import mapped

Arguments = tuple[tuple, dict[str, Any]]  # args, kwargs

MAX_POINT_BYTES = 2**21  # bytes of all points of an exercise, as they were sent
# The number of answers sent ahead at first, and at most.
FIRST, MOST = 4, 128
MAX_AHEAD_BYTES = 2**22  # bytes of the arrays of one function
AHEAD_SECONDS = 0.005  # processor time for one message; with a slower function, sending ahead saves nothing


class Points:
    """The points, by number, at which a process called the functions under test of one exercise."""

    def __init__(self) -> None:
        self._points: list[Arguments] = []
        self._bytes_left = MAX_POINT_BYTES

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, number: int) -> Arguments:
        """Return a point. Raises values.Malformed if no point has this number."""
        if not 0 <= number < len(self._points):
            raise values.Malformed("a point that was not sent")
        return self._points[number]

    def add(self, point: Arguments, n_bytes: int) -> int | None:
        """Add a point of this size and return its number, or None if there is no room for it."""
        if n_bytes > self._bytes_left or len(self._points) == tested.MAX_CALLS:
            return None
        self._bytes_left -= n_bytes
        self._points.append(point)
        return len(self._points) - 1


class Answers:
    """The answers to the calls of one function under test.

    The grader runs the function. It limits both the calls that a test may make and the answers sent ahead.
    """

    def __init__(self, function: FunctionUnderTest, points: Points):
        self._function, self._points = function, points
        self._calls = self._sent_ahead = 0
        self._bytes_left = MAX_AHEAD_BYTES
        self._next, self._length = -1, FIRST  # the point after the last answer sent ahead, and their number

    def at(self, point: Arguments, n_bytes: int) -> bytes:
        """Return a frame with the answer at a new point of this size, and with the point's number if it gets one."""
        answer = self._counted(lambda: self._checked(point))
        number = None if answer["raised"] else self._points.add(point, n_bytes)
        return _frame({**answer, "point": number}, [])

    def at_number(self, number: int) -> bytes:
        """Return a frame with the answer at an earlier point, and with answers at the following points.

        Raises values.Malformed if there is no such point.
        """
        started = time.thread_time()
        answer, ahead = self._counted(lambda: _answer(self._function, self._points[number])), []
        self._length = min(2 * self._length, MOST) if number == self._next else FIRST
        for following in range(number + 1, min(number + 1 + self._length, len(self._points))):
            late = time.thread_time() - started > AHEAD_SECONDS
            if late or self._sent_ahead == tested.MAX_CALLS or self._bytes_left < 0:
                break
            self._sent_ahead += 1
            ahead.append(_answer(self._function, self._points[following]))
            self._bytes_left -= _n_bytes(ahead[-1])
        self._next = number + 1 + len(ahead)
        return _frame(answer, ahead)

    def _counted(self, answered: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Count a call and return its answer, which is an exception after too many calls."""
        self._calls += 1
        return _raised(RuntimeError(tested.TOO_MANY_CALLS)) if self._calls > tested.MAX_CALLS else answered()

    def _checked(self, point: Arguments) -> dict[str, Any]:
        """Return the answer at a new point. The point is untrusted, so we limit the sizes of its arrays."""
        try:
            tested.suitable_entries(point, self._function.max_axis)
        except Exception as error:
            return _raised(error)
        return _answer(self._function, point)


def _answer(function: FunctionUnderTest, point: Arguments) -> dict[str, Any]:
    """Return a function's value, or the type of its exception, and the arguments' arrays that it changed."""
    args, kwargs = _copied(point)
    arrays = tested.arrays_in((args, kwargs))
    before = [array.tobytes() for array in arrays]
    try:
        with np.errstate(all="ignore"):
            value = function(*args, **kwargs)
    except Exception as error:
        return _raised(error)
    pairs = enumerate(zip(arrays, before, strict=True))
    changed = {str(i): array for i, (array, content) in pairs if array.tobytes() != content}
    return {"value": value, "raised": "", "changed": changed}


def _n_bytes(answer: dict[str, Any]) -> int:
    return sum(array.nbytes for array in tested.arrays_in(answer))


def _raised(error: Exception) -> dict[str, Any]:
    return {"value": None, "raised": type(error).__name__, "changed": {}}


def _frame(answer: dict[str, Any], ahead: list[dict[str, Any]]) -> bytes:
    tree, arrays = values.pack([answer, *ahead])
    first, *others = tree["items"]
    return frames.encode({"answer": first, "ahead": others}, arrays)


def _copied(value: Any) -> Any:
    """Return a copy of arguments.

    Arrays without axes become NumPy scalars, because `values` does not distinguish the two.
    """

    def copied(part: Any) -> Any:
        return (part.copy() if part.ndim else part[()]) if isinstance(part, np.ndarray) else part

    return mapped(copied, value)
