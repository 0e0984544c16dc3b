"""Try the sandbox before the first submission. If it breaks a promise, grading does not start."""

import contextlib
import os
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.layout import REPO
from autograder.sandbox import bubblewrap, interpreter
from autograder.sandbox.cells_and_calls import Call, Cell
from autograder.sandbox.limits import Limits, SandboxUnavailable
from autograder.sandbox.starting import ENVIRONMENT
from autograder.sandbox.submission import run
from autograder.sandbox.warm import sandboxes
from check import bundle_data
from check.calling import Outcome

REMEDY = f"""\
Student code runs only in a sandbox that keeps all its promises. This needs Linux and bubblewrap: {bubblewrap.INSTALL}.
If the system does not let bubblewrap make user namespaces, allow them as root:
  sysctl -w user.max_user_namespaces=10000
  sysctl -w kernel.unprivileged_userns_clone=1 (Debian)
  sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu)
If this is a container, start the container with `--security-opt seccomp=unconfined`."""

# Promises that are kept if the code is stopped, and the first words of the reason.
_STOPPED = {"endless": "used more", "stubborn": "used more", "many_threads": "started more", "many_files": "made more"}
# What the kind "user" cannot promise: its code shares processes, /proc and /tmp with the rest of the machine.
_ONLY_IN_NAMESPACES = {"little_disk", "own_processes_only", "little_told", "many_files", "settings_locked"}
_PROBING = Path(__file__).with_name("inside") / "probing.py"


def probe(bundle: Path, limits: Limits | None = None, kind: str = "bwrap") -> list[str]:
    """Run code that tries to break each promise, as if it were a submission. Return the names of the promises.

    If only a warm sandbox breaks a promise, grading does not use warm sandboxes.

    Args:
        bundle: folder of a released chapter, as for `run`.
        limits: the limits of the submissions to come; the probe uses shorter time limits.
        kind: "bwrap" or "user".

    Raises:
        SandboxUnavailable: a promise is broken, or there is no sandbox. The message says what to do.
        MachineTooBusy: a sandbox did not start in time; a second try may succeed.
    """
    bundle, limits = Path(bundle).resolve(), limits or Limits()
    if kind == "bwrap" and sandboxes.usable:
        try:
            promises = _kept_promises(bundle, limits, kind)
        except SandboxUnavailable as error:
            sandboxes.give_up(str(error).removesuffix(REMEDY).strip())
        if sandboxes.usable:
            sandboxes.prove()
            return promises
    return _kept_promises(bundle, limits, kind)


def _kept_promises(bundle: Path, limits: Limits, kind: str) -> list[str]:
    with _listener() as port, _canary(bundle.parent) as canary:
        promises = _promises(port, [*canary, *_solutions()], limits)
        if kind == "user":
            promises = _without_namespaces(promises)
        outcomes = _try(promises, bundle, replace(limits, call_seconds=10.0), kind)
    short = replace(limits, call_seconds=0.2, patience=0.2, wall_factor=30 * limits.wall_factor)  # for a busy machine
    outcomes |= _try({"endless": {}, "stubborn": {}}, bundle, short, kind)
    broken = [f"- {name.replace('_', ' ')}: {words}" for name, o in outcomes.items() if (words := _violation(name, o))]
    if broken:
        summary = "The sandbox does not keep all its promises. Code inside it can do what it should not:"
        raise SandboxUnavailable("\n".join([summary, *broken, REMEDY]))
    return list(outcomes)


def _promises(port: int, hidden: list[str], limits: Limits) -> dict[str, dict[str, Any]]:
    """Return the promises: name of a function in probing.py -> its arguments."""
    libraries = [str(folder) for folder in interpreter.libraries()]
    packages = [str(bubblewrap.PACKAGES)]
    runner_and_bundle = [str(bubblewrap.RUNNER), str(bubblewrap.BUNDLE)]
    writable = [str(bubblewrap.WORK), str(bubblewrap.TEMPORARY)]
    known = [*libraries, *packages, *runner_and_bundle, *writable, str(interpreter.executable()), "/etc/ld.so.cache"]
    return {
        "no_network": {"port": port, "interfaces": ["lo"]},
        "nothing_else_readable": {"hidden": hidden, "known": [*known, "/proc", "/dev"]},
        "no_solutions_importable": {"packages": packages},
        "read_only": {"folders": ["/", *libraries, *packages, *runner_and_bundle, "/dev", "/dev/shm", "/proc"]},
        "settings_locked": {},
        "little_disk": {"folders": writable, "disk_mb": limits.disk_mb},
        "clean_environment": {"expected": [*ENVIRONMENT, bundle_data.FOLDER, "HOME", "PWD"]},
        "own_processes_only": {},
        "little_told": {"covered": [str(path) for path in bubblewrap.revealing_files()]},
        "no_new_process": {},
        "no_rights": {},
        "no_locks": {},
        "limits_for_good": {},
        "no_dump": {},
        "memory_limit": {"memory_mb": limits.memory_mb},
        "many_threads": {"threads": limits.threads},
        "many_files": {"files": limits.files},
    }


def _without_namespaces(promises: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the promises of the kind "user": its code may see the rest of the machine, but nothing secret."""
    packages = [str(folder) for folder in interpreter.package_folders()]
    folders = ["/", str(REPO), *map(str, interpreter.libraries()), *packages]
    arguments = {
        "no_network": {"interfaces": os.listdir("/sys/class/net")},
        "nothing_else_readable": {"known": [str(path) for path in Path("/").iterdir()]},
        "no_solutions_importable": {"packages": packages},
        "read_only": {"folders": folders},
    }
    kept = {name: promises[name] | arguments.get(name, {}) for name in promises}
    return {name: kept[name] for name in kept if name not in _ONLY_IN_NAMESPACES}


def _try(promises: dict[str, dict[str, Any]], bundle: Path, limits: Limits, kind: str) -> dict[str, Outcome]:
    """Return the outcome of each promise's function in the sandbox, by name."""
    cells = [Cell("probe", _PROBING.read_text(encoding="utf-8"))]
    calls = [Call(name, inputs) for name, inputs in promises.items()]
    try:
        probed = run(cells, calls, bundle=bundle, limits=limits, kind=kind)
    except SandboxUnavailable as error:
        raise SandboxUnavailable(f"{error}\n{REMEDY}") from error
    return dict(zip(promises, probed.outcomes, strict=True))


def _violation(name: str, outcome: Outcome) -> str:
    """Describe how the sandbox broke a promise, or why we could not try it; "" if the promise was kept."""
    if outcome.value == "" or (name in _STOPPED and outcome.stopped.startswith(_STOPPED[name])):
        return ""
    raised = outcome.raised
    return str(outcome.value or outcome.stopped or (raised and f"{raised.type}: {raised.message}"))


@contextlib.contextmanager
def _listener() -> Iterator[int]:
    """Start a server on this machine, which code inside must not reach, and yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextlib.contextmanager
def _canary(folder: Path) -> Iterator[list[str]]:
    """Create a file next to the bundle, where an instructor may keep data, and yield its path; [] if that fails."""
    with contextlib.ExitStack() as stack:
        canary = []
        with contextlib.suppress(OSError):
            canary.append(stack.enter_context(tempfile.NamedTemporaryFile(prefix=".canary-", dir=folder)).name)
        yield canary


def _solutions() -> list[str]:
    """Return the files that would give the answers away."""
    folders = (REPO / "autograder/exercises", REPO / "solutions")
    return [str(path) for folder in folders for path in folder.rglob("*.py")]
