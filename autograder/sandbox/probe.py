"""Before the first submission the sandbox is tried: a promise that does not hold stops the grading."""

import contextlib
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.house import HOUSE
from autograder.sandbox import bubblewrap, interpreter
from autograder.sandbox.launch import ENVIRONMENT
from autograder.sandbox.limits import Limits, SandboxUnavailable
from autograder.sandbox.submission import Call, Cell, run
from check import bundle_data
from check.calling import Outcome

REMEDY = f"""\
Student code runs only in a sandbox that keeps all it promises. It needs Linux and bubblewrap: {bubblewrap.INSTALL}.
If bubblewrap may not make user namespaces, allow them as root:
  sysctl -w user.max_user_namespaces=10000
  sysctl -w kernel.unprivileged_userns_clone=1 (Debian)
  sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu)
and in a container start that with `--security-opt seccomp=unconfined`."""

# What has to be stopped, and the first words of the reason.
_STOPPED = {
    "endless": "took longer",
    "stubborn": "took longer",
    "many_threads": "started more",
    "many_files": "made more",
}
_PROBING = Path(__file__).with_name("inside") / "probing.py"


def probe(bundle: Path, limits: Limits | None = None) -> list[str]:
    """Run a prober as if it were a submission, and see every promise kept.

    Args:
        bundle: folder of a released chapter, as for `run`.
        limits: those that will be used; the time limits are shortened.

    Returns:
        The names of the promises, all of them kept.

    Raises:
        SandboxUnavailable: a promise is broken, or there is no sandbox; it says what to do.
    """
    bundle = Path(bundle).resolve()
    limits = limits or Limits()
    with _listener() as port, _canary(bundle.parent) as canary:
        promises = _promises(port, [*canary, *_solutions()], limits)
        outcomes = _try(promises, bundle, replace(limits, call_seconds=10.0))
    outcomes |= _try({"endless": {}, "stubborn": {}}, bundle, replace(limits, call_seconds=0.2, patience=0.2))
    broken = [f"- {name.replace('_', ' ')}: {words}" for name, o in outcomes.items() if (words := _trouble(name, o))]
    if broken:
        raise SandboxUnavailable("\n".join(["The sandbox keeps less than it promises:", *broken, REMEDY]))
    return list(outcomes)


def _promises(port: int, hidden: list[str], limits: Limits) -> dict[str, dict[str, Any]]:
    """What is promised: the name of a function of probing.py, and what it has to know."""
    libraries = [str(folder) for folder in interpreter.libraries()]
    packages = [str(bubblewrap.PACKAGES)]
    ours = [str(bubblewrap.RUNNER), str(bubblewrap.BUNDLE)]
    writable = [str(bubblewrap.WORK), str(bubblewrap.TEMPORARY)]
    known = [*libraries, *packages, *ours, *writable, str(interpreter.executable()), "/etc/ld.so.cache"]
    return {
        "no_network": {"port": port},
        "nothing_else_readable": {"hidden": hidden, "known": [*known, "/proc", "/dev"]},
        "no_solutions_importable": {"packages": packages},
        "read_only": {"folders": ["/", *libraries, *packages, *ours, "/dev", "/dev/shm", "/proc"]},
        "settings_locked": {},
        "little_disk": {"folders": writable, "disk_mb": limits.disk_mb},
        "clean_environment": {"expected": [*ENVIRONMENT, bundle_data.FOLDER, "HOME", "PWD"]},
        "own_processes_only": {},
        "little_told": {"covered": [str(path) for path in bubblewrap.telling()]},
        "no_new_process": {},
        "no_rights": {},
        "no_locks": {},
        "limits_for_good": {},
        "no_dump": {},
        "memory_limit": {"memory_mb": limits.memory_mb},
        "many_threads": {"threads": limits.threads},
        "many_files": {"files": limits.files},
    }


def _try(questions: dict[str, dict[str, Any]], bundle: Path, limits: Limits) -> dict[str, Outcome]:
    cells = [Cell("probe", _PROBING.read_text(encoding="utf-8"))]
    calls = [Call(name, inputs) for name, inputs in questions.items()]
    try:
        done = run(cells, calls, bundle=bundle, limits=limits)
    except SandboxUnavailable as error:
        raise SandboxUnavailable(f"{error}\n{REMEDY}") from error
    return dict(zip(questions, done.outcomes, strict=True))


def _trouble(name: str, outcome: Outcome) -> str:
    """Plain words if the promise was broken, or not even tried; else nothing."""
    if outcome.value == "" or (name in _STOPPED and outcome.stopped.startswith(_STOPPED[name])):
        return ""
    raised = outcome.raised
    return str(outcome.value or outcome.stopped or (raised and f"{raised.type}: {raised.message}"))


@contextlib.contextmanager
def _listener() -> Iterator[int]:
    """A server on this machine alone; nobody should be able to reach it from inside."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextlib.contextmanager
def _canary(folder: Path) -> Iterator[list[str]]:
    """A file beside the bundle, where an instructor's data may lie; none if nothing can be written there."""
    with contextlib.ExitStack() as stack:
        canary = []
        with contextlib.suppress(OSError):
            canary.append(stack.enter_context(tempfile.NamedTemporaryFile(prefix=".canary-", dir=folder)).name)
        yield canary


def _solutions() -> list[str]:
    """The files that would give the answers away."""
    folders = (HOUSE / "autograder/exercises", HOUSE / "solutions")
    return [str(path) for folder in folders for path in folder.rglob("*.py")]
