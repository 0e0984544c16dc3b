"""How what a worker found comes back: as JSON in bytes, which are read as data and held against what was asked for.

Nothing that another machine sends is trusted to be a report: whoever has the cluster's certificate can answer.
"""

import json
import logging
from collections.abc import Callable

from distributed import Future

from autograder.authoring.exercise import exercises_of
from autograder.course.handout import Handout
from autograder.grading.assignment import digest
from autograder.grading.report import Report
from autograder.grading.unpickling import NotUnpickled
from autograder.sandbox import SandboxUnavailable
from check.faults import KINDS

UNOPENED = (
    "a worker could not begin, or was lost again and again; what is said of it is a pickle, which is not opened here: "
    "the windows of workers and scheduler show it"
)
# As Dask does with what a task raises, which is to be seen in the worker's window.
_window = logging.getLogger("distributed.worker")


class NoReport(Exception):
    """A worker did not make the report that it was asked for; the message says what came in its place."""


def replied(function: Callable, *arguments: object) -> bytes:
    """On a worker: what a function returns, or what it raises, in words: an exception would be sent as a pickle."""
    try:
        reply = {"answer": function(*arguments)}
    except SandboxUnavailable as error:
        reply = {"unavailable": str(error)}
    except Exception as error:
        _window.exception("%s failed", function.__name__)
        reply = {"failed": f"{type(error).__name__}: {error}"}
    return json.dumps(reply).encode()


def answer(future: Future) -> object:
    """What a function returned that a worker called with `replied`, waited for.

    Raises SandboxUnavailable as the worker did, NoReport where something else was raised, or no such reply came.
    """
    try:
        raw = future.result()
    except Exception as error:
        # Dask puts an exception that it could not unpickle into another, as bytes.
        if isinstance(error, NotUnpickled) or any(isinstance(part, bytes) for part in error.args):
            raise NoReport(UNOPENED) from None
        raise
    match _read(raw):
        case {"answer": found}:
            return found
        case {"unavailable": str(why)}:
            raise SandboxUnavailable(why)
        case {"failed": str(why)}:
            raise NoReport(why)
    raise NoReport("a worker answered with something that is no reply")


def _read(raw):
    """What the bytes of a reply hold; None if they hold nothing."""
    try:
        return json.loads(raw) if isinstance(raw, bytes) else None
    except (ValueError, RecursionError):
        return None


def report(future: Future, parts: dict[str, str], released: Handout) -> Report:
    """The report that a worker made from these parts, waited for. Raises NoReport for any other, and as `answer`."""
    try:
        found = Report.from_json(answer(future))
    except ValueError as error:
        raise NoReport(f"a worker answered with something that is no report: {error}") from error
    if (found.made_from, found.digest, found.chapter) != (parts, digest(parts), released.chapter):
        raise NoReport("a worker answered with a report on another submission")
    if [result.function for result in found.results] != list(released.functions):
        raise NoReport("a worker answered with a report on other exercises")
    worth = {exercise.name: exercise.aspects for exercise in exercises_of(released.chapter)}
    for result in found.results:
        if not _can_be(result, {name: points for name, (points, _) in worth[result.function].items()}):
            raise NoReport(f"a worker answered with a score for {result.function} that nobody can have")
    return found


def _can_be(result, worth):
    """Whether each aspect has the points it is worth, all of them earned or none, and the result what they come to."""
    aspects = result.aspects
    return (
        {aspect.name: aspect.points for aspect in aspects} == worth
        and all(aspect.earned in (0, aspect.points) and 0 <= aspect.passed <= aspect.total for aspect in aspects)
        and result.points == sum(aspect.points for aspect in aspects)
        and result.earned == sum(aspect.earned for aspect in aspects)
        and (result.verdict is None or result.verdict.kind in KINDS)
    )
