"""What one task of the cluster does, on this machine or another: a submission's bytes in, its report out.

A worker has no course folder, no gradebook, and of the seed only what is drawn from it for the submission at hand.
Student code runs in the sandbox's process, never here.
"""

from functools import lru_cache
from threading import Lock

from platformdirs import user_cache_path

from autograder.grading.assignment import Assignment, environment
from autograder.grading.bundles import unpacked
from autograder.grading.grade import grade_submission
from autograder.grading.submitted_file import File
from autograder.sandbox import SandboxUnavailable, probe

_preparing = Lock()


class OtherEnvironment(SandboxUnavailable):
    """A worker has other versions than the command that started the grading; the message names them."""


def receive(assignment: Assignment) -> Assignment:
    """A task of its own, so that an assignment is sent once, and again where a worker that held it is lost."""
    return assignment


def prepare(assignment: Assignment) -> None:
    """Unpack what is needed and try the sandbox, once in a process. Raises OtherEnvironment, SandboxUnavailable."""
    _folders(assignment)


def grade_file(file: File, seeds: dict[str, int], assignment: Assignment) -> dict:
    """The report on a submitted file, as JSON; seeds: of each exercise's cases."""
    return grade_submission(file, seeds, assignment, *_folders(assignment)).to_json()


def _folders(assignment):
    """Where the bundle is, and where the solutions."""
    with _preparing:
        bundle = tried_bundle(assignment.bundle, tuple(assignment.environment.items()))
        return bundle, _unpacked(assignment.solutions)


@lru_cache(maxsize=4)
def tried_bundle(bundle, expected):
    """The folder with the bundle in it, after the sandbox was tried."""
    ours = environment(dict(expected)["sandbox"])
    if other := [f"{name} {ours.get(name)}, not {theirs}" for name, theirs in expected if ours.get(name) != theirs]:
        raise OtherEnvironment(f"a worker has {', '.join(other)}: install the same version of the course there")
    folder = _unpacked(bundle)
    if ours["sandbox"] == "bwrap":
        probe(folder)
    return folder


@lru_cache(maxsize=8)
def _unpacked(archive):
    return unpacked(archive, user_cache_path("autograder"))
