"""Answer a submission's calls of exercises that are wrong. The reference computes the answers, outside its sandbox."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.sandbox.inside import frames
from autograder.sandbox.limits import Limits
from autograder.sandbox.process import CallBack, Ended
from autograder.sandbox.references import Reference
from check import values


@dataclass(frozen=True)
class AnsweredFunctions:
    """The functions that the reference answers for a submission.

    modules: name of each function -> the module that has it. folder: the folder with these modules.
    in_pytorch: names of the functions that are PyTorch modules.
    """

    modules: Mapping[str, str]
    folder: Path
    in_pytorch: frozenset[str] = frozenset()


class Answerer:
    """Answers a limited number of questions from one function. count: the number of answered questions."""

    def __init__(self, answered: AnsweredFunctions, reference: Reference, limits: Limits):
        """reference: has all these functions, and perhaps others, about which the submission cannot ask."""
        self.count = 0
        self.functions = {name: name in answered.in_pytorch for name in answered.modules}
        self._reference = reference
        self._limits = limits
        self._is_busy = False

    def answer(self, tree: Any, arrays: list[np.ndarray], deadline: float, call_back: CallBack) -> bytes:
        """Return the answer to one question, as a frame.

        Args:
            tree, arrays: the question as the submission's process sent it. We do not trust it.
            deadline: of time.monotonic.
            call_back: calls the submission's function among the arguments.

        Raises:
            values.Malformed: this is not a question about an answered function.
            Ended: the function has asked too many questions, or the reference could not answer.
            TimeoutError: the deadline passed.
            Exception: whatever `call_back` raises.
        """
        question = values.unpack(tree, arrays)
        if not self._is_question(question):
            raise values.Malformed("a question that is not about an answered function")
        self.count += 1
        if self.count > self._limits.answered_calls:
            raise Ended(f"asked the grader for more than {self._limits.answered_calls} values")
        if self._is_busy:
            return _frame({"value": None, "generators": [], "raised": "RuntimeError"})
        packed, packed_arrays = values.pack(question)
        call = {"do": "call", "function": "answer", "inputs": packed, "stand_ins": {}, "functions": {"submitted": None}}
        relay = _Relay(call_back)
        self._is_busy = True  # while the submission's function runs, which may ask questions, too
        try:
            outcome = self._reference.ask(call, packed_arrays, self._limits.call_seconds, deadline, relay)
        finally:
            self._is_busy = False
        if relay.error:
            raise relay.error
        if outcome is None or outcome.stopped:
            raise Ended("asked the grader for a value that exceeds its limits")
        if outcome.raised:
            # Only the exception's type, because a message or a line would reveal the reference.
            reply: dict[str, Any] = {"value": None, "generators": [], "raised": outcome.raised.type}
        else:
            value, generators = outcome.value
            reply = {"value": value, "generators": generators, "raised": ""}
        return _frame(reply)

    def _is_question(self, question: Any) -> bool:
        return (
            type(question) is dict
            and question.keys() == {"function", "args", "kwargs"}
            and type(question["function"]) is str
            and question["function"] in self.functions
            and type(question["args"]) is tuple
            and type(question["kwargs"]) is dict
        )


class _Relay:
    """Passes the reference's calls of a submission's function on to the submission's process.

    error: the exception that ended the call back. The reference gets an exception instead, and stays usable.
    """

    def __init__(self, call_back: CallBack):
        self.error: Exception | None = None
        self._call_back = call_back

    def __call__(self, tree: Any, arrays: list[np.ndarray], deadline: float, call_back: CallBack) -> bytes:
        match values.unpack(tree, arrays):
            case {"places": list(places)}:
                try:
                    returned, returned_arrays = self._call_back(_frame({"places": places}))
                    return frames.encode({"answer": returned}, returned_arrays)
                except Exception as error:
                    self.error = error
                    return _frame({"values": []})
        raise values.Malformed("a question that is not about a function of the submission")


def _frame(answer: dict[str, Any]) -> bytes:
    tree, arrays = values.pack(answer)
    return frames.encode({"answer": tree}, arrays)
