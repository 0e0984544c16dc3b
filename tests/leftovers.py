"""List what a sandbox might leave behind in this process."""

import os
from contextlib import suppress
from pathlib import Path


def open_resources() -> set[str]:
    """Return this process's children, pipes and the like, but not its files, since a cluster in it may open some."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    resources = set(children.read_text().split()) if children.exists() else set()
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            resources.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return {resource for resource in resources if not resource.startswith("/") or resource.startswith("/memfd")}
