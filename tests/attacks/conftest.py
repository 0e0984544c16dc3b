"""Fixtures: a course with canaries, a submission graded as in a class, and a search for what an attack left behind."""

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
from tests.leftovers import forks, open_resources
from tests.patience import PATIENT

FULL = 22
REPO = Path(autograder.__file__).parent.parent
# The command line of a new sandbox holds its limits. This one marks those that this process of the tests starts.
MARK = PATIENT.processor_seconds + os.getpid() / 2**24
# Attacks get the time that a busy machine needs. The limits of size are small, so that floods stay small.
SMALL = replace(PATIENT, processor_seconds=MARK, memory_mb=600, answers_mb=8, disk_mb=8)
# An endless attack is stopped after three seconds of processor time; honest calls of the same notebook take
# milliseconds of it.
STOPPED = replace(SMALL, call_seconds=3.0, patience=0.3, wall_factor=200.0)
# An attack that waits is stopped after six seconds by the wall clock.
WAITED = replace(SMALL, wall_factor=0.01)


@pytest.fixture(scope="session")
def course(released_course, tmp_path_factory):
    """A released course, with a canary in every file that no submission may read."""
    course = shutil.copytree(released_course, tmp_path_factory.mktemp("attacked") / "course")
    for what, path in (
        ("seed", "secret_seed.old"),
        ("gradebook", "gradebook.db"),
        ("report", f"reports/{CHAPTER}/r.json"),
    ):
        (course / path).parent.mkdir(parents=True, exist_ok=True)
        (course / path).write_text(canary(what))
    secret_seed(course)  # this makes the seed
    source = course / "source" / CHAPTER / f"{CHAPTER}.ipynb"
    notebook = json.loads(source.read_text(encoding="utf-8"))
    notebook["metadata"]["note"] = canary("source")
    source.write_text(json.dumps(notebook), encoding="utf-8")
    other = course / "submitted" / "other" / CHAPTER / f"{CHAPTER}.ipynb"
    other.parent.mkdir(parents=True)
    other.write_text(canary("submission"))
    return course


def canary(what):
    """Return a word that no submission may read. It is random, so that this file does not hold it."""
    return f"CANARY-{what}-{secrets.token_hex(4)}"


@pytest.fixture(scope="session")
def secret_word():
    """A canary in the environment and the memory of this process, and in the command line of another one."""
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
    content = next(e.content for e in example_class.examples(course, CHAPTER) if e.student == "perfect")
    return json.loads(content)


@pytest.fixture(scope="session")
def assignment(course):
    """An assignment whose reports quote exceptions, so that a report shows what an attack has read."""
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

    An attack must not harm the next submission. The honest exercise of the next attack shows this, and an honest
    notebook after the last attack.
    """

    def report_on(content, limits=SMALL):
        file = File(content)
        seeds = seeds_of(file, assignment.released, secret_seed(course))
        return grade.grade_submission(file, seeds, assignment, bundle, solutions, limits)

    yield report_on
    assert report_on(dump(perfect)).earned == FULL


@pytest.fixture
def graded(report_on, bundle, solutions, course, monkeypatch, tmp_path, token, secret_word):
    """graded(notebook, limits) -> its report, after checking that nothing was left behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def graded(notebook, limits=SMALL):
        before = open_resources(), files_in(course, bundle, solutions, tmp_path)
        report = report_on(notebook if isinstance(notebook, bytes) else dump(notebook), limits)
        assert open_resources() <= before[0] and files_in(course, bundle, solutions, tmp_path) == before[1]
        assert left_behind(token) == []
        return report

    return graded


@pytest.fixture
def token():
    """A unique name for the files and sockets that an attack makes, to search for it afterwards."""
    return f"trace-{secrets.token_hex(8)}"


def files_in(*folders):
    """Return the path, size, time and mode of every file in some folders."""
    return [
        (str(path), status.st_size, status.st_mtime_ns, status.st_mode)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        for status in [path.lstat()]
    ]


def left_behind(token):
    """Return the sandbox's processes, and files and sockets with the token in their names, wherever they could be."""
    traces = [f"fork {process}" for process in forks()]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if f'"processor_seconds": {MARK!r}'.encode() in command or token.encode() in command:
            traces.append(f"process {process.name}")
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/", str(REPO), str(Path.home())):
        traces += [str(path) for path in Path(folder).glob(f"*{token}*")]
    traces += [line for line in Path("/proc/net/unix").read_text(errors="replace").splitlines() if token in line]
    return traces
