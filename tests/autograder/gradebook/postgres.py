"""A PostgreSQL server for a test, in a folder of its own with a socket. It ends with the test."""

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from autograder.sandbox import bubblewrap
from tests.patience import SECONDS

INSTALL = "Install it: `apt-get install postgresql`."


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, which Debian keeps off the path, or None if there is no server."""
    on_path = shutil.which("postgres")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return Path(on_path).resolve().parent if on_path else installed[-1].parent if installed else None


@contextmanager
def server(folder: Path):
    """Start a server in a folder and yield the database's address. The path must be short enough for a socket."""
    # PostgreSQL refuses to run as root. In a user namespace it has another user id, but the files stay ours.
    somebody = [str(bubblewrap.find()), "--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-pid"]
    somebody += ["--unshare-ipc", "--die-with-parent", "--dev-bind", "/", "/", "--tmpfs", "/dev/shm"]
    data, log = folder / "data", folder / "log"
    bin = programs()
    init = [bin / "initdb", "-D", data, "-U", "teacher", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
    subprocess.run([*somebody, *init], check=True, capture_output=True)
    options = {"listen_addresses": "", "unix_socket_directories": folder, "fsync": "off", "max_connections": "20"}
    start = [bin / "postgres", "-D", data, *(word for name in options for word in ("-c", f"{name}={options[name]}"))]
    with log.open("w") as stream:
        process = subprocess.Popen([*somebody, *start], stdout=stream, stderr=stream, env=os.environ | {"TZ": "UTC"})
    try:
        deadline = time.monotonic() + SECONDS
        while "ready to accept connections" not in log.read_text():
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield f"postgresql://teacher@/postgres?host={folder}"
    finally:
        process.kill()  # this also ends the namespace of bwrap, with all its processes and shared memory
        process.wait(timeout=SECONDS)
