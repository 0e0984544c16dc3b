"""The tasks of workers, on this machine or another. The main task turns a submission's bytes into a report.

A worker has no course folder and no gradebook, and gets only the seeds of this submission's cases. Student code runs in
a process of the sandbox, never in the worker's process.
"""

from functools import lru_cache
from pathlib import Path
from threading import Lock

from platformdirs import user_cache_path

from autograder.grading import own_process
from autograder.grading.assignment import Assignment, environment
from autograder.grading.bundles import unpacked
from autograder.grading.grade import grade_submission
from autograder.grading.submitted_file import File
from autograder.sandbox import SandboxUnavailable, probe

_preparing = Lock()


class OtherEnvironment(SandboxUnavailable):
    """A worker and the machine that started grading have different versions. The message names them."""


def receive(assignment: Assignment) -> Assignment:
    """Return the assignment. Dask sends the result of a task once, and again if the worker that has it is lost."""
    return assignment


def prepare(assignment: Assignment) -> None:
    """Unpack the assignment and try the sandbox, once per process. Raises OtherEnvironment, SandboxUnavailable."""
    _folders(assignment)


def grade_file(file: File, seeds: dict[str, int], assignment: Assignment, alone: bool) -> dict:
    """Return the report on a submitted file, as JSON.

    seeds: exercise -> the seed of its cases. alone: whether the machine grades nothing else at the same time.

    Raises MachineTooBusy, SandboxUnavailable.
    """
    return own_process.call(_graded, file, seeds, assignment, *_folders(assignment), alone)


def _graded(
    file: File, seeds: dict[str, int], assignment: Assignment, bundle: Path, solutions: Path, alone: bool
) -> dict:
    return grade_submission(file, seeds, assignment, bundle, solutions, alone=alone).to_json()


def _folders(assignment: Assignment) -> tuple[Path, Path]:
    """Return the folders with the unpacked bundle and the unpacked solutions."""
    with _preparing:
        bundle = tried_bundle(assignment.bundle, tuple(assignment.environment.items()))
        return bundle, _unpacked(assignment.solutions)


@lru_cache(maxsize=4)
def tried_bundle(bundle: bytes, expected: tuple[tuple[str, str], ...]) -> Path:
    """Return the folder with the unpacked bundle, after trying the sandbox. expected: the items of the environment.

    Raises OtherEnvironment, SandboxUnavailable.
    """
    here = environment(dict(expected)["sandbox"])
    if other := [f"{name} {here.get(name)}, not {value}" for name, value in expected if here.get(name) != value]:
        raise OtherEnvironment(f"a worker has {', '.join(other)}: install the same version of the course there")
    folder = _unpacked(bundle)
    if here["sandbox"] != "none":
        probe(folder, kind=here["sandbox"])
    return folder


@lru_cache(maxsize=8)
def _unpacked(archive: bytes) -> Path:
    return unpacked(archive, user_cache_path("autograder"))
