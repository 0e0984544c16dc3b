"""Certificates for a Dask cluster: who has them takes part in grading, and nobody else does.

There is one for all. Dask lets whoever has a certificate of its authority be scheduler, worker or client, so that one
for each would set no bounds. It is its own authority: no authority's key is left to guard, and whoever shall be locked
out is locked out by a new one.
"""

import os
import shlex
import ssl
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from distributed.security import Security

from autograder.sandbox import SandboxUnavailable


class UnusableCertificates(SandboxUnavailable):
    """Certificates that cannot be made or used; the message says why, and what to do."""


def make(folder: Path) -> datetime:
    """Write a new certificate and its key, both readable by their owner alone; until when they hold, a year from now.

    Raises UnusableCertificates where there is one already, or where nothing can be written.
    """
    if there := [file.name for file in _files(folder) if file.exists()]:
        raise UnusableCertificates(f"{folder} holds {there[0]} already: name another folder, or remove it first")
    made = Security.temporary()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for file, text in zip(_files(folder), (made.tls_client_cert, made.tls_client_key), strict=True):
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                stream.write(text)
    except OSError as error:
        raise UnusableCertificates(f"{folder}: {error.strerror}: no certificates were made") from error
    return _ends(made.tls_client_cert.encode())


def security(folder: Path) -> Security:
    """A client's part of what `make` wrote. Raises UnusableCertificates, naming the file and what is wrong with it."""
    certificate, key = _files(folder)
    certificate_bytes, _ = _read(certificate), _read(key)
    try:
        ends = _ends(certificate_bytes)
    except ValueError as error:
        raise UnusableCertificates(f"{certificate} is no certificate: copy it again, or {_anew()}") from error
    if ends < datetime.now(UTC):
        raise UnusableCertificates(f"{certificate} expired on {ends:%d %B %Y}: {_anew()}")
    usable = Security(
        require_encryption=True, tls_ca_file=str(certificate), tls_client_cert=str(certificate), tls_client_key=str(key)
    )
    try:
        usable.get_connection_args("client")
    except ssl.SSLError as error:
        raise UnusableCertificates(f"{key} is not the key of {certificate}: copy both again, or {_anew()}") from error
    return usable


def scheduler_command(folder: Path | None = None) -> str:
    """What to type to start a scheduler with these certificates, or without any."""
    return shlex.join(["dask", "scheduler", *_options(folder, port=8787)])


def worker_command(scheduler: str, folder: Path | None = None) -> str:
    """What to type to start a worker of that scheduler."""
    return shlex.join(["dask", "worker", scheduler, *_options(folder, port=0)])


def _options(folder, port):
    if folder is None:
        return []
    certificate, key = map(str, _files(folder))
    # Dask's page of status asks nobody for a certificate, and `--no-dashboard` leaves its port open.
    own_page = ["--dashboard-address", f"127.0.0.1:{port}"]
    return ["--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key, *own_page]


def _files(folder):
    return folder / "certificate.pem", folder / "key.pem"


def _read(file):
    try:
        return file.read_bytes()
    except OSError as error:
        raise UnusableCertificates(f"{file}: {error.strerror}: {_anew()}") from error


def _ends(pem):
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc


def _anew():
    return "make new ones with `autograder certificates FOLDER`, and start scheduler and workers with them"
