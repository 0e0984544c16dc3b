"""A chapter's zip file for Gradescope grades in the folders that its documentation describes, and keeps its secrets."""

import copy
import json
import os
import re
import stat
import subprocess
import zipfile
from typing import Literal

import msgspec
import pytest

from autograder.cli.main import main
from autograder.course.handout import Handout, check_cell
from autograder.course.seed import secret_seed
from autograder.gradescope.package import write_package
from autograder.gradescope.results import SAME_FOR_ALL
from autograder.gradescope.results import results as results_of
from autograder.grading.report import Report
from autograder.layout import chapter_names, exercise_names
from autograder.scores.voids import ByHand, Void, Voids, save_voids
from check.faults import Verdict
from check.scoring import Aspect, Result
from check.weights_file import WEIGHTS
from tests.autograder.gradescope.container import Container, open_to_all
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
Format = Literal["text", "html", "simple_format", "md", "ansi"]
Visibility = Literal["hidden", "after_due_date", "after_published", "visible"]


class Test(msgspec.Struct, forbid_unknown_fields=True):
    """What the documentation allows in a test of results.json."""

    __test__ = False
    score: float | None = None
    max_score: float | None = None
    status: Literal["passed", "failed"] | None = None
    name: str = ""
    number: str = ""
    output: str = ""
    output_format: Format = "text"
    visibility: Visibility = "visible"


class Results(msgspec.Struct, forbid_unknown_fields=True):
    """What the documentation allows in results.json."""

    score: float
    output: str
    output_format: Format
    stdout_visibility: Visibility
    execution_time: float = 0
    tests: list[Test] = []

    def test(self, name):
        return next(test for test in self.tests if test.name == name)


@pytest.fixture(scope="module")
def package(made_once, released_course):
    """Return the zip file of the released chapter."""

    def make(folder):
        subprocess.run(["cp", "-a", released_course, folder / "course"], check=True)
        assert main(["release", CHAPTER, "--to", "gradescope", "--course", str(folder / "course")]) == 0

    return made_once("gradescope", make) / "course" / "gradescope" / f"{CHAPTER}_autograder.zip"


@pytest.fixture(scope="module")
def container(package, tmp_path_factory):
    return Container(tmp_path_factory.mktemp("gradescope") / "autograder", package)


@pytest.fixture
def graded(container):
    """Return graded(content, name), which hands a file in and returns the results."""

    def grade(content, name=f"{CHAPTER}.ipynb"):
        container.hand_in({name: content})
        results, printed = container.run()
        assert "Graded in the sandbox 'bwrap'." in printed
        return msgspec.convert(results, Results)

    return grade


def test_a_perfect_notebook_earns_all_points_under_any_name(graded, contents):
    results = graded(contents["perfect"], "my notebook.ipynb")
    assert results.score == 22 == sum(test.max_score or 0 for test in results.tests)
    assert all(test.status == "passed" for test in results.tests)
    assert results.stdout_visibility == "hidden"


def test_a_wrong_notebook_gets_the_explanations_of_check_each_time(graded, contents):
    results, again = graded(contents["mistake-1"]), graded(contents["mistake-1"])
    assert results.tests == again.tests
    softmax = results.test("softmax")
    assert softmax.status == "failed" and softmax.score is None
    assert "Known mistake: normalises over the rows' axis." in softmax.output
    parts = [test for test in results.tests if test.number.startswith(f"{softmax.number}.")]
    assert {test.score for test in parts if test.status == "failed"} == {0}
    assert re.fullmatch(r"\d+ of \d+ cases? pass\.", parts[0].output)
    assert results.score == sum(test.score or 0 for test in results.tests) < 22


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"answers.txt": b"42"}, f"There is no {CHAPTER}.ipynb in the submission; it holds “answers.txt”."),
        ({f"{CHAPTER}.ipynb": b'{"cells": ['}, "The file ends in the middle"),
        ({"a.ipynb": b"{}", "b.ipynb": b"{}"}, "it holds “a.ipynb” and “b.ipynb”"),
    ],
    ids=["no notebook", "half a notebook", "two notebooks"],
)
def test_an_unusable_submission_says_what_to_hand_in(container, files, words):
    container.hand_in(files)
    results = msgspec.convert(container.run()[0], Results)
    assert results.score == 0 and words in results.output
    assert all(test.status == "failed" and not test.score for test in results.tests)


def test_the_zip_file_has_its_scripts_at_the_root_and_no_secret_of_the_course(package, capsys):
    course = package.parent.parent
    assert stat.S_IMODE(package.stat().st_mode) == 0o600
    with zipfile.ZipFile(package) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        modes = {name: archive.getinfo(name).external_attr >> 16 for name in ("setup.sh", "run_autograder")}
    assert set(modes.values()) == {0o755}
    assert not any(str(secret_seed(course)).encode() in content for content in files.values())
    assert not [name for name in files if re.search("gradebook|exercises/backward|^course/(roster|submitted)", name)]
    assert main(["release", CHAPTER, "--to", "gradescope", "--course", str(course)]) == 0
    assert f"{package}, 22 points. Never publish it" in capsys.readouterr().out
    with zipfile.ZipFile(package) as archive:
        assert files == {name: archive.read(name) for name in archive.namelist()}


def test_the_scripts_are_valid_and_every_requirement_has_a_hash(container):
    for script in ("setup.sh", "run_autograder"):
        subprocess.run(["sh", "-n", container.folder / "source" / script], check=True)
    requirements = (container.folder / "source" / "requirements.txt").read_text()
    pins = re.split(r"\n(?=\w)", requirements)
    assert len(pins) > 5 and all("==" in pin and "--hash=sha256:" in pin for pin in pins)
    assert not re.search("^(torch|nbgrader|jupyterlab)==", requirements, re.MULTILINE)


def test_void_and_optional_exercises_count_as_in_the_course(course, contents, tmp_path):
    voids = {"softmax": Void("credit-all", {"ada": ByHand(1.0, None)}), "attention_weights": Void("optional")}
    save_voids(course, CHAPTER, {check_cell(exercise): void for exercise, void in voids.items()})
    package = write_package(course, CHAPTER)
    with zipfile.ZipFile(package.path) as archive:
        assert b"ada" not in archive.read("course/voided.json")
    container = Container(tmp_path / "autograder", package.path)
    container.hand_in({f"{CHAPTER}.ipynb": contents["blank"]})
    results = msgspec.convert(container.run()[0], Results)
    assert results.score == results.test("softmax").max_score > 0
    assert package.points == sum(test.max_score or 0 for test in results.tests)
    assert "optional, not graded" in results.test("attention_weights").output


def test_hidden_cases_that_all_files_share_and_texts_wait():
    """Students who saw points of the same cases at once could hand in again until they fit."""
    aspects = (Aspect("order", 3.0, 1.5, 0, 1),)
    verdict = Verdict(False, "value", "5 of 10 pairs are in the right order.")
    made = [Result(name, 1.5, 3.0, aspects, verdict, "hidden", (), "Runs") for name in ("predicted_ablations", "gain")]
    text = {"grade_id": "report", "points": 12, "solution": True, "grade": True}
    released = Handout("10_project", {"cells": [{"id": "report", "metadata": {"nbgrader": text}}]})
    report = Report("", "10_project", "", (), (), tuple(made), 1.0, {})
    results = msgspec.convert(results_of(report, released, Voids()), Results)
    late, late_aspect, now, aspect, by_hand = results.tests
    assert {late.visibility, late_aspect.visibility} == {"after_due_date"}
    assert {now.visibility, aspect.visibility} == {"visible"}
    assert (aspect.score, aspect.max_score, results.score) == (1.5, 3.0, 3.0)
    assert by_hand.score is None and "12 points" in by_hand.output


def test_the_names_of_exercises_that_wait_are_real():
    assert {name for chapter in chapter_names() for name in exercise_names(chapter)} >= SAME_FOR_ALL - {WEIGHTS}


ATTACKS = {
    "softmax": "open({folder!r} + '/source/course/secret_seed').read()",
    "attention_weights": "open({folder!r} + '/results/results.json', 'w')",
    "attention": "import os; os.kill(os.getppid(), 0)",
    "repaired_attention": "import socket; socket.socket()",
    "copies_predecessor": "import os; os.fork() or os._exit(0)",
}


@pytest.fixture(scope="module")
def docker(package, tmp_path_factory):
    """Return a container that allows no namespaces."""
    if os.geteuid() != 0:
        pytest.skip("NOT ROOT: only root can run code as another user, as on Gradescope. Run the tests as root.")
    python = open_to_all()
    if python is None:
        pytest.skip(
            "NO PYTHON FOR OTHERS: its folder is closed to other users. Install Python of this version in /usr."
        )
    return Container(tmp_path_factory.mktemp("docker") / "autograder", package, python)


def test_without_namespaces_code_runs_as_another_user(docker, contents):
    docker.hand_in({f"{CHAPTER}.ipynb": contents["perfect"]})
    results, printed = docker.run_in_docker()
    assert "The sandbox 'bwrap' cannot be used." in printed and "Graded in the sandbox 'user'." in printed
    assert results["score"] == 22


def test_another_user_reaches_neither_secrets_nor_results(docker, perfect):
    notebook = copy.deepcopy(perfect)
    for cell in notebook["cells"]:
        if attack := ATTACKS.get(cell["metadata"].get("nbgrader", {}).get("grade_id")):
            cell["source"] = f"{attack.format(folder=str(docker.folder))}\n{''.join(cell['source'])}"
    docker.hand_in({f"{CHAPTER}.ipynb": json.dumps(notebook).encode()})
    results, _ = docker.run_in_docker()
    assert results["score"] == 22
    assert set(re.findall(r"The cell (\w+) raised PermissionError", results["output"])) == ATTACKS.keys()


def test_a_container_that_allows_neither_is_refused(docker, contents):
    docker.hand_in({f"{CHAPTER}.ipynb": contents["perfect"]})
    results, printed = docker.run_in_docker(rights=["CHOWN", "DAC_OVERRIDE"])
    assert "The sandbox 'user' cannot be used." in printed
    assert msgspec.convert(results, Results).score == 0 and "tell your instructor" in results["output"]
