"""Keep the warm parents, and decide whether this machine can use them."""

import atexit
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

from autograder.sandbox.fork import WarmParent
from autograder.sandbox.limits import Limits, SandboxUnavailable
from autograder.sandbox.starting import SandboxLost, Started
from autograder.sandbox.warm_parent import StartedWarmParent

# A chapter needs up to four: its bundle and its solutions, each with and without PyTorch.
MAX_WARM_PARENTS = 4
# All forks of a warm parent share the seed of hashes and the layout of memory, so we do not use one forever.
FORKS = 250

_Key = tuple[Path, int, int, tuple[str, ...]]


class WarmSandboxes:
    """The warm parents of this process, the least recently used first. Each starts when it is first needed.

    start: starts a warm parent, or borrows it from another process; None if that process does without warm sandboxes.
    """

    def __init__(self) -> None:
        self.start: Callable[[Path, Limits, tuple[str, ...]], WarmParent | None] = StartedWarmParent
        self._parents: OrderedDict[_Key, WarmParent] = OrderedDict()
        self._lock = Lock()
        self._usable = True
        self._proven = False

    def __iter__(self) -> Iterator[WarmParent]:
        with self._lock:
            return iter([*self._parents.values()])

    @property
    def usable(self) -> bool:
        """Whether this machine allows warm sandboxes, as far as we know."""
        return self._usable

    def give_up(self, reason: str) -> None:
        """From now on, do not use warm sandboxes, and say so once."""
        if self._usable:
            self._usable = False
            logging.getLogger(__name__).warning(
                "Grading starts a new sandbox for each run, which takes longer, because this machine does not allow a "
                "warm one: %s",
                reason,
            )
        self.end()

    def prove(self) -> None:
        """Note that a warm sandbox kept all promises. From now on, a failure to start one is an error."""
        self._proven = True

    def fork(
        self,
        bundle: Path,
        limits: Limits,
        distributions: tuple[str, ...],
        imports: tuple[str, ...],
        pipes: tuple[int, int],
        stack: ExitStack,
    ) -> Started | None:
        """Return a new fork, which the stack closes; None if this machine does not allow warm sandboxes.

        imports: modules that the fork will import. pipes: its ends, for requests and replies.

        Raises SandboxUnavailable, MachineTooBusy.
        """
        for _ in range(2):
            parent = self.parent(bundle, limits, distributions)
            if parent is None:
                return None
            try:
                fork = parent.fork(limits, pipes, imports)
            except SandboxLost:
                self._forget(parent)
                continue
            stack.callback(fork.close)
            return fork.started()
        self._do_without(SandboxUnavailable("A warm sandbox ended twice as soon as it had started."))
        return None

    def parent(self, bundle: Path, limits: Limits, distributions: tuple[str, ...]) -> WarmParent | None:
        """Return a warm parent, which another thread may retire; None if this machine does not allow warm sandboxes.

        Raises SandboxUnavailable, MachineTooBusy.
        """
        if not self._usable:
            return None
        try:
            return self._kept(bundle, limits, distributions)
        except SandboxUnavailable as error:
            self._do_without(error)
            return None

    def end(self) -> None:
        """End all warm parents. A parent that still has forks ends with the last of them."""
        with self._lock:
            while self._parents:
                self._parents.popitem()[1].retire()

    def _do_without(self, error: SandboxUnavailable) -> None:
        if self._proven:
            raise error
        self.give_up(str(error))

    def _forget(self, parent: WarmParent) -> None:
        with self._lock:
            for key in [key for key, known in self._parents.items() if known is parent]:
                del self._parents[key]
        parent.retire()

    def _kept(self, bundle: Path, limits: Limits, distributions: tuple[str, ...]) -> WarmParent | None:
        folder = bundle.stat()
        key = bundle, folder.st_dev, folder.st_ino, distributions
        with self._lock:
            parent = self._parents.pop(key, None)
            if parent and not (parent.is_alive() and parent.forks < FORKS):
                parent.retire()
                parent = None
            parent = parent or self.start(bundle, limits, distributions)
            if parent:
                self._parents[key] = parent
            while len(self._parents) > MAX_WARM_PARENTS:
                self._parents.popitem(last=False)[1].retire()
        return parent


sandboxes = WarmSandboxes()
atexit.register(sandboxes.end)
