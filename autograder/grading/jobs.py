"""How many tasks this machine runs at once, unless `--jobs` says otherwise."""

import os

DEFAULT_JOBS = "one per processor"


def default_jobs() -> int:
    """Return DEFAULT_JOBS as a number."""
    return os.cpu_count() or 1
