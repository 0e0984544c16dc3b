"""Send the results of workers back as JSON in bytes, and check that a reply is the report that we asked for.

We do not trust a reply from another machine, because every machine with the cluster's certificate can send one.
"""

import json
import logging
from collections.abc import Callable

from autograder.authoring.hand_in import hand_in_of
from autograder.course.handout import Handout
from autograder.grading.assignment import digest
from autograder.grading.client import Work
from autograder.grading.judging import exercises_by_name
from autograder.grading.report import Report
from autograder.grading.unpickling import NotUnpickled
from autograder.sandbox import MachineTooBusy, SandboxUnavailable
from check.faults import KINDS
from check.predictions import ORDER
from check.scoring import Aspect, Result
from check.weights_file import WEIGHTS

REFUSED_PICKLE = (
    "a worker could not start, or was lost repeatedly. The reason came as a pickle, which is not opened on this "
    "machine: look for it in the terminals of workers and scheduler"
)
# Dask logs the exceptions of tasks here, so that the worker's terminal shows them.
_worker_log = logging.getLogger("distributed.worker")


class NoReport(Exception):
    """A worker did not send the report that we asked for. The message says what it sent."""


def call_and_encode(function: Callable, *arguments: object) -> bytes:
    """Call a function on a worker and return its value as JSON, or a description of its exception.

    Otherwise Dask would send an exception as a pickle.
    """
    try:
        reply = {"answer": function(*arguments)}
    except SandboxUnavailable as error:
        reply = {"unavailable": str(error)}
    except MachineTooBusy as error:
        reply = {"too busy": str(error)}
    except Exception as error:
        _worker_log.exception("%s failed", function.__name__)
        reply = {"failed": f"{type(error).__name__}: {error}"}
    return json.dumps(reply).encode()


def decode_answer(future: Work) -> object:
    """Wait for the reply of `call_and_encode` on a worker, and return the function's value.

    Raises SandboxUnavailable or MachineTooBusy if the worker did, and NoReport for any other exception or answer.
    """
    try:
        raw = future.result()
    except Exception as error:
        # If Dask cannot unpickle an exception, it raises another one that holds the bytes.
        if isinstance(error, NotUnpickled) or any(isinstance(part, bytes) for part in error.args):
            raise NoReport(REFUSED_PICKLE) from None
        raise
    match _read(raw):
        case {"answer": value}:
            return value
        case {"unavailable": str(why)}:
            raise SandboxUnavailable(why)
        case {"too busy": str(why)}:
            raise MachineTooBusy(why)
        case {"failed": str(why)}:
            raise NoReport(why)
    raise NoReport("a worker answered with something that is not a reply")


def _read(raw: object) -> object:
    """Return the JSON value of a reply's bytes, or None if they are not JSON."""
    try:
        return json.loads(raw) if isinstance(raw, bytes) else None
    except (ValueError, RecursionError):
        return None


def decode_report(future: Work, parts: dict[str, str], released: Handout) -> Report:
    """Wait for the report that a worker makes from these parts, and return it.

    Raises NoReport for any other answer, and all exceptions of `decode_answer`.
    """
    try:
        report = Report.from_json(decode_answer(future))
    except ValueError as error:
        raise NoReport(f"a worker answered with something that is not a report: {error}") from error
    if (report.made_from, report.digest, report.chapter) != (parts, digest(parts), released.chapter):
        raise NoReport("a worker answered with a report on another submission")
    if [result.function for result in report.results] != list(released.graded):
        raise NoReport("a worker answered with a report on other exercises")
    exercises = exercises_by_name(released.chapter)
    aspects = {
        name: {aspect: points for aspect, (points, _) in exercise.aspects.items()}
        for name, exercise in exercises.items()
    }
    by_share = {name for name, exercise in exercises.items() if exercise.measure == ORDER}
    if hand_in := hand_in_of(released.chapter):
        aspects[WEIGHTS] = {tier.name: tier.points for tier in hand_in.tiers}
    for result in report.results:
        if not _is_possible(result, aspects[result.function], result.function in by_share):
            raise NoReport(f"a worker answered with an impossible score for {result.function}")
    return report


def _is_possible(result: Result, points: dict[str, float], by_share: bool) -> bool:
    """Return whether a result is possible: each aspect earns what it can earn, and the sums are right.

    points: aspect -> its points. by_share: whether an aspect can also earn a part of its points, in steps of one half,
    instead of only all or none.
    """
    aspects = result.aspects
    return (
        {aspect.name: aspect.points for aspect in aspects} == points
        and all(0 <= aspect.passed <= aspect.total for aspect in aspects)
        and all(_can_be_earned(aspect, by_share) for aspect in aspects)
        and result.points == sum(aspect.points for aspect in aspects)
        and result.earned == sum(aspect.earned for aspect in aspects)
        and (result.verdict is None or result.verdict.kind in KINDS)
    )


def _can_be_earned(aspect: Aspect, by_share: bool) -> bool:
    in_steps = by_share and 0 < aspect.earned < aspect.points and (2 * aspect.earned).is_integer()
    return in_steps or aspect.earned in (0, aspect.points)
