"""Every attack gets what its honest work is worth and reads nothing; the next submission is none the worse for it."""

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
from tests.attacks.conftest import HOUSE, SMALL, STOPPED, canary
from tests.attacks.dressing import DRESSING, only_honest
from tests.attacks.forging import FORGING
from tests.attacks.snooping import CONNECTING, SNOOPING, WRITING

pytestmark = pytest.mark.attacks


def named(attacks):
    attacks = list(attacks)
    return pytest.mark.parametrize("attack", attacks, ids=[attack.what for attack in attacks])


@pytest.fixture
def attacked(graded, perfect, course, tmp_path, token, assignment):
    """attacked(attack) -> all that its report says, when it got its honest points and has told no secret."""

    def attacked(attack, **names):
        names = {"course": str(course), "house": str(HOUSE), "tmp": str(tmp_path), "token": token, **names}
        report = graded(notebook(attack, perfect, **names), STOPPED if attack.endless else SMALL)
        said = json.dumps(report.to_json(), ensure_ascii=False)
        assert report.earned == HONEST_POINTS, said
        assert attack.words in said
        assert not re.search(r"\\u00[01]|\u202e", said), "a terminal would obey this"
        assert "CANARY" not in said and (course / "secret_seed").read_text().strip() not in said
        return said

    return attacked


@named(FORGING)
def test_forging_gains_nothing(attacked, attack):
    attacked(attack)


@named(CHANNEL)
def test_forged_replies_are_no_answers(attacked, attack):
    attacked(attack)


@named(BREAKING)
def test_what_breaks_costs_itself_alone(attacked, attack):
    attacked(attack)


@named(SNOOPING)
def test_nothing_can_be_read(attacked, attack):
    assert "The cell" not in attacked(attack), "it did not run to its end"


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
def test_the_process_that_asks_is_not_read(attack, bundle):
    word = canary("parent")
    done = subprocess.run(
        [sys.executable, "-c", PARENT, word, str(bundle)],
        input=attack.source, cwd=HOUSE, env=os.environ | {"SECRET": word}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert attack.words in done.stdout and "CANARY" not in done.stdout


def test_nothing_can_be_written(attacked):
    # Its two folders are in memory, and its own: it says so when it finds that it can write anywhere else.
    assert "The cell" not in attacked(WRITING)


@pytest.mark.parametrize("change", DRESSING, ids=[change.__name__ for change in DRESSING])
def test_what_a_notebook_says_of_itself_counts_for_nothing(graded, perfect, change):
    dressed = only_honest(perfect)
    change(dressed)
    assert graded(dressed).earned == HONEST_POINTS


def test_no_socket_leads_anywhere(attacked, tmp_path, token):
    path = str(tmp_path / "s")
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        unix.bind(path)
        abstract.bind(f"\0canary-{token[5:]}")
        for server in (unix, abstract):
            server.listen()
        attacked(CONNECTING, port=str(tcp.getsockname()[1]), unix=path, abstract=f"canary-{token[5:]}")
        for server in (tcp, unix, abstract):
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept()
