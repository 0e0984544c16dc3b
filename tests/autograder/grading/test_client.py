"""The threads of this process, which run the tasks of grading unless a scheduler is named."""

import os
from threading import Barrier

import pytest

from autograder.grading.client import connected
from autograder.grading.jobs import DEFAULT_JOBS, default_jobs
from autograder.layout import REPO

pytestmark = pytest.mark.grading


def fails():
    raise ValueError("not this time")


def test_as_many_tasks_run_at_once_as_there_are_jobs():
    both = Barrier(2)
    with connected(jobs=2) as client:
        works = [client.submit(both.wait, 60, pure=False) for _ in range(2)]
        assert sum(client.ncores().values()) == 2
        assert sorted(work.result() for work in works) == [0, 1]


def test_without_jobs_one_task_runs_per_processor_as_the_book_says():
    with connected() as client:
        assert sum(client.ncores().values()) == default_jobs() == os.cpu_count()
    assert f"`--jobs`: {DEFAULT_JOBS}" in (REPO / "chapters" / "course.md").read_text(encoding="utf-8")


def test_a_task_gets_the_results_of_other_tasks():
    with connected(jobs=1) as client:
        sent = client.submit(list, "ab", pure=False)
        assert client.submit("-".join, sent, pure=False).result() == "a-b"


def test_a_task_that_fails_raises_its_exception_and_the_next_one_runs():
    with connected(jobs=1) as client:
        failing, next_one = client.submit(fails, pure=False), client.submit(len, "four", pure=False)
        with pytest.raises(ValueError, match="not this time"):
            failing.result()
        assert next_one.result() == 4


def test_a_process_keeps_its_threads():
    with connected(jobs=1) as client, connected(jobs=1) as again:
        assert again is client
