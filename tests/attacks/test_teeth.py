"""The searches work: in a sandbox that is weakened in one way, each finds something."""

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
from tests.attacks.conftest import REPO
from tests.attacks.snooping import CONNECTING, NOTHING, SNOOPING, WRITING
from tests.autograder.sandbox import weaker
from tests.patience import PATIENT

pytestmark = [pytest.mark.attacks, pytest.mark.usefixtures("none_warm")]
BY_NAME = {attack.what: attack for attack in SNOOPING}


@pytest.fixture
def report_text(assignment, bundle, solutions, perfect, course, monkeypatch):
    """report_text(attack, weaken) -> its report as text, after `weaken` has changed bwrap's options."""

    def report_text(attack, weaken, **names):
        whole = bubblewrap.arguments
        monkeypatch.setattr(bubblewrap, "arguments", lambda *a: weaken(whole(*a)))
        names = {"course": str(course), "repo": str(REPO), "tmp": "/notebook", "token": "trace", **names}
        content = dump(notebook(attack, perfect, **names))
        seeds = seeds_of(File(content), assignment.released, secret_seed(course))
        report = grade.grade_submission(File(content), seeds, assignment, bundle, solutions, PATIENT)
        return json.dumps(report.to_json())

    return report_text


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("reads the seed, the gradebook, the sources and other submissions", "CANARY-submission"),
        pytest.param(
            *("walks the whole file system, also through links that it makes", "CANARY-source"),
            marks=pytest.mark.thorough("another way to the same folder"),
        ),
    ],
)
def test_a_course_folder_inside_is_read(report_text, course, what, words):
    assert words in report_text(BY_NAME[what], lambda o: weaker.with_bound(o, course))


def test_a_solution_inside_is_imported(report_text):
    attack = BY_NAME["imports the solutions, the exercises and the keys"]
    assert "attention" in report_text(attack, lambda o: weaker.with_bound(o, REPO)).partition("found ")[2][:200]


def test_the_memory_of_an_uncovered_first_process_is_read(report_text):
    attack = BY_NAME["reads the memory of the processes above it"]
    assert "the memory of process 1" in report_text(attack, lambda o: weaker.uncovered(o, "/proc/1"))


def test_a_leaked_variable_is_read(report_text):
    attack = BY_NAME["reads environments and command lines, also of its parents"]
    assert "CANARY-leak-" in report_text(attack, lambda o: [*o, "--setenv", "SEED", "CANARY-leak-01234567"])


def test_writable_settings_are_opened(report_text):
    assert "/proc/sys/" in report_text(WRITING, lambda o: weaker.writable(o, "/proc"))


def test_a_writable_folder_inside_is_written_to(report_text, tmp_path):
    text = report_text(WRITING, lambda o: weaker.with_bound(o, tmp_path, how="--bind"), tmp=str(tmp_path))
    assert NOTHING not in text and (tmp_path / "trace").exists()


def test_a_server_is_reached_over_a_shared_network(report_text, monkeypatch):
    monkeypatch.setattr(seccomp, "program", lambda: weaker.ALLOW_EVERYTHING)
    with socket.create_server(("127.0.0.1", 0)) as server:
        names = {"port": str(server.getsockname()[1]), "unix": "/nowhere", "abstract": "nobody"}
        assert "CANARY-socket" in report_text(CONNECTING, lambda o: weaker.without(o, "--unshare-net"), **names)


def test_the_canaries_are_planted(course, secret_word):
    planted = [path for path in Path(course).rglob("*") if path.is_file() and b"CANARY-" in path.read_bytes()]
    assert len(planted) == 5 and secret_word.startswith("CANARY-process-")
