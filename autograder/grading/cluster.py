"""Where grading runs: on a Dask cluster, of this process's own or of many machines."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import dask
from distributed import Client, LocalCluster

from autograder.grading import unpickling
from autograder.grading.submitted_file import MAX_BYTES
from autograder.sandbox import SandboxUnavailable

WAIT = 10  # seconds
dask.config.set(
    {
        "distributed.admin.large-graph-warning-threshold": MAX_BYTES,  # submissions travel in tasks
        # Dask remembers the last tasks with all that they were given, hundreds of submissions.
        "distributed.diagnostics.computations.max-history": 1,
        "distributed.admin.low-level-log-length": 10,
    }
)


class NoWorkers(SandboxUnavailable):
    """A scheduler that cannot be reached, or that has no workers; the message says what to do."""


@contextmanager
def connected(scheduler: str | None = None, jobs: int | None = None) -> Iterator[Client]:
    """The cluster of a scheduler ("tcp://10.0.0.1:8786"), or one in this process.

    jobs: submissions at a time in this process (default: one a processor). Raises NoWorkers.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if not scheduler:
        yield _local(jobs)
        return
    with unpickling.data_alone(), _client(scheduler) as client:
        for topic in ("print", "warn"):  # which would write to the terminal
            client.subscribe_topic(topic, lambda event: None)
        try:
            client.wait_for_workers(1, timeout=WAIT)
        except TimeoutError as error:
            raise NoWorkers(f"{scheduler} has no workers; start some with `dask worker {scheduler}`") from error
        yield client


def _client(scheduler):
    try:
        return Client(scheduler, timeout=WAIT)
    except (OSError, ValueError) as error:
        raise NoWorkers(f"no scheduler answers at {scheduler} ({error}); start one with `dask scheduler`") from error


@lru_cache
def _local(jobs):
    """Kept for all that this process grades. The work is done in sandboxes, so threads are enough here."""
    nothing: dict[str, list] = {f"distributed.{part}.http.routes": [] for part in ("scheduler", "worker")}
    with dask.config.set(nothing):  # Dask opens its ports for HTTP in any case: let them be this machine's, and empty
        cluster = LocalCluster(
            n_workers=1,
            threads_per_worker=jobs or os.cpu_count(),
            processes=False,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=False,
        )
    return Client(cluster)
