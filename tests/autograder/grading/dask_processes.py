"""Start schedulers and workers as separate processes in an empty folder."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import autograder
from autograder.sandbox import bubblewrap

REPO = Path(autograder.__file__).parent.parent


@contextmanager
def dask_processes(place):
    """Yield start("worker", *arguments) -> a process, and end all processes afterwards.

    hide: a folder that the process sees as empty.
    """
    started = []
    place.mkdir()

    def starting(part, *arguments, hide=None, **environment):
        command = [sys.executable, "-m", "dask", part, *arguments]
        if hide:
            command = [str(bubblewrap.find()), "--dev-bind", "/", "/", "--tmpfs", str(hide), *command]
        variables = os.environ | {"PYTHONPATH": str(REPO), **environment}
        process = subprocess.Popen(command, cwd=place, env=variables, stderr=subprocess.DEVNULL, start_new_session=True)
        started.append(process)
        return process

    try:
        yield starting
    finally:
        for process in started:
            end(process)


def end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]
