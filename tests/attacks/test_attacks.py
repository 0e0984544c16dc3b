"""Every attack gets only the points of its honest exercise, reads nothing, and does not harm the next submission."""

import json
import os
import re
import socket
import subprocess
import sys

import pytest

from tests.attacks.attack import HONEST_POINTS, notebook
from tests.attacks.breaking import BREAKING
from tests.attacks.channel import CHANNEL
from tests.attacks.conftest import REPO, SMALL, STOPPED, WAITED, canary
from tests.attacks.dressing import DRESSING, only_honest
from tests.attacks.forging import FORGING
from tests.attacks.snooping import CONNECTING, SNOOPING, WRITING
from tests.choosing import thinned

pytestmark = pytest.mark.attacks


# A quick run tries these, one for each thing that stops an attack: the pipe, the judge, a limit, a namespace.
QUICK = {
    "patches NumPy's comparisons",
    "returns an object that is equal to everything",
    "rewrites every cell's text before it runs",
    "replaces itself by another program that replies for it",
    "sends a pickle that runs a program",
    "forks, in six ways",
    "kills everything it can see",
    "swallows every exception that would stop it",
    "takes memory until there is none",
    "imports the solutions, the exercises and the keys",
    "reads the memory of the processes above it",
}
MORE = "more attacks that the same walls stop"


def named(attacks):
    attacks = list(attacks)
    quick = [attack for attack in attacks if attack.what in QUICK]
    return pytest.mark.parametrize("attack", thinned(attacks, quick, MORE), ids=[attack.what for attack in attacks])


@pytest.fixture
def attacked(graded, perfect, course, tmp_path, token, assignment):
    """attacked(attack) -> its report as text, after checking that it holds only the honest points and no secret."""

    def attacked(attack, **names):
        names = {"course": str(course), "repo": str(REPO), "tmp": str(tmp_path), "token": token, **names}
        limits = STOPPED if attack.endless else WAITED if attack.waits else SMALL
        report = graded(notebook(attack, perfect, **names), limits)
        text = json.dumps(report.to_json(), ensure_ascii=False)
        assert report.earned == HONEST_POINTS, text
        assert attack.words in text
        assert not re.search(r"\\u00[01]|\u202e", text), "a terminal would obey this"
        assert "CANARY" not in text and (course / "secret_seed").read_text().strip() not in text
        return text

    return attacked


@named(FORGING)
def test_forging_gains_nothing(attacked, attack):
    attacked(attack)


@named(CHANNEL)
def test_forged_replies_are_not_accepted(attacked, attack):
    attacked(attack)


@named(BREAKING)
def test_breaking_code_affects_only_itself(attacked, attack):
    attacked(attack)


@named(SNOOPING)
def test_snooping_reads_nothing(attacked, attack):
    assert "The cell" not in attacked(attack), "its cell did not run to the end"


PARENT = """\
import sys
from pathlib import Path
from autograder.sandbox import Call, Cell, run
from tests.patience import PATIENT
word, bundle = sys.argv[1:]
cell = Cell("it", "import numpy as np\\n" + sys.stdin.read())
print(run([cell], [Call("attempt", {})], bundle=Path(bundle), limits=PATIENT))
"""


@named(attack for attack in SNOOPING if "above it" in attack.what or "environments" in attack.what)
def test_the_process_of_the_grader_cannot_be_read(attack, bundle):
    word = canary("parent")
    parent = subprocess.run(
        [sys.executable, "-c", PARENT, word, str(bundle)],
        input=attack.source, cwd=REPO, env=os.environ | {"SECRET": word}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert attack.words in parent.stdout and "CANARY" not in parent.stdout


def test_nothing_can_be_written_outside(attacked):
    # The attack may write to two folders in memory. It reports every other place that it can write to.
    assert "The cell" not in attacked(WRITING)


FORGED_VERDICTS = [change for change in DRESSING if change.__name__ in ("brings_its_verdicts", "deletes_the_tests")]


@pytest.mark.parametrize(
    "change", thinned(DRESSING, FORGED_VERDICTS, "other metadata"), ids=[change.__name__ for change in DRESSING]
)
def test_what_a_notebook_says_about_itself_earns_nothing(graded, perfect, change):
    dressed = only_honest(perfect)
    change(dressed)
    assert graded(dressed).earned == HONEST_POINTS


def test_no_socket_reaches_a_server(attacked, tmp_path, token):
    path, name = str(tmp_path / "s"), token.replace("trace", "canary")
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        unix.bind(path)
        abstract.bind(f"\0{name}")
        for server in (unix, abstract):
            server.listen()
        attacked(CONNECTING, port=str(tcp.getsockname()[1]), unix=path, abstract=name)
        for server in (tcp, unix, abstract):
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept()
