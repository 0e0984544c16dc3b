"""Where grading runs: on a Dask cluster, of this process's own or of many machines."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import dask
from distributed import Client, LocalCluster
from distributed.comm.core import FatalCommClosedError

from autograder.grading import addresses, certificates, unpickling
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
    """A scheduler that cannot be reached, or should not be, or that has no workers; the message says what to do."""


@contextmanager
def connected(
    scheduler: str | None = None, jobs: int | None = None, *, tls: Path | None = None, trusting: bool = False
) -> Iterator[Client]:
    """The cluster of a scheduler ("tls://10.0.0.1:8786"), or one in this process.

    jobs: submissions at a time in this process (default: one a processor). tls: the folder of its certificates.
    trusting: speak to a scheduler without any, wherever it is. Raises NoWorkers, UnusableCertificates.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if not scheduler:
        yield _local(jobs)
        return
    security = certificates.security(tls) if tls else None
    try:
        if why := addresses.why_not(scheduler, certified=security is not None, trusting=trusting):
            raise NoWorkers(why)
    except (OSError, ValueError) as error:
        raise _nobody(scheduler, error, tls) from error
    with unpickling.data_alone(), _client(scheduler, security, tls) as client:
        for topic in ("print", "warn"):  # which would write to the terminal
            client.subscribe_topic(topic, lambda event: None)
        try:
            client.wait_for_workers(1, timeout=WAIT)
        except TimeoutError as error:
            start = certificates.worker_command(scheduler, tls)
            raise NoWorkers(f"{scheduler} has no workers; start some with `{start}`") from error
        yield client


def _client(scheduler, security, tls):
    try:
        return Client(scheduler, security=security, timeout=WAIT)
    except FatalCommClosedError as error:
        raise NoWorkers(
            f"{scheduler} has other certificates than {tls}: start scheduler and workers with those of {tls}, or name "
            f"the folder that theirs are from"
        ) from error
    except (OSError, ValueError) as error:
        raise _nobody(scheduler, error, tls) from error


def _nobody(scheduler, error, tls):
    start = certificates.scheduler_command(tls)
    return NoWorkers(f"no scheduler answers at {scheduler} ({error}); start one with `{start}`")


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
