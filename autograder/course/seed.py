"""Make a course's secret seed, and derive from it a seed for each submitted file and exercise."""

import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path


def case_seed(secret: int, chapter: str, exercise: str, submission: str) -> int:
    """Return the seed of a submission's cases in one exercise: HMAC-SHA256 with the course's seed as the key.

    A file gets the same cases in every run, and no two files get the same cases. So a submission that finds out its
    cases and reveals them does not help another submission.

    secret: the course's seed. submission: the digest of the submitted file.
    """
    message = "\0".join((chapter, exercise, submission)).encode()
    return int.from_bytes(hmac.digest(str(secret).encode(), message, "sha256"))


def secret_seed(course: Path) -> int:
    """Return the course's seed; make it first if there is none. Only its owner can read the file."""
    path = course / "secret_seed"
    if not path.exists():
        # Only its owner can read a temporary file. Linking it is atomic, even if another process does the same.
        with tempfile.NamedTemporaryFile("w", encoding="ascii", dir=course) as file:
            file.write(f"{secrets.randbits(128)}\n")
            file.flush()
            with suppress(FileExistsError):
                os.link(file.name, path)
    return int(path.read_text(encoding="ascii"))
