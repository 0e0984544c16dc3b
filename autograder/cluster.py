"""Where grading runs: on a Dask cluster, of this process's own or of many machines."""

import logging
import os
from functools import lru_cache

import dask
from distributed import Client, LocalCluster

from autograder.files import MAX_BYTES
from autograder.sandbox import SandboxUnavailable

WAIT = 10  # seconds
dask.config.set({"distributed.admin.large-graph-warning-threshold": MAX_BYTES})  # submissions travel in tasks


class NoWorkers(SandboxUnavailable):
    """A scheduler that cannot be reached, or that has no workers; the message says what to do."""


@lru_cache
def local(jobs: int | None = None) -> Client:
    """A cluster in this process, kept for all that it grades; jobs: submissions at a time (default: one a processor).

    The work is done in the sandbox's processes, so threads are enough here.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
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


def at(scheduler: str) -> Client:
    """The cluster of a scheduler ("tcp://10.0.0.1:8786"), when it has a worker. Raises NoWorkers."""
    try:
        client = Client(scheduler, timeout=WAIT)
    except (OSError, ValueError) as error:
        raise NoWorkers(f"no scheduler answers at {scheduler} ({error}); start one with `dask scheduler`") from error
    try:
        client.wait_for_workers(1, timeout=WAIT)
    except TimeoutError as error:
        client.close()
        raise NoWorkers(f"{scheduler} has no workers; start some with `dask worker {scheduler}`") from error
    return client
