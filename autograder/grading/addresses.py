"""Which schedulers may be spoken to, by their addresses."""

import socket
from ipaddress import ip_address

from distributed.comm import get_address_host, parse_address


def why_not(scheduler: str, *, certified: bool, trusting: bool) -> str:
    """Why nobody should grade on that scheduler, and what to do instead, in plain words; empty if somebody may.

    certified: there are certificates. trusting: whoever reaches the scheduler is trusted. Raises OSError for a name
    that is no machine's, ValueError for what is no address.
    """
    kind, place = parse_address(scheduler)
    instead = f"say --scheduler tls://{place} --tls FOLDER"
    if kind not in ("tls", "tcp"):
        raise ValueError("its address begins neither with tls:// nor with tcp://")
    if kind == "tls" and not certified:
        return (
            f"{scheduler} needs --tls FOLDER, the certificates that its scheduler and workers were started with; "
            f"`autograder certificates FOLDER` makes new ones"
        )
    if kind == "tcp" and certified:
        return f"--tls is for schedulers that were started with certificates: {instead}"
    if kind == "tls" or trusting or _is_this_machine(get_address_host(scheduler)):
        return ""
    return (
        f"{scheduler} is not on this machine, and whoever reaches a scheduler without certificates reads cases and "
        f"submissions, invents scores and runs code on its workers: make certificates with `autograder certificates "
        f"FOLDER`, start scheduler and workers as it says, and {instead}. With --trust-everyone-on-the-network it is "
        f"graded there all the same"
    )


def _is_this_machine(host):
    """Whether a name or an address leads nowhere but to the loopback."""
    found = {address[0] for *_, address in socket.getaddrinfo(host, None)}
    return all(ip_address(each).is_loopback for each in found)
