"""Connect to a Dask cluster that grades."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import dask
from distributed import Client
from distributed.comm import get_address_host, parse_address
from distributed.comm.core import FatalCommClosedError
from distributed.security import Security

from autograder.grading import certificates, unpickling
from autograder.grading.submitted_file import MAX_BYTES
from autograder.sandbox import SandboxUnavailable

WAIT = 10  # seconds
dask.config.set(
    {
        "distributed.admin.large-graph-warning-threshold": MAX_BYTES,  # tasks hold whole submissions
        # By default Dask keeps the arguments of its last hundred computations, which here are whole submissions.
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
        if reason := reason_to_refuse(scheduler, certified=security is not None, trusting=trusting):
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


def reason_to_refuse(scheduler: str, *, certified: bool, trusting: bool) -> str:
    """Return why it is not safe to grade on this scheduler, and what to do instead; "" if it is safe.

    certified: whether we have certificates. trusting: whether the user trusts everyone on the network.

    Raises OSError if the name in the address is unknown, and ValueError if this is not an address.
    """
    protocol, location = parse_address(scheduler)
    instead = f"say --scheduler tls://{location} --tls FOLDER"
    if protocol not in ("tls", "tcp"):
        raise ValueError("its address begins neither with tls:// nor with tcp://")
    if protocol == "tls" and not certified:
        return (
            f"{scheduler} needs --tls FOLDER, the certificates that its scheduler and workers were started with; "
            f"`autograder certificates FOLDER` makes new ones"
        )
    if protocol == "tcp" and certified:
        return f"--tls is for schedulers that were started with certificates: {instead}"
    if protocol == "tls" or trusting or _is_this_machine(get_address_host(scheduler)):
        return ""
    return (
        f"{scheduler} is not on this machine and has no certificates, so everyone who reaches it can read cases and "
        f"submissions, invent scores and run code on its workers. Make certificates with `autograder certificates "
        f"FOLDER`, start scheduler and workers as that command says, and {instead}. To grade there without "
        f"certificates, add --trust-everyone-on-the-network"
    )


def _is_this_machine(host: str) -> bool:
    """Return whether all addresses of a name are loopback addresses."""
    addresses = {str(address[0]) for *_, address in socket.getaddrinfo(host, None)}
    return all(ip_address(address).is_loopback for address in addresses)
