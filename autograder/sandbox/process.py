"""A sandboxed Python process that answers one question at a time. We trust nothing that it sends."""

import fcntl
import math
import os
import secrets
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from autograder.sandbox.inside import frames
from autograder.sandbox.inside.confine import MB
from autograder.sandbox.launch import launch
from autograder.sandbox.limits import Limits, MachineTooBusy, SandboxUnavailable
from autograder.sandbox.outcomes import NOT_AN_ANSWER, kept_grader_busy, used_processor
from autograder.sandbox.usage import activity, asleep, exceeded_limit, processor_seconds
from check import values
from check.allowed_imports import CHAPTER_DISTRIBUTIONS

WATCH_SECONDS = 0.1
# Student code has a lower priority than the grader. Python itself starts at the usual priority.
NICER = 5
# A message without its id, and the arrays that go with it.
Sent = tuple[Any, list[np.ndarray]]
# (a frame that asks the process to call a function that it sent) -> the returned value.
CallBack = Callable[[bytes], Sent]
# (the question of the process, its arrays, a deadline in time.monotonic, call back) -> the answer, as a frame.
AnswerQuestion = Callable[[Any, list[np.ndarray], float, CallBack], bytes]


class Ended(Exception):
    """The process cannot be used any more.

    reason: why, in plain words.
    by_previous: whether the cause is the code of the previous question, not of the outstanding one.
    """

    def __init__(self, reason: str, *, by_previous: bool = False):
        super().__init__(reason)
        self.reason = reason
        self.by_previous = by_previous


class Exhausted(Exception):
    """The process has used up its processor time. The message says so in plain words."""


class Slept(Exhausted):
    """The process has slept for too long. The message says so in plain words."""


class _RepliedInstead(Exception):
    """We called the process back, and its reply ends the whole question. args: the reply and its arrays."""


class Process:
    """A new process that is ready for questions and has run no student code. Use it in a `with` statement."""

    def __init__(
        self,
        bundle: Path,
        limits: Limits,
        kind: str,
        distributions: tuple[str, ...] = CHAPTER_DISTRIBUTIONS,
        processor_seconds: float | None = None,
        sleep_seconds: float | None = None,
        imports: tuple[str, ...] = (),
    ):
        """Start the process.

        Raises SandboxUnavailable if the process cannot start, MachineTooBusy if it does not start in time, SandboxLost.

        processor_seconds, sleep_seconds: the limits minus what earlier processes used; by default the whole limits.
        imports: modules that the code will import. A warm parent imports them once for many runs.
        """
        self.processor_seconds = 0.0  # used so far, as measured from outside
        self.sleep_seconds = 0.0  # slept so far
        self._processor_limit = self._sleep_limit = math.inf  # until it has started
        self._question_limit, self._question_seconds = math.inf, math.inf  # the value of processor_seconds to stop at
        self._sandboxed = kind != "none"
        self._limits = limits
        self._launched = launch(bundle, limits, kind, distributions, imports)
        self._replies_come = select.poll()
        self._replies_come.register(self._launched.replies, select.POLLIN)
        self._received = frames.Buffer(self._next_bytes)
        self._answer_seconds = 0.0  # the grader's own work for the outstanding question
        self._deadline = math.inf  # in time.monotonic, for everything that is sent and received
        self._bytes_left = limits.answers_mb * MB
        self._previous_id = ""
        self._looked = -math.inf  # in time.monotonic, when /proc was read
        try:
            self._await_ready()
            self._processor_limit = limits.processor_seconds if processor_seconds is None else processor_seconds
            self._sleep_limit = limits.sleep_seconds if sleep_seconds is None else sleep_seconds
            self._lower_priority()
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill the process and remove everything it used."""
        self._launched.end()

    def ask(
        self,
        message: dict[str, Any],
        arrays: list[np.ndarray],
        *,
        seconds: float,
        deadline: float,
        answer_question: AnswerQuestion | None = None,
    ) -> tuple[dict, list[np.ndarray]]:
        """Send a question under a new id and return the one reply to it.

        Args:
            message, arrays: the question.
            seconds: processor time for the question.
            deadline: of time.monotonic.
            answer_question: answers questions that the process sends before it replies. Without it, a question is not a
                valid reply.

        Raises:
            SandboxLost: the process died, but not because of its code.
            Ended: the process died, sent something other than a reply, ignored its limit of processor time, or asked
                the grader for too much work.
            TimeoutError: the deadline passed.
            Exhausted: the process has used up its processor time for all questions, or has slept for too long.
        """
        if self._has_unread_reply() or self._left_bytes_unread():
            raise Ended(NOT_AN_ANSWER, by_previous=True)
        question_id = secrets.token_hex(16)
        self._deadline = deadline
        self._measure()
        self._question_limit = self.processor_seconds + seconds + self._limits.patience
        self._question_seconds = seconds
        self._answer_seconds = 0.0
        message = {**message, "id": question_id, "milliseconds": round(seconds * 1000)}
        try:
            frame = frames.encode(message, arrays)
            reply, reply_arrays = self._converse(frame, question_id, answer_question)
        except _RepliedInstead as instead:
            reply, reply_arrays = instead.args
        except values.Malformed:
            raise Ended(NOT_AN_ANSWER) from None
        except BrokenPipeError:
            raise Ended(self._how_it_ended(), by_previous=True) from None
        except EOFError:
            raise Ended(self._how_it_ended(), by_previous=self._left_bytes_unread()) from None
        reply_id = reply.pop("id", None)
        if reply_id != question_id:
            raise Ended(NOT_AN_ANSWER, by_previous=reply_id is not None and reply_id == self._previous_id)
        self._check_usage()
        self._previous_id = question_id
        return reply, reply_arrays

    def _converse(
        self, frame: bytes, question_id: str, answer_question: AnswerQuestion | None
    ) -> tuple[dict, list[np.ndarray]]:
        """Send a frame, answer the questions of the process, and return the first message that is not a question."""

        def call_back(frame: bytes) -> Sent:
            message, arrays = self._converse(frame, question_id, answer_question)
            if message.keys() != {"id", "returned"} or message["id"] != question_id:
                raise _RepliedInstead(message, arrays)
            self._bytes_left += sum(array.nbytes for array in arrays)  # what it returns is not kept
            return message["returned"], arrays

        while True:
            self._write(frame)
            message, arrays = self._receive()
            if answer_question is None or message.keys() != {"id", "question"} or message["id"] != question_id:
                return message, arrays
            started = time.thread_time()
            frame = answer_question(message["question"], arrays, self._deadline, call_back)
            self._answer_seconds += time.thread_time() - started
            if self._answer_seconds > self._limits.answer_seconds:
                raise Ended(kept_grader_busy(self._limits.answer_seconds))
            self._check_time()
            if time.monotonic() > self._looked + WATCH_SECONDS:
                self._check_proc()
            self._bytes_left += sum(array.nbytes for array in arrays)  # a question is not kept

    def _await_ready(self) -> None:
        self._deadline = time.monotonic() + self._limits.start_seconds
        try:
            message, _ = frames.decode(self._received.read, max_bytes=0)
        except TimeoutError:
            seconds = f"{self._limits.start_seconds:g} seconds"
            error = f"A sandbox did not start within {seconds}. The machine may be too busy."
            raise MachineTooBusy(f"{error} {self._launched.startup_error()}".strip()) from None
        except (EOFError, values.Malformed):
            message = {}
        if message != {"ready": True}:
            raise SandboxUnavailable(f"The sandbox did not start. {self._launched.startup_error()}".strip())

    def _lower_priority(self) -> None:
        with suppress(OSError):  # not allowed, or the process is gone
            niceness = os.getpriority(os.PRIO_PROCESS, 0) + NICER
            os.setpriority(os.PRIO_PROCESS, self._launched.started.python_pid(), niceness)

    def _receive(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        message, arrays = frames.decode(self._received.read, max_bytes=self._bytes_left)
        self._bytes_left -= sum(array.nbytes for array in arrays)
        return message, arrays

    def _write(self, data: bytes) -> None:
        unsent = memoryview(data)
        while unsent:
            try:
                unsent = unsent[os.write(self._launched.requests, unsent[: 2**20]) :]
            except BlockingIOError:  # the pipe is full; student code can reach it, and may have filled it
                has_room = select.poll()
                has_room.register(self._launched.requests, select.POLLOUT)
                self._wait(has_room)

    def _next_bytes(self) -> bytes:
        while True:
            self._wait(self._replies_come)
            with suppress(BlockingIOError):  # student code can reach the pipe, and may have read from it
                return os.read(self._launched.replies, frames.PIPE_BYTES)

    def _wait(self, poll: select.poll) -> None:
        """Wait until a descriptor is ready, and check the process's usage meanwhile."""
        before, started = None, 0.0
        while (seconds := self._deadline - time.monotonic()) > 0:
            if poll.poll(min(seconds, WATCH_SECONDS) * 1000):
                return
            passed, now = time.monotonic() - started, activity(self._launched.started.python_pid())
            if self._sleep_limit < math.inf:
                # If much more time has passed than one watch, the grader did not run either.
                self.sleep_seconds += asleep(before, now, min(passed, WATCH_SECONDS))
            before, started = now, time.monotonic()
            self._check_usage()
        raise TimeoutError

    def _check_usage(self) -> None:
        """Raise Exhausted or Ended if the process exceeds a limit that the kernel does not enforce."""
        self._check_time()
        self._check_proc()

    def _check_time(self) -> None:
        """Raise Exhausted or Ended if the process has used too much processor time, or has slept for too long."""
        self._measure()
        if self.processor_seconds >= self._processor_limit:
            raise Exhausted(f"had used {self._limits.processor_seconds:g} seconds of processor time")
        if self.sleep_seconds > self._sleep_limit:
            raise Slept(f"had slept for {self._limits.sleep_seconds:g} seconds")
        if self.processor_seconds > self._question_limit:
            raise Ended(used_processor(self._question_seconds))

    def _check_proc(self) -> None:
        """Raise Ended if the process has too many threads or files."""
        self._looked = time.monotonic()
        if self._sandboxed and (reason := exceeded_limit(self._launched.started.python_pid(), self._limits)):
            raise Ended(reason)

    def _measure(self) -> None:
        self.processor_seconds = max(self.processor_seconds, processor_seconds(self._launched.started.python_pid()))

    def _has_unread_reply(self) -> bool:
        return bool(self._received) or any(event & select.POLLIN for _, event in self._replies_come.poll(0))

    def _left_bytes_unread(self) -> bool:
        """Return whether the process has not read all that was sent to it: a whole question, or an answer."""
        unread = fcntl.ioctl(self._launched.requests, termios.FIONREAD, bytes(4))
        return int.from_bytes(unread, sys.byteorder) > 0

    def _how_it_ended(self) -> str:
        """Return in plain words how the process ended. Raises SandboxLost."""
        try:
            status = self._launched.started.program.wait(self._limits.patience)
        except subprocess.TimeoutExpired:
            return NOT_AN_ANSWER  # it closed the pipes and still runs
        number = -status if status < 0 else status - 128
        if number == signal.SIGXCPU:
            return used_processor(self._limits.processor_seconds)
        if number == signal.SIGKILL:
            return f"was killed, perhaps because it needed more than {self._limits.memory_mb} MB of memory"
        if number > 0:
            return f"crashed the Python process ({signal.strsignal(number) or f'signal {number}'})"
        return f"ended the Python process (exit status {status})"
