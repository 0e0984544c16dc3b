"""Code in the sandbox can see, reach and leave behind nothing outside."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest

import autograder
from tests.patience import PATIENT

pytestmark = pytest.mark.sandbox
REPO = Path(autograder.__file__).resolve().parent.parent


def tried(ask, body):
    """Return the value of a function with this body, or the type of the exception that it raises."""
    outcome = ask("import os, sys\ndef f():\n" + "\n".join(f"    {line}" for line in body.splitlines()), "f")
    return outcome.raised.type if outcome.raised else outcome.value


def test_the_repository_is_not_visible(ask, bundle):
    for path in (REPO / "solutions/attention.py", REPO / "autograder/exercises", bundle.parent):
        assert tried(ask, f"return os.path.exists({str(path)!r})") is False


@pytest.mark.parametrize(
    "module", ["solutions.attention", "autograder.exercises", "autograder.authoring.make_key", "autograder"]
)
def test_solutions_and_exercises_cannot_be_imported(ask, module):
    assert tried(ask, f"import {module}") == "ModuleNotFoundError"


def test_home_and_other_folders_are_empty(ask):
    files = tried(ask, "return [os.listdir(f) if os.path.exists(f) else [] for f in ('/home', '/var', '/mnt', '/srv')]")
    assert files == [[], [], [], []]


def test_no_environment_variable_of_the_grader_is_visible(ask, monkeypatch):
    monkeypatch.setenv("AUTOGRADER_TEST_SECRET", "seed")
    body = """
variables = " ".join(os.environ)
for name in os.listdir("/proc"):
    try:
        variables += open(f"/proc/{name}/environ").read()
    except OSError:
        pass
return variables
"""
    assert "SECRET" not in tried(ask, body)


def test_command_lines_show_no_path_of_the_grader(ask, bundle):
    assert tried(ask, "return os.listdir('/proc/1')") == []
    command = tried(ask, "return open('/proc/self/cmdline').read()")
    assert "from inside." in command and str(bundle.parent) not in command and str(REPO) not in command


def test_files_for_root_alone_tell_nothing(ask):
    body = """
told = []
for name in sorted(os.listdir("/proc")):
    path = f"/proc/{name}"
    if os.path.isfile(path) and not os.stat(path).st_mode & 0o004 or name in ("slabinfo", "kpageflags"):
        try:
            told += [name] if os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 1) else []
        except OSError:
            pass
return told
"""
    assert tried(ask, body) == []


def test_other_processes_cannot_be_seen_or_traced(ask):
    assert tried(ask, "return sorted(n for n in os.listdir('/proc') if n.isdigit())") == ["1", "2"]
    assert tried(ask, "import ctypes\nreturn ctypes.CDLL(None).ptrace(16, 1, 0, 0)") == -1
    assert tried(ask, "return os.getppid()") == 1


def test_the_first_process_and_the_settings_of_the_kernel_cannot_be_opened(ask):
    assert tried(ask, "os.open('/proc/1/mem', os.O_RDONLY)") == "FileNotFoundError"
    assert tried(ask, "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)") in ("OSError", "PermissionError")


def test_no_server_can_be_reached(ask):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert tried(ask, f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)") == "PermissionError"
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("family", ["AF_UNIX", "AF_INET6", "AF_NETLINK", "AF_VSOCK", "AF_PACKET"])
def test_sockets_cannot_be_made(ask, family):
    assert tried(ask, f"import socket\nsocket.socket(socket.{family}, socket.SOCK_DGRAM)") == "PermissionError"


@pytest.mark.parametrize(
    "body",
    [
        "return os.fork()",
        "return os.forkpty()",
        "import subprocess\nsubprocess.run(['true'])",
        "import multiprocessing as m\np = m.get_context('spawn').Process(target=print)\np.start()",
        "import ctypes\nif ctypes.CDLL(None).vfork() == -1:\n    raise PermissionError",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.memfd_create('hidden')",
        "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000) == -1:\n    raise PermissionError",
    ],
)
def test_processes_and_hidden_memory_cannot_be_made(ask, body):
    assert tried(ask, body) in ("PermissionError", "FileNotFoundError")


def test_nothing_written_outlives_the_run(ask, bundle):
    before = sorted(bundle.rglob("*"))
    body = """
written = []
packages = ("/packages", "/packages/numpy")
for folder in ("/", "/notebook", "/tmp", "/bundle", "/bundle/autograder", "/runner", *packages, "/dev", "/proc"):
    try:
        with open(folder + "/trace", "w") as file:
            file.write("x")
        written.append(folder)
    except OSError:
        pass
return written
"""
    assert tried(ask, body) == ["/notebook", "/tmp"]
    assert tried(ask, "return os.path.exists('/tmp/trace') or os.path.exists('/notebook/trace')") is False
    assert sorted(bundle.rglob("*")) == before


def test_the_number_of_threads_and_files_is_limited(ask):
    source = "import threading, time\nthreading.stack_size(32768)\n"
    many = "def f():\n    while True:\n        threading.Thread(target=time.sleep, args=(9,)).start()"
    outcome = ask(source + many, "f")
    assert outcome.stopped == "started more than 4 threads" or outcome.raised.type == "RuntimeError"
    empty = "import os\ndef f():\n    for n in range(10**9):\n        os.symlink('x', f'/notebook/{n}')"
    assert ask(empty, "f").stopped == "made more than 10000 files"


def test_files_of_several_calls_are_counted_together(submit):
    source = (
        "import os\nmade = []\ndef f():\n    for n in range(500):\n"
        "        made.append(os.symlink('x', f'/tmp/{len(made)}'))\n    return 1"
    )
    result = submit(source, *["f"] * 30, "good", limits=replace(PATIENT, files=5000))
    assert [outcome.stopped for outcome in result.outcomes[:-1]] == [""] * 9 + ["made more than 5000 files"] * 21
    assert result.outcomes[-1].value is not None


def test_disk_space_is_limited(ask):
    body = """
try:
    for i in range(40):
        with open(f"/tmp/{i}", "wb") as file:
            file.write(bytes(4 * 2**20))
except OSError as error:
    return i
"""
    assert 10 <= tried(ask, body) < 20


def test_links_in_the_bundle_lead_nowhere_outside(ask, bundle, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("seed")
    link = bundle / "link"
    link.symlink_to(secret)
    try:
        assert tried(ask, "return open('/bundle/link').read()") == "FileNotFoundError"
    finally:
        link.unlink()


def test_limits_cannot_be_lifted(ask):
    body = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40))"
    assert tried(ask, body) == "ValueError"


def test_threads_end_with_the_run(submit):
    source = (
        "import threading, time\ndef f():\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return 1"
    )
    assert submit(source, "f").outcomes[0].value == 1  # `submit` checks that no process stays behind
