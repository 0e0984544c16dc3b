"""The process that runs one student's code. NumPy, `check` and this folder are all that is within its reach.

`launch.py` starts it: `main` reads its settings, a JSON object, from the command line. It answers one request at a
time: a cell to execute, or a function to call. Nothing it says is believed on the other side.

While a function is called it may ask back, for values of the exercises that are answered in its place.
"""

import builtins
import json
import linecache
import os
import signal
import sys
import threading
import types

from check import calling, values, words

from . import confine, frames, refusing, stand_ins


class TimeUp(BaseException):
    """Raised in the student's code by the alarm; not an Exception, so that `except Exception` lets it pass."""


def main():
    settings = json.loads(sys.argv[1])
    confine.confine(**settings["limits"])
    for descriptor in (settings["requests"], settings["replies"]):
        os.set_inheritable(descriptor, False)
    _silence()
    sys.path.insert(0, settings["bundle"])
    sys.meta_path.insert(0, refusing.Refusing(settings["distributions"], settings["bundle"]))
    sys.argv = [""]
    signal.signal(signal.SIGALRM, _time_up)
    Worker(settings).serve()


class Worker:
    """Executes cells and calls functions, all in one namespace as a notebook's kernel would."""

    def __init__(self, settings):
        self.requests, self.replies = settings["requests"], settings["replies"]
        self.bytes_left = settings["answer_bytes"]
        self.module = _notebook(words.NOBODY_THERE)
        self.outstanding = ""
        self.asking = threading.Lock()

    def serve(self):
        """Say that we are ready, then answer requests until there are no more."""
        self._send({"ready": True}, ())
        while True:
            try:
                request, arrays = frames.decode(self._read, max_header=2**30, max_bytes=2**40)
            except EOFError:
                return
            self.outstanding = request["id"]
            reply, answer = self._guarded(request["milliseconds"], lambda r=request, a=arrays: self._do(r, a))
            self._send({"id": request["id"], **reply}, answer)

    def _do(self, request, arrays):
        if request["do"] == "cell":
            return self._execute(request["cell"], request["source"])
        for name, in_pytorch in request["stand_ins"].items():
            make = stand_ins.stand_in_module if in_pytorch else stand_ins.stand_in
            self.module.__dict__[name] = make(name, self._ask)
        return self._call(request["function"], values.unpack(request["inputs"], arrays))

    def _execute(self, cell, source):
        name = f"<cell {cell}>"
        # No modification time: linecache then keeps the lines without looking for a file.
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec", dont_inherit=True), self.module.__dict__)
        return _reply(), ()

    def _call(self, name, inputs):
        if name not in self.module.__dict__:
            raise NameError(self._instead_of(name))
        outcome, left = calling.call(self.module.__dict__[name], inputs)
        if outcome.raised is not None:
            return _failed(outcome.raised), ()
        tree, arrays = values.pack(outcome.value)
        n_bytes = sum(array.nbytes for array in arrays)
        if n_bytes > self.bytes_left or len(json.dumps(tree)) > frames.MAX_HEADER // 2:
            return _reply(stopped="size"), ()
        self.bytes_left -= n_bytes
        return _reply(tree=tree, left=left), arrays

    def _instead_of(self, name):
        """Why there is no function of that name."""
        code = [value.__code__ for value in self.module.__dict__.values() if type(value) is types.FunctionType]
        instead = [each.co_name for each in code if each.co_filename == f"<cell {name}>"]
        return words.not_defined(name, instead)

    def _ask(self, question):
        """The grader's answer to a question, for which the alarm has to wait: half an exchange would confuse both."""
        tree, arrays = values.pack(question)
        with self.asking:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            try:
                self._send({"id": self.outstanding, "asks": tree}, arrays)
                reply, arrays = frames.decode(self._read, max_header=2**30, max_bytes=2**40)
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        return values.unpack(reply["answer"], arrays)

    def _guarded(self, milliseconds, action):
        """Run `action`, an alarm set for so many milliseconds; whatever it raises becomes the reply."""
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, milliseconds / 1000)
                return action()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except TimeUp:
            return _reply(stopped="time"), ()
        except values.Malformed:
            return _reply(stopped="size"), ()
        except BaseException as error:
            return _failed(calling.describe(error)), ()

    def _read(self, n_bytes):
        data = bytearray()
        while len(data) < n_bytes:
            piece = os.read(self.requests, min(n_bytes - len(data), 2**20))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def _send(self, message, arrays):
        data = memoryview(frames.encode(message, arrays))
        while data:
            data = data[os.write(self.replies, data) :]


def _reply(tree=None, raised=None, left=None, stopped=""):
    return {"tree": tree, "raised": raised, "left": left or {}, "stopped": stopped}


def _failed(raised):
    if raised.type in ("MemoryError", "_ArrayMemoryError"):
        return _reply(stopped="memory")
    file, number = raised.place
    return _reply(raised=[raised.type[:100], raised.message[:500], file[:500], number])


def _notebook(nobody_there):
    module = types.ModuleType("__main__")
    module.__dict__["display"] = lambda *values, **options: None
    builtins.input = _raising(nobody_there)
    sys.modules["__main__"] = module
    return module


def _raising(words):
    def raises(prompt=""):
        raise RuntimeError(words)

    return raises


def _silence():
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _time_up(signal_number, frame):
    raise TimeUp
