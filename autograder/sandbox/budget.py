"""The time of one submission, shared by all its runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from autograder.sandbox.limits import Limits
from autograder.sandbox.starting import SandboxLost


class Budget:
    """What is left of a submission's time: for its first run, its second runs and the processes that these need.

    processor_seconds: what is left of its processor time. sleep_seconds: for how long it may still sleep.
    deadline: when the wall clock stops it, of time.monotonic.
    stopped_by_clock: whether the wall clock stopped anything. On a machine that is less busy it could earn more.
    """

    def __init__(self, limits: Limits) -> None:
        self.processor_seconds = limits.processor_seconds
        self.sleep_seconds = limits.sleep_seconds
        self.deadline = time.monotonic() + limits.wall_seconds
        self.stopped_by_clock = False

    def allows_another_run(self) -> bool:
        """Return whether time is left. If only the wall clock says no, then it has stopped the submission."""
        if self.processor_seconds <= 0 or self.sleep_seconds <= 0:
            return False
        if time.monotonic() < self.deadline:
            return True
        self.stopped_by_clock = True
        return False

    @contextmanager
    def uncharged_if_lost(self) -> Iterator[None]:
        """Charge nothing for what happens inside if the sandbox is lost. Raises SandboxLost."""
        before = vars(self).copy()
        started = time.monotonic()
        try:
            yield
        except SandboxLost:
            vars(self).update(before)
            self.deadline += time.monotonic() - started
            raise
