"""The process that runs one student's code. Of our code it can import only `check` and this package.

Either `launch.py` starts this process, and `main` reads its settings from the command line as JSON, or `walls.py` forks
it from a warm parent. It serves one request at a time, which executes a cell or calls a function. The grader trusts
nothing that this process sends.

During a call the process may ask the grader questions, for example for the value of an answered exercise.
"""

import builtins
import functools
import json
import os
import signal
import sys
import threading
import types
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from check import calling, tested, values, words

from . import cells, confine, frames, refusing, silent_ipython, stand_ins

# A message and the arrays that go with it.
Reply = tuple[dict[str, Any], Iterable[np.ndarray]]


class TimeUp(BaseException):
    """Raised in the student's code by the alarm. It is not an Exception, so `except Exception` does not catch it."""


def main() -> None:
    """Confine this process, then serve requests until there are no more."""
    settings = json.loads(sys.argv[1])
    if settings["becomes"]:
        confine.become(**settings["becomes"])
    confine.confine(**settings["limits"])
    for descriptor in (settings["requests"], settings["replies"]):
        os.set_inheritable(descriptor, False)
    prepare(settings).serve()


def prepare(settings: dict[str, Any]) -> "Worker":
    """Prepare this process, which is already confined, for student code, and return its worker."""
    _silence()
    sys.path.insert(0, settings["bundle"])
    refusing_finder = refusing.RefusingFinder(settings["distributions"], settings["bundle"])
    sys.meta_path[:0] = [silent_ipython.SilentFinder(), refusing_finder]
    sys.argv = [""]
    signal.signal(signal.SIGPROF, _time_up)
    return Worker(settings)


class Worker:
    """Executes cells and calls functions, all in one namespace, as a notebook's kernel would."""

    def __init__(self, settings: dict[str, Any]):
        self.requests, self.replies = settings["requests"], settings["replies"]
        self.received = frames.Buffer(lambda: os.read(self.requests, frames.PIPE_BYTES))
        self.bytes_left = settings["answer_bytes"]
        self.module = _notebook(words.NO_INPUT)
        self.outstanding = ""  # id of the request that is being served
        self.asking = threading.Lock()
        self.points: defaultdict[str, dict[bytes, int]] = defaultdict(dict)  # exercise -> points of its functions
        self.checked: dict[str, dict[str, Any]] = {}  # exercise -> the names where its check stands
        self.final: dict[str, Any] = {}  # the names after all cells
        self.shown = ""  # the function whose names are in the namespace

    def serve(self) -> None:
        """Send that this process is ready, then serve requests until there are no more."""
        self._send({"ready": True}, ())
        while True:
            try:
                request, arrays = frames.decode(self.received.read, max_header=2**30, max_bytes=2**40)
            except EOFError:
                return
            self.outstanding = request["id"]
            reply, answer = self._guarded(request["milliseconds"], functools.partial(self._do, request, arrays))
            self._send({"id": request["id"], **reply}, answer)

    def _do(self, request: dict[str, Any], arrays: list[np.ndarray]) -> Reply:
        refusing.forget_placeholders()
        if request["do"] == "cell":
            self.checked |= {name: dict(self.module.__dict__) for name in request["checked"]}
            cells.run_cell(request["cell"], request["source"], self.module.__dict__)
            return _reply(), ()
        self._show_names_of(request["function"])
        for name, in_pytorch in request["stand_ins"].items():
            make = stand_ins.stand_in_module if in_pytorch else stand_ins.stand_in
            self.module.__dict__[name] = make(name, self._ask)
        functions = {name: self._input_function(name, exercise) for name, exercise in request["functions"].items()}
        with tested.withheld(self.module.__dict__, tested.tested_names(functions)):
            return self._call(request["function"], values.unpack(request["inputs"], arrays) | functions)

    def _show_names_of(self, function: str) -> None:
        """Give the notebook's names the values that they had at the function's check.

        Names that do not exist there keep their last values.
        """
        if function == self.shown:
            return
        space = self.module.__dict__
        self.final = self.final or dict(space)
        names = self.final | self.checked.get(function, {})
        for name in space.keys() - names.keys():
            del space[name]
        space.update(names)
        self.shown = function

    def _input_function(self, name: str, exercise: str | None) -> Callable | stand_ins.SubmittedFunction:
        """Return a placeholder for an input that is a function. exercise: the exercise that a function under test
        answers; "" for a function of the book; None for one of the submission, whose values may differ between calls.
        """
        if exercise:
            return stand_ins.tested_function(name, exercise, self._exchange, self.points[exercise])
        if exercise is None:
            return stand_ins.SubmittedFunction(self._ask)
        return stand_ins.input_function(name, stand_ins.remembering(self._exchange))

    def _call(self, name: str, inputs: dict[str, Any]) -> Reply:
        if name not in self.module.__dict__:
            raise NameError(self._why_undefined(name))
        outcome, digests = calling.call(self.module.__dict__[name], inputs)
        if outcome.raised is not None:
            return _failure(outcome.raised), ()
        tree, arrays = values.pack(outcome.value)
        n_bytes = sum(array.nbytes for array in arrays)
        if n_bytes > self.bytes_left or len(json.dumps(tree)) > frames.MAX_HEADER // 2:
            return _reply(stopped="size"), ()
        self.bytes_left -= n_bytes
        return _reply(tree=tree, digests=digests), arrays

    def _why_undefined(self, name: str) -> str:
        """Explain why there is no function of this name, and name the functions that its cell defines instead."""
        codes = [value.__code__ for value in self.module.__dict__.values() if type(value) is types.FunctionType]
        return words.not_defined(name, [code.co_name for code in codes if code.co_filename == f"<cell {name}>"])

    def _ask(self, message: dict[str, Any], kind: str = "question") -> dict[str, Any]:
        """Return the grader's answer to a message. kind: "question", or "returned" after the grader has called back."""
        reply, arrays = self._exchange(message, kind)
        return values.unpack(reply["answer"], arrays)

    def _exchange(self, message: dict[str, Any], kind: str = "question") -> tuple[dict[str, Any], list[np.ndarray]]:
        """Return the grader's reply to a message, with the answer still packed.

        The alarm waits for the reply, because an interrupted exchange would leave half a frame in a pipe.
        """
        tree, arrays = values.pack(message)
        with self.asking:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF])
            try:
                self._send({"id": self.outstanding, kind: tree}, arrays)
                return frames.decode(self.received.read, max_header=2**30, max_bytes=2**40)
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])

    def _guarded(self, milliseconds: int, action: Callable[[], Reply]) -> Reply:
        """Run an action with an alarm after this much processor time. Its exceptions become replies.

        The grader also measures processor time and the wall clock, because student code can turn the alarm off.
        """
        try:
            try:
                signal.setitimer(signal.ITIMER_PROF, milliseconds / 1000)  # counts all threads
                return action()
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        except TimeUp:
            return _reply(stopped="time"), ()
        except values.Malformed:
            return _reply(stopped="size"), ()
        except BaseException as error:
            return _failure(calling.describe(error)), ()

    def _send(self, message: dict[str, Any], arrays: Iterable[np.ndarray]) -> None:
        data = memoryview(frames.encode(message, arrays))
        while data:
            data = data[os.write(self.replies, data) :]


def _reply(
    tree: values.Tree | None = None,
    raised: list[str | int] | None = None,
    digests: dict[str, str] | None = None,
    stopped: str = "",
) -> dict[str, Any]:
    return {"tree": tree, "raised": raised, "digests": digests or {}, "stopped": stopped}


def _failure(raised: calling.Raised) -> dict[str, Any]:
    """Return the reply for code that raised an exception."""
    # Python 3.11 raises this exception if it has no memory for the frame of a call.
    no_frame = (raised.type, raised.message) == ("SystemError", "error return without exception set")
    if raised.type in ("MemoryError", "_ArrayMemoryError") or no_frame:
        return _reply(stopped="memory")
    file, number = raised.place
    return _reply(raised=[raised.type[:100], raised.message[:500], file[:500], number])


def _notebook(why_no_input: str) -> types.ModuleType:
    """Return the notebook's namespace, in which `display` and the shell do nothing. Let `input` raise an exception."""
    module = types.ModuleType("__main__")
    module.__dict__.update(display=silent_ipython.SILENT, get_ipython=silent_ipython.SILENT)
    builtins.input = _raising(why_no_input)
    sys.modules["__main__"] = module
    return module


def _raising(message: str) -> Callable[..., str]:
    def raises(prompt: object = "") -> NoReturn:
        raise RuntimeError(message)

    return raises


def _silence() -> None:
    """Connect standard input, output and error to nothing."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _time_up(signal_number: int, frame: types.FrameType | None) -> NoReturn:
    raise TimeUp
