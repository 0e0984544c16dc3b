"""Create and read the certificate of a Dask cluster. Only machines with this certificate take part in grading.

All machines share one certificate. Dask lets every holder of a certificate act as scheduler, worker or client, so
separate certificates would not separate roles. The certificate signs itself. There is no CA key to protect. To revoke
access, issue a new certificate.
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
    """Certificates cannot be created or used. The message says why, and what to do."""


def make(folder: Path) -> datetime:
    """Write a new certificate and its key, readable only by their owner. Return the time when they expire, in a year.

    Raises UnusableCertificates if the folder already contains a certificate, or if it cannot be written.
    """
    if existing := [file.name for file in _files(folder) if file.exists()]:
        raise UnusableCertificates(f"{folder} already holds {existing[0]}: name another folder, or remove it first")
    certificates = Security.temporary()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        texts = (certificates.tls_client_cert, certificates.tls_client_key)
        for file, text in zip(_files(folder), texts, strict=True):
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                stream.write(text)
    except OSError as error:
        raise UnusableCertificates(
            f"no certificates were made, because {folder} cannot be written ({error.strerror}): name another folder"
        ) from error
    return _expiry(certificates.tls_client_cert.encode())


def security(folder: Path) -> Security:
    """Return a client's settings for the certificate that `make` wrote.

    Raises UnusableCertificates, which names the file and what is wrong with it.
    """
    certificate, key = _files(folder)
    certificate_bytes, _ = _read(certificate), _read(key)
    try:
        expiry = _expiry(certificate_bytes)
    except ValueError as error:
        raise UnusableCertificates(f"{certificate} is not a certificate: copy it again, or {_RENEW}") from error
    if expiry < datetime.now(UTC):
        raise UnusableCertificates(f"{certificate} expired on {expiry:%d %B %Y}: {_RENEW}")
    settings = Security(
        require_encryption=True, tls_ca_file=str(certificate), tls_client_cert=str(certificate), tls_client_key=str(key)
    )
    try:
        settings.get_connection_args("client")
    except ssl.SSLError as error:
        raise UnusableCertificates(f"{key} is not the key of {certificate}: copy both again, or {_RENEW}") from error
    return settings


def scheduler_command(folder: Path | None = None) -> str:
    """Return the command that starts a scheduler, with these certificates or without any."""
    return shlex.join(["dask", "scheduler", *_options(folder, port=8787)])


def worker_command(scheduler: str, folder: Path | None = None) -> str:
    """Return the command that starts a worker for this scheduler."""
    return shlex.join(["dask", "worker", scheduler, *_options(folder, port=0)])


_RENEW = "make new ones with `autograder certificates FOLDER`, and start scheduler and workers with them"


def _options(folder: Path | None, port: int) -> list[str]:
    if folder is None:
        return []
    certificate, key = map(str, _files(folder))
    # Dask's status page does not ask for a certificate, and `--no-dashboard` leaves its port open.
    own_page = ["--dashboard-address", f"127.0.0.1:{port}"]
    return ["--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key, *own_page]


def _files(folder: Path) -> tuple[Path, Path]:
    return folder / "certificate.pem", folder / "key.pem"


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UnusableCertificates(f"{file} cannot be read ({error.strerror}): {_RENEW}") from error


def _expiry(pem: bytes) -> datetime:
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc
