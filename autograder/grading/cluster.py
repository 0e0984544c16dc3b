"""Connect to the Dask cluster that grades: one in this process, or one of many machines."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import dask
from distributed import Client, LocalCluster
from distributed.comm.core import FatalCommClosedError
from distributed.security import Security

from autograder.grading import addresses, certificates, unpickling
from autograder.grading.submitted_file import MAX_BYTES
from autograder.sandbox import SandboxUnavailable

WAIT = 10  # seconds
dask.config.set(
    {
        "distributed.admin.large-graph-warning-threshold": MAX_BYTES,  # tasks hold whole submissions
        # By default Dask keeps its last hundred computations with their arguments, here whole submissions.
        "distributed.diagnostics.computations.max-history": 1,
        "distributed.admin.low-level-log-length": 10,
    }
)


class NoWorkers(SandboxUnavailable):
    """A scheduler cannot be reached, is not safe, or has no workers. The message says what to do."""


@contextmanager
def connected(
    scheduler: str | None = None, jobs: int | None = None, *, tls: Path | None = None, trusting: bool = False
) -> Iterator[Client]:
    """Connect to a scheduler, or start a cluster in this process; yield its client.

    Args:
        scheduler: its address, such as "tls://10.0.0.1:8786"; None for a cluster in this process.
        jobs: how many submissions this process grades at once; by default one per processor.
        tls: the folder of the scheduler's certificates.
        trusting: whether to connect to a scheduler without certificates on another machine.

    Raises:
        NoWorkers, UnusableCertificates.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if not scheduler:
        yield _local_client(jobs)
        return
    security = certificates.security(tls) if tls else None
    try:
        if reason := addresses.reason_to_refuse(scheduler, certified=security is not None, trusting=trusting):
            raise NoWorkers(reason)
    except (OSError, ValueError) as error:
        raise _no_scheduler(scheduler, error, tls) from error
    with unpickling.data_only(), _client(scheduler, security, tls) as client:
        for topic in ("print", "warn"):  # workers must not write to this terminal
            client.subscribe_topic(topic, lambda event: None)
        try:
            client.wait_for_workers(1, timeout=WAIT)
        except TimeoutError as error:
            start = certificates.worker_command(scheduler, tls)
            raise NoWorkers(f"{scheduler} has no workers; start some with `{start}`") from error
        yield client


def _client(scheduler: str, security: Security | None, tls: Path | None) -> Client:
    try:
        return Client(scheduler, security=security, timeout=WAIT)
    except FatalCommClosedError as error:
        raise NoWorkers(
            f"{scheduler} has other certificates than {tls}: start scheduler and workers with those of {tls}, or name "
            f"the folder with theirs"
        ) from error
    except (OSError, ValueError) as error:
        raise _no_scheduler(scheduler, error, tls) from error


def _no_scheduler(scheduler: str, error: Exception, tls: Path | None) -> NoWorkers:
    start = certificates.scheduler_command(tls)
    return NoWorkers(f"no scheduler answers at {scheduler} ({error}); start one with `{start}`")


@lru_cache
def _local_client(jobs: int | None) -> Client:
    """Return the client of a cluster in this process, the same one at each call.

    Its workers are threads: the processor time is spent in the sandboxes' processes.
    """
    # Dask opens HTTP ports in any case: make them serve nothing, and only to this machine.
    no_routes: dict[str, list] = {f"distributed.{part}.http.routes": [] for part in ("scheduler", "worker")}
    with dask.config.set(no_routes):
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
