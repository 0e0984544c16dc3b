"""Grading on the workers of a Dask scheduler, which are separate processes that cannot see the course folder."""

import gc
import json
import os
import signal
import threading
import time
import tracemalloc
from importlib.metadata import version

import numpy as np
import pytest
from distributed import Client

from autograder.cli.main import main
from autograder.gradebook import class_run
from autograder.grading import cluster
from tests.autograder.grading.dask_processes import REPO, dask_processes, free_port
from tests.choosing import thinned
from tests.conftest import CHAPTER
from tests.patience import SECONDS

pytestmark = pytest.mark.grading
OWN_PAGE = "--dashboard-address=127.0.0.1:0"
STUDENTS = ("perfect", "mistake-1", "half-done", "truncated")


@pytest.fixture
def start(tmp_path):
    with dask_processes(tmp_path / "elsewhere") as starting:
        yield starting


@pytest.fixture
def scheduler(start):
    """The address of a scheduler that has no workers yet."""
    port = free_port()
    start("scheduler", "--host=127.0.0.1", f"--port={port}", OWN_PAGE)
    address = f"tcp://127.0.0.1:{port}"
    with Client(address, timeout=SECONDS):
        return address


def a_worker(start, scheduler, **options):
    return start("worker", scheduler, "--no-nanny", "--nthreads=1", "--host=127.0.0.1", OWN_PAGE, **options)


def a_class(course, hand_in, contents, count):
    """Hand in `count` different submissions. Return student -> the score that the submission must get."""
    scores = {}
    for number in range(count):
        name = STUDENTS[number % len(STUDENTS)]
        scores[f"{name}-{number}"] = {"perfect": 22, "mistake-1": 18, "half-done": 9, "truncated": 0}[name]
        hand_in(f"{name}-{number}", contents[name] + b"\n" * number)
    return scores


def test_two_workers_without_a_course_folder_grade_although_one_is_killed(course, hand_in, contents, start, scheduler):
    scores = a_class(course, hand_in, contents, 12)
    victim, survivor = (a_worker(start, scheduler, hide=course) for _ in range(2))
    reports = course / "reports" / CHAPTER
    with Client(scheduler) as client:
        client.wait_for_workers(2, timeout=SECONDS)

    def kill_midway():
        while len(list(reports.glob("*.json")) if reports.exists() else ()) < 4:
            time.sleep(0.02)
        os.killpg(victim.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_midway)
    killer.start()
    rows = class_run.grade_class(course, CHAPTER, scheduler=scheduler)
    killer.join()
    assert {row.student: row.report.earned for row in rows} == scores
    assert victim.wait() == -signal.SIGKILL and survivor.poll() is None
    assert len(list(reports.glob("*.json"))) == len(scores)


OTHERS = {
    f"NumPy 9.9.9, not {np.__version__}": "import numpy\nnumpy.__version__ = '9.9.9'\n",
    f"PyTorch none, not {version('torch')}": """
import importlib.metadata as metadata
real = metadata.version
def version(name):
    if name == "torch":
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.version = version
""",
}


@pytest.mark.parametrize("words", thinned(list(OTHERS), [*OTHERS][:1], "another version"))
def test_a_worker_with_other_versions_is_refused(
    course, hand_in, contents, start, scheduler, tmp_path, monkeypatch, capsys, words
):
    hand_in("ada", contents["perfect"])
    monkeypatch.setattr(cluster, "WAIT", 60)
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text(OTHERS[words])
    a_worker(start, scheduler, PYTHONPATH=os.pathsep.join([str(other), str(REPO)]))
    assert main(["grade", CHAPTER, "--course", str(course), "--scheduler", scheduler]) == 2
    assert f"a worker has {words}" in capsys.readouterr().err
    assert not (course / "autograded").exists()


def test_a_scheduler_without_workers_says_how_to_start_one(course, hand_in, contents, scheduler, monkeypatch, capsys):
    hand_in("ada", contents["perfect"])
    monkeypatch.setattr(cluster, "WAIT", 3)
    assert main(["grade", CHAPTER, "--course", str(course), "--scheduler", scheduler]) == 2
    assert f"dask worker {scheduler}" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense"])
def test_an_address_without_a_scheduler_says_how_to_start_one(course, hand_in, contents, address, monkeypatch, capsys):
    hand_in("ada", contents["perfect"])
    monkeypatch.setattr(cluster, "WAIT", 1)
    assert main(["grade", CHAPTER, "--course", str(course), "--scheduler", address]) == 2
    assert f"no scheduler answers at {address}" in capsys.readouterr().err


@pytest.mark.thorough("only another version of Dask changes what it keeps")
def test_the_cluster_does_not_keep_graded_submissions_in_memory(course, hand_in, contents):
    notebook = json.loads(contents["perfect"])
    for number in range(8):
        notebook["metadata"]["padding"] = str(number) * 4_000_000
        hand_in(f"large-{number}", json.dumps(notebook).encode())
    class_run.grade_class(course, CHAPTER)
    tracemalloc.start()
    try:
        class_run.grade_class(course, CHAPTER, force=True)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 36_000_000
    finally:
        tracemalloc.stop()
