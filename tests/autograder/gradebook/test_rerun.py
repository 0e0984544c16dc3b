"""A second run: what it writes again and why, dry runs, and two runs at the same time."""

import shutil
import threading

import grimp
import pytest
from filelock import FileLock

from autograder.cli.main import main
from autograder.course.lock import LOCK_TIMEOUT, course_lock
from autograder.gradebook import write
from autograder.grading import assignment
from tests.autograder.gradebook.graded_course import computed_scores, formgrader_of, graded, open_gradebook
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
OTHER_FOLDERS = pytest.mark.thorough("the same for every folder")


def total(course, student):
    return sum(computed_scores(course)[student].values())


def test_a_new_submission_is_graded_again(ada, hand_in, contents):
    hand_in("ada", contents["mistake-1"])
    assert graded(ada)["ada"].why == "handed in again"
    assert total(ada, "ada") == 18


@pytest.mark.thorough("a second run reuses reports, too")
def test_an_older_file_submitted_again_is_written_from_its_report(ada, hand_in, contents):
    hand_in("ada", contents["mistake-1"])
    graded(ada)
    hand_in("ada", contents["perfect"])
    row = graded(ada)["ada"]
    assert row.reused and row.written
    assert total(ada, "ada") == 22


def test_another_seed_regrades_and_is_named(ada):
    (ada / "secret_seed").unlink()
    assert graded(ada)["ada"].why == "the secret seed changed"


@pytest.mark.thorough("another part of the same digest")
def test_another_environment_regrades_and_is_named(ada, monkeypatch):
    before = assignment.platform.python_version()
    monkeypatch.setattr(assignment.platform, "python_version", lambda: "3.99.0")
    row = graded(ada)["ada"]
    assert row.why == f"Python {before} became 3.99.0" and not row.reused


@pytest.mark.thorough("another part of the environment")
def test_another_pytorch_regrades_and_is_named(ada, monkeypatch):
    before = assignment.installed_version("torch")
    monkeypatch.setattr(assignment, "installed_version", lambda package: "3.99.0")
    assert graded(ada)["ada"].why == f"PyTorch {before} became 3.99.0"


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        *(pytest.param(folder, "the grader changed", marks=OTHER_FOLDERS) for folder in assignment.DECIDING),
        ("autograder/exercises", "the exercises changed"),
    ],
)
def test_a_change_in_any_folder_that_decides_regrades_and_is_named(ada, folder, why, tmp_path, monkeypatch):
    for package in ("autograder", "check", "solutions"):
        shutil.copytree(assignment.REPO / package, tmp_path / package)
    monkeypatch.setattr(assignment, "REPO", tmp_path)
    assert graded(ada)["ada"].why == ""
    deepest = sorted((tmp_path / folder).rglob("*.py"))[-1]
    deepest.write_text(deepest.read_text(encoding="utf-8") + "# another\n", encoding="utf-8")
    assert graded(ada)["ada"].why == why


def test_all_code_that_grading_runs_is_in_a_folder_that_decides():
    graph = grimp.build_graph("autograder", "check")
    run = graph.find_upstream_modules("autograder.grading.worker") | {"autograder.grading.worker"}
    rooms = {"/".join(name.split(".")[:2]) if name.startswith("autograder.") else "check" for name in run}
    # The exercises have a digest of their own. `layout` and `errors` do not affect scores.
    assert rooms - {"autograder/exercises", "autograder/layout", "autograder/errors"} == set(assignment.DECIDING)


@pytest.mark.thorough("another part of the same digest")
def test_another_release_regrades_and_is_named(ada):
    notebook = ada / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    notebook.write_text(notebook.read_text(encoding="utf-8").replace("softmax", "Softmax", 1), encoding="utf-8")
    assert graded(ada)["ada"].why == "the release changed"


def test_a_release_of_another_version_is_not_regraded_and_loses_nothing(ada, capsys):
    notebook = ada / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    notebook.write_text(
        notebook.read_text(encoding="utf-8").replace("check-softmax", "check-soft_max"), encoding="utf-8"
    )
    assert main(["grade", CHAPTER, "--course", str(ada)]) == 2
    assert "the released 01_attention asks for soft_max" in capsys.readouterr().err
    assert total(ada, "ada") == 22


def test_deleted_reports_are_made_again(ada):
    for report in (ada / "reports" / CHAPTER).iterdir():
        report.unlink()
    row = graded(ada)["ada"]
    assert not row.reused and not row.written


def test_a_half_written_feedback_page_is_written_again(ada):
    page = ada / "feedback/ada" / CHAPTER / f"{CHAPTER}.html"
    whole = page.read_bytes()
    page.write_bytes(whole[:1000])
    graded(ada)
    assert page.read_bytes() == whole


# -------------------------------------------------------------------------------------------- dry run


def test_a_dry_run_shows_which_scores_would_change_and_writes_nothing(ada, hand_in, contents, capsys):
    before = {path: path.read_bytes() for path in ada.rglob("*") if path.is_file() and "reports" not in path.parts}
    hand_in("ada", contents["mistake-1"])
    hand_in("bob", contents["perfect"])
    assert main(["grade", CHAPTER, "--course", str(ada), "--dry-run"]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert ["ada", "softmax", "4", "0", "handed", "in", "again"] in lines
    assert ["bob", "softmax", "none", "4", "new"] in lines
    assert "2 students would get a different score, 0 the same. Nothing was written." in out
    for path, content in before.items():
        assert "submitted" in path.parts or path.read_bytes() == content
    assert not (ada / "autograded/bob").exists() and not (ada / "feedback/bob").exists()


def test_every_score_can_be_replayed(ada, capsys):
    assert main(["grade", CHAPTER, "--course", str(ada), "--dry-run", "--force"]) == 0
    assert "0 students would get a different score, 1 the same" in capsys.readouterr().out
    with open_gradebook(ada) as gradebook:
        gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, "ada").auto_score = 1
        gradebook.db.commit()
    assert main(["grade", CHAPTER, "--course", str(ada), "--dry-run", "--force"]) == 0
    assert "1 student would get a different score" in capsys.readouterr().out


def dry_run(course, capsys, *more):
    """Return the dry run's lines about ada, with one space between words."""
    assert main(["grade", CHAPTER, "--course", str(course), "--dry-run", *more]) == 0
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if line.startswith("ada")]


def test_a_dry_run_shows_what_being_late_would_cost(ada, tmp_path, capsys):
    """The penalty and the score are those that grading then writes and the export shows."""
    with (ada / "nbgrader_config.py").open("a") as config:
        config.write('c.LateSubmissionPlugin.penalty_method = "zero"\n')
    (ada / "submitted/ada" / CHAPTER / "timestamp.txt").write_text("2026-02-03 12:00:00 UTC")
    with open_gradebook(ada) as gradebook:
        gradebook.update_or_create_assignment(CHAPTER, duedate="2026-02-03 10:00:00 UTC")
    why = "the due date or the time of handing in changed"
    assert dry_run(ada, capsys) == [f"ada (late) 0 -22 {why}", "ada total 22 of 22 0 of 22"]
    main(["grade", CHAPTER, "--course", str(ada)])
    main(["export", "--course", str(ada), "--output", str(tmp_path / "grades.csv")])
    assert (tmp_path / "grades.csv").read_text().splitlines()[1].split(",")[-4:] == ["22.0", "22.0", "0.0", "22.0"]
    capsys.readouterr()
    assert dry_run(ada, capsys, "--force") == []


def test_a_dry_run_shows_another_maximum_and_keeps_what_was_given_by_hand(ada, capsys):
    with open_gradebook(ada) as gradebook:
        gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, "ada").manual_score = 1
        gradebook.find_grade_cell("check-softmax", CHAPTER, CHAPTER).max_score = 8  # as another release would change it
        gradebook.db.commit()
    assert dry_run(ada, capsys) == ["ada total 19 of 22 19 of 26"]


# -------------------------------------------------------------------------------- at the same time


@pytest.mark.parametrize("command", [["grade", CHAPTER], ["release", CHAPTER], ["collect", CHAPTER, "."]])
def test_a_second_run_at_the_same_time_is_refused(ada, command, capsys):
    with course_lock(ada):
        assert main([*command, "--course", str(ada)]) == 2
    assert "another command is running" in capsys.readouterr().err


def test_the_lock_ends_with_its_run(ada):
    for _ in range(2):
        assert main(["grade", CHAPTER, "--course", str(ada)]) == 0


def test_a_run_waits_a_moment_for_the_lock_of_the_last_one(ada):
    lock = FileLock(ada / ".lock", thread_local=False)
    lock.acquire()
    threading.Timer(LOCK_TIMEOUT / 5, lock.release).start()
    with course_lock(ada):
        assert not lock.is_locked


def test_nbgraders_own_command_is_refused_during_a_run(ada):
    with course_lock(ada):
        done = formgrader_of(ada).autograde(CHAPTER, "ada")
    assert not done["success"] and "another command is running" in done["error"]
    assert formgrader_of(ada).autograde(CHAPTER, "ada")["success"]


def test_a_file_submitted_while_an_older_one_is_graded_waits_for_the_next_run(course, hand_in, contents, monkeypatch):
    hand_in("ada", contents["perfect"])
    whole = write.Writer.write

    def late(writer, *arguments):
        hand_in("ada", contents["mistake-1"])
        return whole(writer, *arguments)

    monkeypatch.setattr(write.Writer, "write", late)
    assert graded(course)["ada"].report.earned == total(course, "ada") == 22
    monkeypatch.undo()
    assert graded(course)["ada"].why == "handed in again"
    assert total(course, "ada") == 18
