"""A course with canaries in it, one submission graded as in a class, and the traces that one may have left."""

import io
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

import autograder
from autograder.course.seed import secret_seed
from autograder.example import example_class
from autograder.grading import grade
from autograder.grading.assignment import open_assignment, seeds_of
from autograder.grading.submitted_file import File
from tests.attacks.attack import dump
from tests.conftest import CHAPTER
from tests.leftovers import held
from tests.patience import PATIENT

FULL = 25
HOUSE = Path(autograder.__file__).parent.parent
# The command line of a sandbox holds its limits. This one marks the sandboxes that this process of the tests starts.
MARK = PATIENT.processor_seconds + os.getpid() / 2**24
# An attack may take the time that a busy machine needs. Sizes are small, so that floods stay small.
SMALL = replace(PATIENT, processor_seconds=MARK, memory_mb=600, answers_mb=8, disk_mb=8)
# An endless attack is stopped after three seconds; honest calls of the same notebook take milliseconds.
STOPPED = replace(SMALL, call_seconds=3.0, patience=0.3)


@pytest.fixture(scope="session")
def course(released_course, tmp_path_factory):
    """A released course, with canaries in everything that is nobody's business."""
    course = shutil.copytree(released_course, tmp_path_factory.mktemp("attacked") / "course")
    for what, path in (
        ("seed", "secret_seed.old"),
        ("gradebook", "gradebook.db"),
        ("report", f"reports/{CHAPTER}/r.json"),
    ):
        (course / path).parent.mkdir(parents=True, exist_ok=True)
        (course / path).write_text(canary(what))
    secret_seed(course)  # makes it
    source = course / "source" / CHAPTER / f"{CHAPTER}.ipynb"
    notebook = json.loads(source.read_text(encoding="utf-8"))
    notebook["metadata"]["note"] = canary("source")
    source.write_text(json.dumps(notebook), encoding="utf-8")
    other = course / "submitted" / "other" / CHAPTER / f"{CHAPTER}.ipynb"
    other.parent.mkdir(parents=True)
    other.write_text(canary("submission"))
    return course


def canary(what):
    """A word that nobody inside may read; it is made here, so that this file does not hold it."""
    return f"CANARY-{what}-{secrets.token_hex(4)}"


@pytest.fixture(scope="session")
def secret_word():
    """A canary in our environment, in our memory, and on the command line of a process of ours."""
    word = canary("process")
    os.environ["AUTOGRADER_CANARY"] = word
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()", word], stdin=subprocess.PIPE
    ) as process:
        yield word
        process.stdin.close()
    del os.environ["AUTOGRADER_CANARY"]


@pytest.fixture(scope="session")
def perfect(course):
    """A solved notebook, as JSON; copy before you change it."""
    content = next(each.content for each in example_class.examples(course, CHAPTER) if each.student == "perfect")
    return json.loads(content)


@pytest.fixture(scope="session")
def assignment(course):
    """One that quotes what exceptions say, as grading does not: what an attack reads, its report can tell."""
    return open_assignment(course, CHAPTER, secret_seed(course), hidden=False)


@pytest.fixture(scope="session")
def bundle(assignment, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    with zipfile.ZipFile(io.BytesIO(assignment.bundle)) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="session")
def solutions(assignment, tmp_path_factory):
    folder = tmp_path_factory.mktemp("solutions")
    with zipfile.ZipFile(io.BytesIO(assignment.solutions)) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="session")
def report_on(assignment, bundle, solutions, perfect, course):
    """report_on(content, limits) -> the report of one submission.

    The next submission is none the worse for an attack: that shows in the honest exercises of the next attack, and
    after the last one in an honest notebook.
    """

    def report_on(content, limits=SMALL):
        file = File(content)
        seeds = seeds_of(file, assignment.released, secret_seed(course))
        return grade.grade_submission(file, seeds, assignment, bundle, solutions, limits)

    yield report_on
    assert report_on(dump(perfect)).earned == FULL


@pytest.fixture
def graded(report_on, bundle, solutions, course, monkeypatch, tmp_path, token, secret_word):
    """graded(notebook, limits) -> its report, after which no trace is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def graded(notebook, limits=SMALL):
        before = held(), files_in(course, bundle, solutions, tmp_path)
        report = report_on(notebook if isinstance(notebook, bytes) else dump(notebook), limits)
        assert held() <= before[0] and files_in(course, bundle, solutions, tmp_path) == before[1]
        assert left_behind(token) == []
        return report

    return graded


@pytest.fixture
def token():
    """A name for what an attack leaves, found again wherever it is."""
    return f"left-{secrets.token_hex(8)}"


def files_in(*folders):
    """Every file of some folders, its size, its time and its mode."""
    return [
        (str(path), status.st_size, status.st_mtime_ns, status.st_mode)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        for status in [path.lstat()]
    ]


def left_behind(token):
    """Processes of the sandbox, and files and sockets with the token in their names, anywhere one could put them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if f'"processor_seconds": {MARK!r}'.encode() in command or token.encode() in command:
            found.append(f"process {process.name}")
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/", str(HOUSE), str(Path.home())):
        found += [str(path) for path in Path(folder).glob(f"*{token}*")]
    found += [line for line in Path("/proc/net/unix").read_text(errors="replace").splitlines() if token in line]
    return found
