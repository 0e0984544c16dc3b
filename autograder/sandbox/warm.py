"""Keep the warm processes, and decide whether this machine can use them."""

import atexit
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

from autograder.sandbox.fork import Zygote
from autograder.sandbox.limits import Limits, SandboxUnavailable
from autograder.sandbox.starting import SandboxLost, Started
from autograder.sandbox.zygote import StartedZygote

# A chapter needs up to four: its bundle and its solutions, each with and without PyTorch.
MAX_ZYGOTES = 4
# All forks of a zygote have the same seed of hashes and the same addresses, so do not use one forever.
FORKS = 250

_Key = tuple[Path, int, int, tuple[str, ...]]


class WarmSandboxes:
    """The zygotes of this process, started when they are first needed, the least recently used first.

    start: starts a zygote, or borrows it from another process; None if that process does without warm sandboxes.
    """

    def __init__(self) -> None:
        self.start: Callable[[Path, Limits, tuple[str, ...]], Zygote | None] = StartedZygote
        self._zygotes: OrderedDict[_Key, Zygote] = OrderedDict()
        self._lock = Lock()
        self._usable = True
        self._proven = False

    def __iter__(self) -> Iterator[Zygote]:
        with self._lock:
            return iter([*self._zygotes.values()])

    @property
    def usable(self) -> bool:
        """Whether this machine allows warm sandboxes, as far as is known."""
        return self._usable

    def give_up(self, reason: str) -> None:
        """Do without warm sandboxes from now on, and say so once."""
        if self._usable:
            self._usable = False
            logging.getLogger(__name__).warning(
                "Grading starts a new sandbox for each run, which takes longer, because this machine does not allow a "
                "warm one: %s",
                reason,
            )
        self.end()

    def prove(self) -> None:
        """Note that a warm sandbox kept all promises: from now on, one that does not start is an error."""
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

        imports: modules that it will import. pipes: its ends, for requests and replies.

        Raises SandboxUnavailable, MachineTooBusy.
        """
        for _ in range(2):
            zygote = self.zygote(bundle, limits, distributions)
            if zygote is None:
                return None
            try:
                fork = zygote.fork(limits, pipes, imports)
            except SandboxLost:
                self._forget(zygote)
                continue
            stack.callback(fork.close)
            return fork.started()
        self._do_without(SandboxUnavailable("A warm sandbox ended twice as soon as it had started."))
        return None

    def zygote(self, bundle: Path, limits: Limits, distributions: tuple[str, ...]) -> Zygote | None:
        """Return a zygote, which another thread may retire; None if this machine does not allow warm sandboxes.

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
        """End all zygotes that have no forks any more, and the others with their last fork."""
        with self._lock:
            while self._zygotes:
                self._zygotes.popitem()[1].retire()

    def _do_without(self, error: SandboxUnavailable) -> None:
        if self._proven:
            raise error
        self.give_up(str(error))

    def _forget(self, zygote: Zygote) -> None:
        with self._lock:
            for key in [key for key, known in self._zygotes.items() if known is zygote]:
                del self._zygotes[key]
        zygote.retire()

    def _kept(self, bundle: Path, limits: Limits, distributions: tuple[str, ...]) -> Zygote | None:
        folder = bundle.stat()
        key = bundle, folder.st_dev, folder.st_ino, distributions
        with self._lock:
            zygote = self._zygotes.pop(key, None)
            if zygote and not (zygote.is_alive() and zygote.forks < FORKS):
                zygote.retire()
                zygote = None
            zygote = zygote or self.start(bundle, limits, distributions)
            if zygote:
                self._zygotes[key] = zygote
            while len(self._zygotes) > MAX_ZYGOTES:
                self._zygotes.popitem(last=False)[1].retire()
        return zygote


sandboxes = WarmSandboxes()
atexit.register(sandboxes.end)
