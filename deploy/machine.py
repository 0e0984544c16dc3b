"""What the demonstration borrows from the machine, and gives back: accounts, and a hub that runs."""

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


@contextmanager
def accounts(people: Mapping[str, Collection[str]], homes: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Accounts of this machine, and the groups that they are in. All are gone at the end.

    Args:
        people: name -> its groups. Accounts and groups get a few letters more, that no other has.
        homes: a folder for their homes.

    Yields:
        those letters, with which "ada" is an account's name; and account -> password.
    """
    suffix = f"-{secrets.token_hex(3)}"
    groups, made = [], {}
    try:
        for group in sorted({group for its in people.values() for group in its}):
            _run("groupadd", group + suffix)
            groups.append(group + suffix)
        for name, its in people.items():
            account, password = name + suffix, secrets.token_urlsafe(12)
            home = ["--create-home", "--home-dir", str(homes / account), "--key", "HOME_MODE=0700"]
            belongs = ["--groups", ",".join(group + suffix for group in its)]
            _run("useradd", *home, "--shell", "/bin/bash", *belongs, account)
            made[account] = password
            _run("chpasswd", said=f"{account}:{password}")
        yield suffix, made
    finally:
        for account in made:
            # Whatever still runs under a name that is ours alone.
            subprocess.run(["pkill", "-KILL", "-U", account], check=False)
            _gone(account)
            _run("userdel", account)
        for group in groups:
            _run("groupdel", group)


@contextmanager
def hub(environment: Path, folder: Path, course: str) -> Iterator[str]:
    """A hub with the configuration in `folder`, and the course's own server, on free ports of 127.0.0.1; its address.

    Raises RuntimeError, with the end of its log, if it does not come up.
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
    with log.open("w") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said, start_new_session=True)
    try:
        for place in ("hub/health", f"services/{course}/"):
            _wait_for(f"{address}/{place}", process, log)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)  # it ends everybody's servers and its proxy
        process.wait(timeout=60)
        _end_orphans()


def run_as(account: str | None, *command: object, cwd: Path = Path("/")) -> subprocess.CompletedProcess:
    """Run a command as this account, or as root; its output is kept.

    Raises RuntimeError, with what the command said, if it fails.
    """
    ran = try_as(account, *command, cwd=cwd)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{ran.stdout}{ran.stderr}")
    return ran


def try_as(account: str | None, *command: object, cwd: Path = Path("/")) -> subprocess.CompletedProcess:
    """The same, for a command that may fail."""
    words = ["runuser", "--user", account, "--"] if account else []
    environment = {**os.environ, "HOME": os.path.expanduser(f"~{account or 'root'}")}
    return subprocess.run([*words, *map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True)


def _wait_for(address, process, log, seconds=60):
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    end = "\n".join(log.read_text().splitlines()[-20:])
    raise RuntimeError(f"the hub did not come up:\n{end}")


def _end_orphans():
    """End what a hub that did not come up has left: as their subreaper, this process has become their parent."""
    for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        os.kill(int(each), signal.SIGTERM)


def free_ports(n: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens at."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports


def _gone(account, seconds=10):
    """Wait until nothing of this account runs: userdel refuses before."""
    deadline = time.monotonic() + seconds
    while subprocess.run(["pgrep", "-U", account], stdout=subprocess.DEVNULL).returncode == 0:
        if time.monotonic() > deadline:
            raise TimeoutError(f"something of {account} still runs after {seconds} s")
        time.sleep(0.1)


def _run(*command, said=None):
    ran = subprocess.run(command, input=said, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(command)}: {ran.stderr.strip()}")
