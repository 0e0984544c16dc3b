"""Keep the warm processes, and decide whether this machine can use them."""

import atexit
import logging
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

from autograder.sandbox.fork import Fork
from autograder.sandbox.limits import Limits, SandboxUnavailable
from autograder.sandbox.starting import SandboxLost, Started
from autograder.sandbox.zygote import Zygote

# A chapter needs up to four: its bundle and its solutions, each with and without PyTorch.
MAX_ZYGOTES = 4
# All forks of a zygote have the same seed of hashes and the same addresses, so do not use one forever.
FORKS = 250

_Key = tuple[Path, int, int, tuple[str, ...]]


class WarmSandboxes:
    """The zygotes of this process, started when they are first needed, the least recently used first."""

    def __init__(self) -> None:
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
        self, bundle: Path, limits: Limits, distributions: tuple[str, ...], pipes: tuple[int, int], stack: ExitStack
    ) -> Started | None:
        """Return a new fork, which the stack closes; None if this machine does not allow warm sandboxes.

        pipes: the fork's ends, for requests and replies.

        Raises SandboxUnavailable, MachineTooBusy.
        """
        if not self._usable:
            return None
        try:
            fork = self._fork(bundle, limits, distributions, pipes)
        except SandboxUnavailable as error:
            if self._proven:
                raise
            self.give_up(str(error))
            return None
        stack.callback(fork.close)
        return fork.started()

    def end(self) -> None:
        """End all zygotes that have no forks any more, and the others with their last fork."""
        with self._lock:
            while self._zygotes:
                self._zygotes.popitem()[1].retire()

    def _fork(self, bundle: Path, limits: Limits, distributions: tuple[str, ...], pipes: tuple[int, int]) -> Fork:
        for _ in range(2):
            zygote = self._zygote(bundle, limits, distributions)
            try:
                return zygote.fork(limits, pipes)
            except SandboxLost:
                self._forget(zygote)
        raise SandboxUnavailable("A warm sandbox ended twice as soon as it had started.")

    def _forget(self, zygote: Zygote) -> None:
        with self._lock:
            for key in [key for key, known in self._zygotes.items() if known is zygote]:
                del self._zygotes[key]
        zygote.retire()

    def _zygote(self, bundle: Path, limits: Limits, distributions: tuple[str, ...]) -> Zygote:
        folder = bundle.stat()
        key = bundle, folder.st_dev, folder.st_ino, distributions
        with self._lock:
            zygote = self._zygotes.pop(key, None)
            if zygote and not (zygote.is_alive() and zygote.forks < FORKS):
                zygote.retire()
                zygote = None
            self._zygotes[key] = zygote = zygote or Zygote(bundle, limits, distributions)
            while len(self._zygotes) > MAX_ZYGOTES:
                self._zygotes.popitem(last=False)[1].retire()
        return zygote


sandboxes = WarmSandboxes()
atexit.register(sandboxes.end)
