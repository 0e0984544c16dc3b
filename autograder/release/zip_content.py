"""Identify a zip file by its content, which does not depend on how it was compressed."""

import hashlib
import io
import zipfile


def content_digest(data: bytes) -> str:
    """Return the SHA-256 of the names and the contents of a zip file's members, in hex."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = sorted((name, hashlib.sha256(archive.read(name)).hexdigest()) for name in archive.namelist())
    return hashlib.sha256(repr(members).encode()).hexdigest()
