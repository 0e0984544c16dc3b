"""nbgrader's exchange: who owns a submission, which files are collected, and how its feedback is returned."""

import logging
import os
import pwd

import pytest
from nbgrader.exchange import ExchangeFactory
from nbgrader.utils import notebook_hash

from autograder.gradebook import class_run
from autograder.gradebook.coursedir import open_coursedir
from autograder.grading.submitted_file import read_file
from autograder.hub.exchange import CollectFromOwners
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
ME = pwd.getpwuid(os.getuid()).pw_name
NOTEBOOK = f"{CHAPTER}.ipynb"


@pytest.fixture
def exchange(course, tmp_path):
    """Return exchange(step), which runs nbgrader's plugin for "Collect" or another step with our configuration."""
    root = tmp_path / "exchange"
    (root / "default_course" / "inbound").mkdir(parents=True)
    root.chmod(0o777)

    def run(step):
        directory = open_coursedir(course, CHAPTER)
        directory.config.Exchange.root = str(root)
        factory = ExchangeFactory(config=directory.config)
        getattr(factory, step)(coursedir=directory, config=directory.config).start()

    return run


@pytest.fixture
def put(tmp_path, contents):
    """Return put(name), which makes a submission's folder in the exchange. This process's user owns it."""

    def folder(name):
        submission = tmp_path / "exchange/default_course/inbound" / name
        submission.mkdir()
        (submission / NOTEBOOK).write_bytes(contents["perfect"])
        return submission

    return folder


def collected(course):
    return {path.parent.parent.name for path in (course / "submitted").glob(f"*/{CHAPTER}/{NOTEBOOK}")}


def test_a_submission_belongs_to_the_owner_of_its_folder(course, exchange, put):
    put(f"ada+{CHAPTER}+2026-02-03 10:00:00 UTC+b64")
    exchange("Collect")
    assert collected(course) == {ME}


def test_without_accounts_a_submission_belongs_to_the_student_in_its_name(course, exchange, put):
    put(f"ada+{CHAPTER}+2026-02-03 10:00:00 UTC+b64")
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write("c.ExchangeCollect.check_owner = False\n")
    exchange("Collect")
    assert collected(course) == {"ada"}


def test_a_bad_submission_does_not_affect_others(course, exchange, put, tmp_path, contents):
    put(f"{ME}+{CHAPTER}+2026-02-03 10:00:00 UTC+b64")
    put(f"{ME}+{CHAPTER}+soon+b64").joinpath(NOTEBOOK).write_bytes(b"{}")
    (tmp_path / f"exchange/default_course/inbound/{ME}+{CHAPTER}+2026-02-01 10:00:00 UTC+b64").symlink_to("nowhere")
    exchange("Collect")
    assert (course / "submitted" / ME / CHAPTER / NOTEBOOK).read_bytes() == contents["perfect"]


def linked_notebook(folder, solved):
    (folder / NOTEBOOK).unlink()
    (folder / NOTEBOOK).symlink_to(solved)


def linked_folder(folder, solved):
    (folder / NOTEBOOK).unlink()
    folder.rmdir()
    folder.symlink_to(solved.parent)


def named_pipe(folder, solved):
    (folder / NOTEBOOK).unlink()
    os.mkfifo(folder / NOTEBOOK)


def file_of_another_user(folder, solved):
    if os.geteuid():
        pytest.skip("NOT ROOT: a file of another user was not tested.")
    os.chown(folder / NOTEBOOK, 4711, 4711)


@pytest.mark.parametrize("trick", [linked_notebook, linked_folder, named_pipe, file_of_another_user])
def test_only_regular_files_of_the_owner_are_collected(course, exchange, put, trick):
    folder = put(f"{ME}+{CHAPTER}+2026-02-03 10:00:00 UTC+b64")
    trick(folder, course / "source" / CHAPTER / NOTEBOOK)
    exchange("Collect")
    assert collected(course) == set()


def test_a_notebook_that_is_too_large_is_recorded_for_its_page(course, exchange, put):
    folder = put(f"{ME}+{CHAPTER}+2026-02-03 10:00:00 UTC+b64")
    os.truncate(folder / NOTEBOOK, 250_000_000)
    exchange("Collect")
    assert collected(course) == set()
    file = read_file(course / "submitted" / ME / CHAPTER / NOTEBOOK)
    assert file.trouble.startswith(f"{NOTEBOOK} is 250 MB; files of more than 200 MB are not read.")


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: folders of two accounts were not tried.")
def test_a_folder_that_changes_its_owner_is_not_collected(course, exchange, put, monkeypatch):
    """A student who swaps two folders would hand in another student's work."""
    folder = put(f"{ME}+{CHAPTER}+2026-02-03 10:00:00 UTC+b64")
    copy = CollectFromOwners.do_copy

    def swap_then_copy(*arguments):
        os.chown(folder, 4711, 4711)
        os.chown(folder / NOTEBOOK, 4711, 4711)
        return copy(*arguments)

    monkeypatch.setattr(CollectFromOwners, "do_copy", swap_then_copy)
    exchange("Collect")
    assert collected(course) == set()


def test_feedback_is_released_under_the_secret_of_its_submission(course, exchange, hand_in, contents, caplog):
    secrets = {"ada": "0123456789abcdef" * 8, "eve": "../../" + "e" * 122}
    for student, secret in secrets.items():
        folder = hand_in(student, contents["perfect"]).parent
        (folder / "timestamp.txt").write_text("2026-02-03 10:00:00 UTC")
        (folder / "submission_secret.txt").write_text(secret)
    class_run.grade_class(course, CHAPTER)
    with caplog.at_level(logging.WARNING, "traitlets"):
        exchange("ReleaseFeedback")
    (page,) = (course.parent / "exchange/default_course/feedback").iterdir()
    assert page.stem == notebook_hash(secret=secrets["ada"], notebook_id=CHAPTER)
    assert page.read_bytes() == (course / "feedback/ada" / CHAPTER / f"{CHAPTER}.html").read_bytes()
    assert "not released, because these students did not hand in through the exchange: eve" in caplog.text
