"""A cluster with certificates, started as `autograder certificates` says: what only its machines can do."""

import os
import re
import shlex
import socket
import ssl
from contextlib import contextmanager

import psutil
import pytest
from distributed import Client

from autograder.cli.main import main
from autograder.grading import certificates, cluster
from tests.autograder.grading.dask_processes import dask_processes, end, free_port
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the cluster's certificates; those of another cluster are beside it, in "other"."""
    place = tmp_path_factory.mktemp("certificates")
    certificates.make(place / "other")
    return place / "own"


@pytest.fixture(scope="module")
def started(folder, tmp_path_factory):
    """The scheduler's process and address, and worker(*options) -> a context manager for one of its workers."""
    with pytest.MonkeyPatch.context() as patch:
        printed = []
        patch.setattr("builtins.print", printed.append)
        assert main(["certificates", str(folder)]) == 0
    commands = dict(re.findall(r"^  dask (scheduler|worker) (.+)$", printed[0], re.M))
    port = free_port()
    address = f"tls://127.0.0.1:{port}"
    with dask_processes(tmp_path_factory.mktemp("tls") / "elsewhere") as start:
        scheduler = start("scheduler", *shlex.split(commands["scheduler"]), "--host=tls://127.0.0.1", f"--port={port}")

        @contextmanager
        def worker(*options):
            options = [*shlex.split(commands["worker"].replace("tls://HOST:8786", address)), *options]
            process = start("worker", *options, "--host=127.0.0.1", "--no-nanny", "--nthreads=1")
            yield process
            end(process)

        yield scheduler, address, worker


def grade(course, address, tls):
    return main(["grade", CHAPTER, "--course", str(course), "--scheduler", address, "--tls", str(tls)])


def test_a_cluster_with_certificates_grades(course, hand_in, contents, started, folder, capsys):
    scheduler, address, worker = started
    hand_in("ada", contents["perfect"])
    hand_in("bob", contents["truncated"])
    with worker() as process:
        assert grade(course, address, folder) == 0
        listening = {
            connection.laddr.ip
            for part in (scheduler, process)
            for connection in psutil.Process(part.pid).net_connections()
            if connection.status == psutil.CONN_LISTEN
        }
    scores = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if line.startswith(("ada", "bob"))]
    assert scores == ["22", "0"] and listening == {"127.0.0.1"}


@pytest.mark.parametrize("whose", [None, "other"])
def test_a_connection_without_the_certificate_is_refused(whose, started, folder):
    """This client does not check the certificate of the scheduler."""
    _, address, _ = started
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if whose:
        context.load_cert_chain(folder.with_name(whose) / "certificate.pem", folder.with_name(whose) / "key.pem")
    plain = socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=10)
    with plain, pytest.raises((ssl.SSLError, ConnectionError)), context.wrap_socket(plain) as wrapped:
        wrapped.send(b"\0" * 16)
        wrapped.recv(1)


def test_a_connection_without_tls_is_refused(started):
    with pytest.raises(OSError, match="Connection reset|closed"):
        Client(started[1].replace("tls://", "tcp://"), timeout=3)


def test_certificates_of_another_cluster_are_named(course, hand_in, contents, started, folder, capsys):
    hand_in("ada", contents["perfect"])
    assert grade(course, started[1], folder.with_name("other")) == 2
    assert f"{started[1]} has other certificates than {folder.with_name('other')}" in capsys.readouterr().err


def test_a_cluster_without_workers_says_how_to_start_one(
    course, hand_in, contents, started, folder, capsys, monkeypatch
):
    monkeypatch.setattr(cluster, "WAIT", 3)
    hand_in("ada", contents["perfect"])
    assert grade(course, started[1], folder) == 2
    assert f"`{certificates.worker_command(started[1], folder)}`" in capsys.readouterr().err


# A machine with the certificate can run any worker. This one answers each submission in a different hostile way.
HOSTILE = """
import distributed
from autograder.grading import replies

if replies.call_and_encode.__module__ == replies.__name__:  # Dask loads this file twice
    honest = replies.call_and_encode

class Hostile(Exception):
    def __reduce__(self):
        return exec, ("import os; open(f'FOLDER/{os.getpid()}', 'w')",)

def call_and_encode(function, *arguments):
    raw = honest(function, *arguments)
    distributed.print("printed by a worker")
    distributed.warn("printed by a worker")
    if function.__name__ != "grade_file":
        return raw
    what = len(arguments[0].raw) - SIZE
    if what == 1:
        return Hostile()
    if what == 2:
        raise Hostile()
    if what == 3:
        return raw.decode()
    if what == 4:
        return raw.replace(b'"earned": 4.0', b'"earned": 400.0')
    return raw

replies.call_and_encode = call_and_encode
"""


def test_the_replies_of_a_hostile_worker_run_nothing_here(course, hand_in, contents, started, folder, tmp_path, capsys):
    _, address, worker = started
    ran = tmp_path / "ran"
    ran.mkdir()
    for number, student in enumerate(("honest", "object", "raises", "text", "generous")):
        hand_in(student, contents["perfect"] + b"\n" * number)
    source = HOSTILE.replace("FOLDER", str(ran)).replace("SIZE", str(len(contents["perfect"])))
    (tmp_path / "hostile.py").write_text(source)
    with worker("--preload", str(tmp_path / "hostile.py")) as process:
        assert grade(course, address, folder) == 2
    printed = capsys.readouterr()
    # Dask tries to unpickle an exception on the machine that raised it: there the code does run.
    assert [file.name for file in ran.iterdir()] == [str(process.pid)] and process.pid != os.getpid()
    assert "printed by a worker" not in printed.out + printed.err
    assert re.search("^honest .* 22$", printed.out, re.M) and "1 graded" in printed.out
    assert "object and raises: NoReport: a worker could not start" in printed.err
    assert "text: NoReport: a worker answered with something that is not a reply" in printed.err
    assert "generous: NoReport: a worker answered with an impossible score for softmax" in printed.err
