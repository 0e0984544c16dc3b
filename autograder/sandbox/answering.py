"""Answer, outside a submission's sandbox, its calls of exercises that it got wrong. The answers are the reference's.

The reference runs in a second sandbox, because its arguments come from student code, which may choose them so that the
reference uses all memory or time.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.sandbox.inside import frames
from autograder.sandbox.limits import Limits, MachineTooBusy, SandboxUnavailable
from autograder.sandbox.outcomes import read_outcome
from autograder.sandbox.process import AnswerQuestion, CallBack, Ended, Exhausted, Process
from check import values
from check.calling import Outcome
from check.words import listed

_REFERENCE = Path(__file__).with_name("inside") / "reference.py"


@dataclass(frozen=True)
class AnsweredFunctions:
    """The functions that the reference answers in a submission's place.

    modules: name of each function -> the module that it is imported from. folder: where to import that module from.
    in_pytorch: names of those that are PyTorch modules.
    """

    modules: Mapping[str, str]
    folder: Path
    in_pytorch: frozenset[str] = frozenset()


class Answerer:
    """Answers a limited number of questions of one run. Use it in a `with` statement."""

    def __init__(self, answered: AnsweredFunctions, limits: Limits, kind: str, distributions: tuple[str, ...]):
        """Start the reference.

        Raises:
            SandboxUnavailable: there is no sandbox, or the reference raises an exception when it is imported.
            MachineTooBusy: the reference was not loaded in time.
        """
        self.count = 0
        self.functions = {name: name in answered.in_pytorch for name in answered.modules}
        self._limits = limits
        self._is_busy = False
        self._process = Process(answered.folder.resolve(), limits, kind, distributions)
        try:
            self._load(answered.modules)
        except BaseException:
            self._process.end()
            raise

    def __enter__(self) -> "Answerer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.end()

    def answer(self, tree: Any, arrays: list[np.ndarray], deadline: float, call_back: CallBack) -> bytes:
        """Return the answer to one question, as a frame.

        Args:
            tree, arrays: the question as the submission's process sent it; nothing in it is trusted.
            deadline: of time.monotonic.
            call_back: calls the function that the submission has among the arguments.

        Raises:
            values.Malformed: it is not a question about an answered function.
            Ended: the question exceeds the limit on questions, or the reference could not answer it.
            TimeoutError: the deadline passed.
            Exception: whatever `call_back` raises.
        """
        question = values.unpack(tree, arrays)
        if not self._is_question(question):
            raise values.Malformed("a question that is not about an answered function")
        self.count += 1
        if self.count > self._limits.questions:
            raise Ended(f"asked the grader for more than {self._limits.questions} values")
        if self._is_busy:
            return _frame({"value": None, "generators": [], "raised": "RuntimeError"})
        packed, packed_arrays = values.pack(question)
        call = {"do": "call", "function": "answer", "inputs": packed, "stand_ins": {}, "given": {"submitted": ""}}
        relay = _Relay(call_back)
        self._is_busy = True  # while the submission's function runs, which may ask too
        try:
            outcome = self._ask(call, packed_arrays, self._limits.call_seconds, deadline, relay)
        finally:
            self._is_busy = False
        if relay.error:
            raise relay.error
        if outcome is None or outcome.stopped:
            raise Ended("asked the grader for a value that exceeds its limits")
        if outcome.raised:
            # Only the exception's type: a message or a line would show the reference.
            reply: dict[str, Any] = {"value": None, "generators": [], "raised": outcome.raised.type}
        else:
            value, generators = outcome.value
            reply = {"value": value, "generators": generators, "raised": ""}
        return _frame(reply)

    def _load(self, modules: Mapping[str, str]) -> None:
        imports = (f"from {module} import {name}\nKNOWN[{name!r}] = {name}" for name, module in modules.items())
        source = "\n".join([_REFERENCE.read_text(encoding="utf-8"), *imports])
        cell = {"do": "cell", "cell": "reference", "source": source}
        seconds = self._limits.start_seconds
        try:
            outcome = self._ask(cell, [], seconds, time.monotonic() + seconds)
        except TimeoutError:
            outcome = None
        if outcome is None or outcome.stopped:
            raise MachineTooBusy(
                f"The reference of {listed(modules)} was not loaded within {seconds:g} seconds. The machine may be too "
                f"busy."
            )
        if outcome.raised:
            raise SandboxUnavailable(
                f"The reference of {listed(modules)} could not be loaded in its sandbox. Check that the solutions can "
                f"be imported."
            )

    def _is_question(self, question: Any) -> bool:
        return (
            type(question) is dict
            and question.keys() == {"function", "args", "kwargs"}
            and type(question["function"]) is str
            and question["function"] in self.functions
            and type(question["args"]) is tuple
            and type(question["kwargs"]) is dict
        )

    def _ask(
        self,
        message: dict[str, Any],
        arrays: list[np.ndarray],
        seconds: float,
        deadline: float,
        relay: AnswerQuestion | None = None,
    ) -> Outcome | None:
        """Return the outcome in the reference's process, for `Process.ask`'s limits; None if the process broke."""
        try:
            reply, reply_arrays = self._process.ask(
                message, arrays, seconds=seconds, deadline=deadline, answer_question=relay
            )
            return read_outcome(reply, reply_arrays, inputs={}, sources={}, seconds=seconds, limits=self._limits)
        except (Ended, Exhausted, values.Malformed):
            return None


class _Relay:
    """Passes the reference's calls of a submission's function on to the submission's process.

    error: what ended that process's part. The reference gets an exception for it, so that it is ready for new calls.
    """

    def __init__(self, call_back: CallBack):
        self.error: Exception | None = None
        self._call_back = call_back

    def __call__(self, tree: Any, arrays: list[np.ndarray], deadline: float, call_back: CallBack) -> bytes:
        match values.unpack(tree, arrays):
            case {"args": (x,)}:
                try:
                    returned, returned_arrays = self._call_back(_frame({"x": x}))
                    return frames.encode({"answer": returned}, returned_arrays)
                except Exception as error:
                    self.error = error
                    return _frame({"value": None, "raised": "RuntimeError"})
        raise values.Malformed("a question that is not about a function of the submission")


def _frame(answer: dict[str, Any]) -> bytes:
    tree, arrays = values.pack(answer)
    return frames.encode({"answer": tree}, arrays)
