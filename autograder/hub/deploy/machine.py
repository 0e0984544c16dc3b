"""Set up accounts on this machine and a running hub for the demonstration, and remove them at the end."""

import ctypes
import os
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
PATIENCE = 300  # seconds for the hub to start, or to end: servers that end one by one may need more than one minute


@contextmanager
def accounts(people: Mapping[str, Collection[str]], homes: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Create accounts of this machine and their groups. Remove all of them at the end.

    Args:
        people: name -> its groups. The names of accounts and groups also get a random suffix, so that they are new.
        homes: a folder for the home directories.

    Yields:
        the suffix, and account -> password.
    """
    suffix = f"-{secrets.token_hex(3)}"
    groups, passwords = [], {}
    try:
        for group in sorted(set().union(*people.values())):
            _run("groupadd", group + suffix)
            groups.append(group + suffix)
        for name, groups_of_person in people.items():
            account, password = name + suffix, secrets.token_urlsafe(12)
            home = ["--create-home", "--home-dir", str(homes / account), "--key", "HOME_MODE=0700"]
            membership = ["--groups", ",".join(group + suffix for group in groups_of_person)]
            _run("useradd", *home, "--shell", "/bin/bash", *membership, account)
            passwords[account] = password
            _run("chpasswd", text=f"{account}:{password}")
        yield suffix, passwords
    finally:
        for account in passwords:
            # End all processes of this account. Nothing else uses it, because its name is random.
            subprocess.run(["pkill", "-KILL", "-U", account], check=False)
            _wait_for_end_of_processes(account)
            _run("userdel", account)
        for group in groups:
            _run("groupdel", group)


@contextmanager
def hub(environment: Path, folder: Path, course: str = "") -> Iterator[str]:
    """Run a hub with the configuration in `folder`, and yield its address, on a free port of 127.0.0.1.

    course: the name of the course's own server, to wait until that answers, too.

    Raises RuntimeError, with the end of the hub's log, if the hub does not start.
    """
    public, api, proxy = free_ports(3)
    address = f"http://127.0.0.1:{public}"
    command = [
        *(str(environment / "bin" / "jupyterhub"), "-f", str(folder / "jupyterhub_config.py")),
        f"--JupyterHub.bind_url={address}",
        f"--JupyterHub.hub_bind_url=http://127.0.0.1:{api}",
        f"--ConfigurableHTTPProxy.api_url=http://127.0.0.1:{proxy}",
    ]
    log = folder / "hub.log"
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file, start_new_session=True)
    try:
        for path in ("hub/health", *([f"services/{course}/"] if course else [])):
            _wait_for(f"{address}/{path}", process, log)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)  # the hub then ends all servers and its proxy
        process.wait(timeout=PATIENCE)
        _end_orphans()


def run_as(account: str | None, *command: object, cwd: Path = Path("/")) -> subprocess.CompletedProcess:
    """Run a command as this account, or as root if it is None. Return the finished process with its output.

    Raises RuntimeError, with the command's output, if the command fails.
    """
    process = try_as(account, *command, cwd=cwd)
    if process.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{process.stdout}{process.stderr}")
    return process


def try_as(account: str | None, *command: object, cwd: Path = Path("/")) -> subprocess.CompletedProcess:
    """Like `run_as`, but return even if the command fails."""
    words = ["runuser", "--user", account, "--"] if account else []
    environment = {**os.environ, "HOME": os.path.expanduser(f"~{account or 'root'}")}
    return subprocess.run([*words, *map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True)


def _wait_for(address, process, log):
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:  # refused, an error, or no answer yet on a busy machine
            time.sleep(0.2)
    end = "\n".join(log.read_text().splitlines()[-20:])
    raise RuntimeError(f"the hub did not start. Its log ends with:\n{end}")


def _end_orphans():
    """End the processes that a failed hub has left. This process is their subreaper, so it has become their parent."""
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        os.kill(int(child), signal.SIGTERM)
        os.waitpid(int(child), 0)  # as long as an ended process is listed, its account cannot be removed


def free_ports(n: int) -> list[int]:
    """Return n ports of 127.0.0.1 on which no program listens."""
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports


def _wait_for_end_of_processes(account, seconds=60):
    """Wait until no process of this account runs, because userdel fails while one runs."""
    deadline = time.monotonic() + seconds
    while subprocess.run(["pgrep", "-U", account], stdout=subprocess.DEVNULL).returncode == 0:
        if time.monotonic() > deadline:
            raise TimeoutError(f"a process of {account} still runs after {seconds} s")
        time.sleep(0.1)


def _run(*command, text=None):
    process = subprocess.run(command, input=text, capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {process.stderr.strip()}")
