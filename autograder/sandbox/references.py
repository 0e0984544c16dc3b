"""The processes in which the reference runs, started once for all runs of a submission.

The reference runs in a sandbox of its own, because student code chooses its arguments. Some arguments would make the
reference use up all memory or time.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from autograder.sandbox.inside.confine import MB
from autograder.sandbox.limits import Limits, MachineTooBusy, SandboxUnavailable
from autograder.sandbox.outcomes import read_outcome
from autograder.sandbox.process import AnswerQuestion, Ended, Exhausted, Process
from check import values
from check.calling import Outcome
from check.words import listed

_SOURCE = Path(__file__).with_name("inside") / "reference.py"
# The folder of the reference's modules, and the distributions that they can import.
_Where = tuple[Path, tuple[str, ...]]


class Reference:
    """A process that has imported some functions of the solutions."""

    def __init__(self, folder: Path, limits: Limits, kind: str, distributions: tuple[str, ...]):
        """Start the process. Raises SandboxUnavailable, MachineTooBusy, SandboxLost."""
        self._limits = limits
        self._is_broken = False
        self._bytes = 0  # bytes of all answers together
        self._loaded: set[str] = set()
        self._process = Process(folder, limits, kind, distributions)

    def load(self, modules: Mapping[str, str]) -> None:
        """Import functions, unless they are imported already. modules: name of each function -> its module.

        Raises:
            SandboxUnavailable: a module raises an exception.
            MachineTooBusy: the functions were not imported in time.
        """
        new = {name: module for name, module in modules.items() if name not in self._loaded}
        if not new:
            return
        imports = [f"from {module} import {name}\nKNOWN[{name!r}] = {name}" for name, module in new.items()]
        beginning = [] if self._loaded else [_SOURCE.read_text(encoding="utf-8")]
        cell = {"do": "cell", "cell": "reference", "source": "\n".join([*beginning, *imports]), "checked": []}
        seconds = self._limits.start_seconds
        try:
            outcome = self.ask(cell, [], seconds, time.monotonic() + seconds)
        except TimeoutError:
            outcome = None
        if outcome is None or outcome.stopped:
            raise MachineTooBusy(
                f"The reference of {listed(new)} was not loaded within {seconds:g} seconds. The machine may be too "
                f"busy."
            )
        if outcome.raised:
            raise SandboxUnavailable(
                f"The reference of {listed(new)} could not be loaded in its sandbox. Check that the solutions can be "
                f"imported."
            )
        self._loaded.update(new)

    def ask(
        self,
        message: dict[str, Any],
        arrays: list[np.ndarray],
        seconds: float,
        deadline: float,
        answer_question: AnswerQuestion | None = None,
    ) -> Outcome | None:
        """Return the outcome of a question, for the arguments of `Process.ask`; None if the process broke."""
        try:
            reply, reply_arrays = self._process.ask(
                message, arrays, seconds=seconds, deadline=deadline, answer_question=answer_question
            )
            self._bytes += sum(array.nbytes for array in reply_arrays)
            outcome = read_outcome(reply, reply_arrays, inputs={}, sources={}, seconds=seconds, limits=self._limits)
        except (Ended, Exhausted, values.Malformed):
            self._is_broken = True
            return None
        except BaseException:  # the process may still be computing or waiting for an answer
            self._is_broken = True
            raise
        self._is_broken = bool(outcome.stopped)  # the process may still occupy memory
        return outcome

    def is_fit(self) -> bool:
        """Return whether the process works and has used less than a quarter of its limits."""
        large = 4 * self._bytes > self._limits.answers_mb * MB
        slow = 4 * self._process.processor_seconds > self._limits.processor_seconds
        return not (self._is_broken or large or slow)

    def end(self) -> None:
        """Kill the process."""
        self._process.end()


class References:
    """The references for one submission, one for each set of distributions. Use it in a `with` statement."""

    def __init__(self, limits: Limits, kind: str):
        # As the user of the kind "user", student code could reach a reference that runs at the same time.
        self._limits, self._kind = limits, "none" if kind == "user" else kind
        self._started: dict[_Where, Reference] = {}

    def __enter__(self) -> "References":
        return self

    def __exit__(self, *_: object) -> None:
        for reference in self._started.values():
            reference.end()

    def holding(self, modules: Mapping[str, str], folder: Path, distributions: tuple[str, ...]) -> Reference:
        """Return a reference with some functions, in a new process if no process is fit.

        modules: name of each function -> its module in the folder.

        Raises SandboxUnavailable, MachineTooBusy, SandboxLost.
        """
        where = folder.resolve(), distributions
        reference = self._started.get(where)
        if reference and not reference.is_fit():
            self._started.pop(where).end()
            reference = None
        if reference is None:
            reference = self._started[where] = Reference(where[0], self._limits, self._kind, distributions)
        reference.load(modules)
        return reference
