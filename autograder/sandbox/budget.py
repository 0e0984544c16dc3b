"""The time of one submission, which all its runs share."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from autograder.sandbox.limits import Limits
from autograder.sandbox.starting import SandboxLost


class Budget:
    """The remaining time of a submission, for its first run, its second runs and their processes.

    processor_seconds: the remaining processor time. sleep_seconds: how long the submission may still sleep.
    deadline: when the wall clock stops it, in time.monotonic.
    stopped_by_clock: whether the wall clock stopped anything. On a less busy machine the submission could earn more.
    """

    def __init__(self, limits: Limits) -> None:
        self.processor_seconds = limits.processor_seconds
        self.sleep_seconds = limits.sleep_seconds
        self.deadline = time.monotonic() + limits.wall_seconds
        self.stopped_by_clock = False

    def allows_another_run(self) -> bool:
        """Return whether time is left. If only the wall clock says no, note that it has stopped the submission."""
        if self.processor_seconds <= 0 or self.sleep_seconds <= 0:
            return False
        if time.monotonic() < self.deadline:
            return True
        self.stopped_by_clock = True
        return False

    @contextmanager
    def uncharged_if_lost(self) -> Iterator[None]:
        """Charge nothing for the block if the sandbox is lost. Raises SandboxLost."""
        before = vars(self).copy()
        started = time.monotonic()
        try:
            yield
        except SandboxLost:
            vars(self).update(before)
            self.deadline += time.monotonic() - started
            raise
