"""A course's secret seed, and the seeds drawn from it, one for each submitted file and exercise."""

import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path


def case_seed(secret: int, chapter: str, exercise: str, submission: str) -> int:
    """The seed of the cases that one submission is asked in one exercise: HMAC-SHA256 under the course's seed.

    The same file is asked the same in every run, and no two files are asked the same: what one of them learns of its
    cases, and tells, is of no use to another.

    submission: its fingerprint.
    """
    asked = "\0".join((chapter, exercise, submission)).encode()
    return int.from_bytes(hmac.digest(str(secret).encode(), asked, "sha256"))


def secret_seed(course: Path) -> int:
    """The course's seed, made when first asked for, and readable by its owner only."""
    path = course / "secret_seed"
    if not path.exists():
        # A temporary file is its owner's alone; linking it is all or nothing, whoever else does the same.
        with tempfile.NamedTemporaryFile("w", encoding="ascii", dir=course) as new:
            new.write(f"{secrets.randbits(128)}\n")
            new.flush()
            with suppress(FileExistsError):
                os.link(new.name, path)
    return int(path.read_text(encoding="ascii"))
