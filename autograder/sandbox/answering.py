"""Values of exercises that a submission calls and has not got right: computed from the reference, outside its sandbox.

The reference runs in a sandbox too, another one: what it is asked about comes from a student's code, and may be made
to take all memory or all time there is.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.sandbox import outcomes
from autograder.sandbox.inside import frames
from autograder.sandbox.limits import Limits, SandboxUnavailable
from autograder.sandbox.process import Ended, Exhausted, Process
from check import values
from check.words import listed

_REFERENCE = Path(__file__).with_name("inside") / "reference.py"


@dataclass(frozen=True)
class Answers:
    """Which exercises are answered in a submission's place.

    modules: name of each function -> the module that it is imported from. folder: where that module is found.
    in_pytorch: those that are PyTorch modules.
    """

    modules: Mapping[str, str]
    folder: Path
    in_pytorch: frozenset[str] = frozenset()


class Answerer:
    """Answers the questions of one run, so many of them. Use it in a `with`."""

    def __init__(self, wanted: Answers, limits: Limits, kind: str, distributions: tuple[str, ...]):
        """Raises SandboxUnavailable if there is no sandbox, or the reference cannot be had in it."""
        self.count = 0
        self.functions = {name: name in wanted.in_pytorch for name in wanted.modules}
        self._limits = limits
        self._process = Process(wanted.folder.resolve(), limits, kind, distributions)
        try:
            self._load(wanted.modules)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> "Answerer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.__exit__()

    def answer(self, asked: dict[str, Any], arrays: list[np.ndarray], deadline: float) -> bytes:
        """The answer to one question, as a frame.

        Args:
            asked, arrays: as the submission's process sent them, which is believed in nothing.
            deadline: of time.monotonic.

        Raises:
            values.Malformed: it is no question. Ended: it cannot be answered, or is one too many.
        """
        question = values.unpack(asked, arrays)
        if not self._is_question(question):
            raise values.Malformed("a question about nothing that is answered")
        self.count += 1
        if self.count > self._limits.questions:
            raise Ended(f"called what is answered in its place more than {self._limits.questions} times")
        tree, sent = values.pack(question)
        call = {"do": "call", "function": "answer", "inputs": tree, "stand_ins": {}}
        outcome = self._ask(call, sent, deadline)
        if outcome is None or outcome.stopped:
            raise Ended("called what is answered in its place with more than can be answered")
        if outcome.raised:
            # Its type alone: what the reference says is nobody's business.
            reply = {"value": None, "generators": [], "raised": outcome.raised.type}
        else:
            value, generators = outcome.value
            reply = {"value": value, "generators": generators, "raised": ""}
        answer, back = values.pack(reply)
        return frames.encode({"answer": answer}, back)

    def _load(self, modules):
        filled = (f"from {module} import {name}\nKNOWN[{name!r}] = {name}" for name, module in modules.items())
        source = "\n".join([_REFERENCE.read_text(encoding="utf-8"), *filled])
        until = time.monotonic() + self._limits.start_seconds
        outcome = self._ask({"do": "cell", "cell": "reference", "source": source}, [], until)
        if outcome is None or outcome.stopped or outcome.raised:
            raise SandboxUnavailable(f"The reference of {listed(modules)} could not be loaded in its sandbox.")

    def _is_question(self, question):
        return (
            type(question) is dict
            and question.keys() == {"function", "args", "kwargs"}
            and type(question["function"]) is str
            and question["function"] in self.functions
            and type(question["args"]) is tuple
            and type(question["kwargs"]) is dict
        )

    def _ask(self, message, arrays, deadline):
        """What the reference's process came to; None if it broke."""
        seconds = self._limits.call_seconds
        try:
            message = {**message, "milliseconds": round(seconds * 1000)}
            reply, answer = self._process.ask(message, arrays, deadline)
            return outcomes.outcome(reply, answer, inputs={}, sources={}, seconds=seconds, limits=self._limits)
        except (Ended, Exhausted, TimeoutError, values.Malformed):
            return None
