"""What one task of the cluster does, on this machine or another: a submission's bytes in, its report out.

A worker has no course folder, no gradebook and no seed. Student code runs in the sandbox's process, never here.
"""

import hashlib
import io
import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path
from threading import Lock

from platformdirs import user_cache_path

from autograder.grading.grade import Assignment, environment, grade_submission
from autograder.grading.submitted_file import File
from autograder.sandbox import SandboxUnavailable, probe

_preparing = Lock()


class OtherEnvironment(SandboxUnavailable):
    """A worker has other versions than the command that started the grading; the message names them."""


def receive(assignment: Assignment) -> Assignment:
    """A task of its own, so that an assignment is sent once, and again where a worker that held it is lost."""
    return assignment


def prepare(assignment: Assignment) -> None:
    """Unpack the bundle and try the sandbox, once in a process. Raises OtherEnvironment, SandboxUnavailable."""
    _bundle(assignment)


def grade_file(file: File, assignment: Assignment) -> dict:
    """The report on a submitted file, as JSON."""
    return grade_submission(file, assignment, _bundle(assignment)).to_json()


def _bundle(assignment):
    with _preparing:
        return _unpacked(assignment.bundle, tuple(assignment.environment.items()))


@lru_cache(maxsize=4)
def _unpacked(bundle, expected):
    """The folder with the bundle in it, after the sandbox was tried."""
    ours = environment(dict(expected)["sandbox"])
    if other := [f"{name} {ours[name]}, not {theirs}" for name, theirs in expected if ours[name] != theirs]:
        raise OtherEnvironment(f"a worker has {', '.join(other)}: install the same version of the course there")
    # In a cache and not in a temporary folder, which a killed run would leave behind each time.
    folder = user_cache_path("autograder") / hashlib.sha256(bundle).hexdigest()[:16]
    if not folder.exists():
        _unzip(bundle, folder)
    if ours["sandbox"] == "bwrap":
        probe(folder)
    return folder


def _unzip(bundle, folder):
    """Whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=folder.parent) as half, zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        archive.extractall(half)
        Path(half).rename(folder)
        Path(half).mkdir()  # for TemporaryDirectory to remove
