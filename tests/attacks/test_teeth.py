"""The searches do find what there is: in a sandbox with one wall taken away, each brings something home."""

import json
import socket
from pathlib import Path

import pytest

from autograder.course.seed import secret_seed
from autograder.grading import grade
from autograder.grading.assignment import seeds_of
from autograder.grading.submitted_file import File
from autograder.sandbox import bubblewrap, seccomp
from tests.attacks.attack import dump, notebook
from tests.attacks.conftest import HOUSE
from tests.attacks.snooping import CONNECTING, NOTHING, SNOOPING, WRITING
from tests.autograder.sandbox import weaker
from tests.patience import PATIENT

pytestmark = pytest.mark.attacks
BY_NAME = {attack.what: attack for attack in SNOOPING}


@pytest.fixture
def says(assignment, bundle, solutions, perfect, course, monkeypatch):
    """says(attack, weaken) -> what its report says when bwrap's options are changed by `weaken`."""

    def says(attack, weaken, **names):
        whole = bubblewrap.arguments
        monkeypatch.setattr(bubblewrap, "arguments", lambda *a: weaken(whole(*a)))
        names = {"course": str(course), "house": str(HOUSE), "tmp": "/notebook", "token": "left", **names}
        content = dump(notebook(attack, perfect, **names))
        seeds = seeds_of(File(content), assignment.released, secret_seed(course))
        report = grade.grade_submission(File(content), seeds, assignment, bundle, solutions, PATIENT)
        return json.dumps(report.to_json())

    return says


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("reads the seed, the gradebook, the sources and other submissions where they lie", "CANARY-submission"),
        ("walks the whole file system, through links of its own making too", "CANARY-source"),
    ],
)
def test_a_course_that_is_bound_is_read(says, course, what, words):
    assert words in says(BY_NAME[what], lambda o: weaker.with_bound(o, course))


def test_a_solution_that_is_bound_is_imported(says):
    attack = BY_NAME["imports the solutions, the exercises and the keys"]
    assert "attention" in says(attack, lambda o: weaker.with_bound(o, HOUSE)).partition("found ")[2][:200]


def test_the_memory_of_the_first_process_is_read(says):
    attack = BY_NAME["reads the memory of the processes above it"]
    assert "the memory of process 1" in says(attack, lambda o: weaker.uncovered(o, "/proc/1"))


def test_variables_are_read(says):
    attack = BY_NAME["reads environments and command lines, its parents' too"]
    assert "CANARY-leak-" in says(attack, lambda o: [*o, "--setenv", "SEED", "CANARY-leak-01234567"])


def test_settings_are_opened(says):
    assert "/proc/sys/" in says(WRITING, lambda o: weaker.writable(o, "/proc"))


def test_a_folder_that_is_bound_is_written_to(says, tmp_path):
    said = says(WRITING, lambda o: weaker.with_bound(o, tmp_path, how="--bind"), tmp=str(tmp_path))
    assert NOTHING not in said and (tmp_path / "left").exists()


def test_a_server_is_reached(says, monkeypatch):
    monkeypatch.setattr(seccomp, "program", lambda: weaker.ALLOW_EVERYTHING)
    with socket.create_server(("127.0.0.1", 0)) as server:
        names = {"port": str(server.getsockname()[1]), "unix": "/nowhere", "abstract": "nobody"}
        assert "CANARY-socket" in says(CONNECTING, lambda o: weaker.without(o, "--unshare-net"), **names)


def test_the_canaries_are_where_one_would_look(course, secret_word):
    planted = [path for path in Path(course).rglob("*") if path.is_file() and b"CANARY-" in path.read_bytes()]
    assert len(planted) == 5 and secret_word.startswith("CANARY-process-")
