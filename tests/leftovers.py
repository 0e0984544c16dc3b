"""What this process holds that a sandbox might leave behind."""

import os
from contextlib import suppress
from pathlib import Path


def held() -> set[str]:
    """Our children, pipes and the like; not files, since a cluster in this process reads some now and then."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    found = set(children.read_text().split()) if children.exists() else set()
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return {each for each in found if not each.startswith("/") or each.startswith("/memfd")}
