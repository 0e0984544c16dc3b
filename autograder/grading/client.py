"""Run the tasks of grading, in threads of this process or on the workers of a Dask cluster."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol

from autograder.grading import own_process
from autograder.grading.jobs import default_jobs


class Work(Protocol):
    """A submitted task.

    result(): wait for the task, then return its value or raise its exception.
    add_done_callback(function): call a function with the task once it has ended, in any thread.
    """

    def result(self) -> Any: ...

    def add_done_callback(self, function: Callable[[Any], None], /) -> None: ...


class Client(Protocol):
    """An object to which we submit tasks. A Dask client is one, too."""

    def submit(self, function: Callable, /, *arguments: Any, pure: bool) -> Work:
        """Start a call of a function and return the task. An argument that is itself a task is replaced by its result.

        pure: whether Dask may reuse the result of an equal task.
        """
        ...

    def ncores(self) -> dict[str, int]:
        """Return worker -> the number of tasks that it runs at once."""
        ...


@contextmanager
def connected(
    scheduler: str | None = None, jobs: int | None = None, *, tls: Path | None = None, trusting: bool = False
) -> Iterator[Client]:
    """Yield a client for a Dask scheduler or for this process.

    Args:
        scheduler: its address, such as "tls://10.0.0.1:8786"; None for this process.
        jobs: the number of submissions that this process grades at once; None for `default_jobs`.
        tls: the folder of the scheduler's certificates.
        trusting: whether to connect to a scheduler without certificates on another machine.

    Raises:
        NoWorkers, UnusableCertificates.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if not scheduler:
        yield _threads(jobs or default_jobs())
        return
    from autograder.grading.cluster import connected_to  # it takes longer to import than everything else

    with connected_to(scheduler, tls, trusting) as client:
        yield client


class Threads:
    """Runs tasks in threads of this process. Each thread may start a process of its own for grading.

    The threads are daemons, so that an interrupted command does not wait for them.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._tasks: SimpleQueue[tuple[Future, Callable, tuple]] = SimpleQueue()
        for _ in range(jobs):
            Thread(target=self._work, daemon=True).start()

    def submit(self, function: Callable, /, *arguments: Any, pure: bool) -> Future:
        future: Future = Future()
        self._tasks.put((future, function, arguments))
        return future

    def ncores(self) -> dict[str, int]:
        return {"this process": self._jobs}

    def _work(self) -> None:
        own_process.allow_for_this_thread()
        while True:
            _run(*self._tasks.get())


def _run(future: Future, function: Callable, arguments: tuple) -> None:
    try:
        future.set_result(function(*(a.result() if isinstance(a, Future) else a for a in arguments)))
    except BaseException as error:
        future.set_exception(error)


@lru_cache
def _threads(jobs: int) -> Threads:
    """Return the same threads at each call with this number."""
    return Threads(jobs)
