"""One sandboxed Python process: asked one thing at a time, believed in nothing, ended without a trace."""

import fcntl
import os
import secrets
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from autograder.sandbox.inside import frames
from autograder.sandbox.inside.confine import MB
from autograder.sandbox.interpreter import BROUGHT
from autograder.sandbox.launch import launch
from autograder.sandbox.limits import Limits, SandboxUnavailable
from autograder.sandbox.outcomes import NOT_AN_ANSWER
from autograder.sandbox.usage import overrun, processor_seconds
from check import values

WATCH_SECONDS = 0.1
# What a process asks for, the arrays it sent with it and a deadline of time.monotonic -> the answer, as a frame.
Answer = Callable[[Any, list[np.ndarray], float], bytes]


class Ended(Exception):
    """The process is of no more use, for a reason given in plain words.

    by_previous: the fault lies with what was asked before the outstanding question.
    """

    def __init__(self, words: str, *, by_previous: bool = False):
        super().__init__(words)
        self.words = words
        self.by_previous = by_previous


class Exhausted(Exception):
    """The processor time there was for the process is used up."""


class Process:
    """A fresh process, started and ready, with nothing of the student's in it yet. Use it in a `with`."""

    def __init__(
        self,
        bundle: Path,
        limits: Limits,
        kind: str,
        distributions: tuple[str, ...] = BROUGHT,
        processor_seconds: float | None = None,
    ):
        """Raises SandboxUnavailable if there is no sandbox or it does not start.

        processor_seconds: what others have left of those in `limits`.
        """
        self.processor_seconds = 0.0  # used so far, as far as it can be seen from outside
        self._processor_seconds = limits.processor_seconds if processor_seconds is None else processor_seconds
        self._limits = limits
        self._launched = launch(bundle, limits, kind, distributions)
        self._bytes_left = limits.answers_mb * MB
        self._previous_id = ""
        try:
            self._await_ready()
        except BaseException:
            self._launched.end()
            raise

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self._launched.end()

    def ask(
        self, message: dict[str, Any], arrays: list[np.ndarray], deadline: float, answer: Answer | None = None
    ) -> tuple[dict, list[np.ndarray]]:
        """Send a question under a fresh id, and wait for the one reply to it.

        answer: answers what the process asks back before it replies; without it, asking back is no reply.

        Raises Ended if the process dies or sends anything else; TimeoutError at the deadline (of time.monotonic);
        Exhausted.
        """
        if self._has_sent():
            raise Ended(NOT_AN_ANSWER, by_previous=True)
        asked = secrets.token_hex(16)
        try:
            self._write(frames.encode({**message, "id": asked}, arrays), deadline)
            reply, sent = self._receive(deadline)
            while answer and reply.keys() == {"id", "asks"} and reply["id"] == asked:
                self._write(answer(reply["asks"], sent, deadline), deadline)
                reply, sent = self._receive(deadline)
        except values.Malformed:
            raise Ended(NOT_AN_ANSWER) from None
        except BrokenPipeError:
            raise Ended(self._how_it_ended(), by_previous=True) from None
        except EOFError:
            raise Ended(self._how_it_ended(), by_previous=self._was_not_heard()) from None
        answered = reply.pop("id", None)
        if answered != asked:
            raise Ended(NOT_AN_ANSWER, by_previous=answered is not None and answered == self._previous_id)
        self._watch()
        self._previous_id = asked
        return reply, sent

    def _await_ready(self):
        deadline = time.monotonic() + self._limits.start_seconds
        try:
            message, _ = frames.decode(lambda n: self._read(n, deadline), max_bytes=0)
        except (EOFError, TimeoutError, values.Malformed):
            message = {}
        if message != {"ready": True}:
            raise SandboxUnavailable(f"The sandbox did not start. {self._launched.last_words()}".strip())

    def _receive(self, deadline):
        message, arrays = frames.decode(lambda n: self._read(n, deadline), max_bytes=self._bytes_left)
        self._bytes_left -= sum(array.nbytes for array in arrays)
        return message, arrays

    def _write(self, data, deadline):
        data = memoryview(data)
        while data:
            self._wait(self._launched.requests, select.POLLOUT, deadline)
            try:
                data = data[os.write(self._launched.requests, data[: 2**20]) :]
            except BlockingIOError:
                continue  # the student's code can reach the pipe, and fill it

    def _read(self, n_bytes, deadline):
        data = bytearray()
        while len(data) < n_bytes:
            self._wait(self._launched.replies, select.POLLIN, deadline)
            try:
                piece = os.read(self._launched.replies, min(n_bytes - len(data), 2**20))
            except BlockingIOError:
                continue  # or empty it
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def _wait(self, descriptor, event, deadline):
        poll = select.poll()
        poll.register(descriptor, event)
        while (seconds := deadline - time.monotonic()) > 0:
            if poll.poll(min(seconds, WATCH_SECONDS) * 1000):
                return
            self._watch()
        raise TimeoutError

    def _watch(self):
        """End a process that has overrun a limit which the kernel does not know."""
        first = self._launched.first()
        self.processor_seconds = max(self.processor_seconds, processor_seconds(first) if first else 0.0)
        if self.processor_seconds > self._processor_seconds:
            raise Exhausted
        if first and (words := overrun(first, self._limits)):
            raise Ended(words)

    def _has_sent(self):
        poll = select.poll()
        poll.register(self._launched.replies, select.POLLIN)
        return any(event & select.POLLIN for _, event in poll.poll(0))

    def _was_not_heard(self):
        """Whether the process ended before it had read the whole question."""
        unread = fcntl.ioctl(self._launched.requests, termios.FIONREAD, bytes(4))
        return int.from_bytes(unread, sys.byteorder) > 0

    def _how_it_ended(self):
        try:
            status = self._launched.popen.wait(self._limits.patience)
        except subprocess.TimeoutExpired:
            return NOT_AN_ANSWER  # it hung up and lives on
        number = -status if status < 0 else status - 128
        if number == signal.SIGXCPU:
            return f"used more than {self._limits.processor_seconds:g} seconds of processor time"
        if number == signal.SIGKILL:
            return f"was killed, as happens to what needs more than {self._limits.memory_mb} MB of memory"
        if number > 0:
            return f"crashed the Python process ({signal.strsignal(number) or f'signal {number}'})"
        return f"ended the Python process (exit status {status})"
