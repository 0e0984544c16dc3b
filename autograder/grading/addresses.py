"""Decide from a scheduler's address whether it is safe to grade there."""

import socket
from ipaddress import ip_address

from distributed.comm import get_address_host, parse_address


def reason_to_refuse(scheduler: str, *, certified: bool, trusting: bool) -> str:
    """Return why it is not safe to grade on a scheduler, and what to do instead; "" if it is safe.

    certified: whether there are certificates. trusting: whether you trust everyone on the network.

    Raises OSError if no machine has the address's name, ValueError if it is not an address.
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
