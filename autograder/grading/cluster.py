"""Connect to a Dask cluster that grades."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
from distributed import Client
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
def connected_to(scheduler: str, tls: Path | None, trusting: bool) -> Iterator[Client]:
    """Connect to a scheduler and yield its client. The arguments are those of `client.connected`.

    Raises NoWorkers, UnusableCertificates.
    """
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
