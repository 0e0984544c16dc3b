"""Several attempts of a student: the last graded one counts, or the best one if the course is configured so."""

from contextlib import ExitStack

import pytest
from nbgrader.apps.api import NbGraderAPI

from autograder.cli.main import main
from autograder.course.lock import course_lock
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.plugin import SubmissionExporter
from autograder.scores.hand_in_times import TIMESTAMP
from tests.autograder.gradebook.graded_course import (
    exported,
    formgrader_of,
    grade_by_hand,
    graded,
    open_gradebook,
    page,
)
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading

FIRST, SECOND, THIRD = "2026-02-03 10:00:00", "2026-02-03 12:00:00", "2026-02-04 10:00:00"


@pytest.fixture
def attempt(course, hand_in, contents):
    """attempt("perfect", when) -> the row of ada, who has handed in this file and was graded."""

    def grade(example, when, **options):
        path = hand_in("ada", contents[example])
        path.with_name(TIMESTAMP).write_text(f"{when} UTC", encoding="utf-8")
        return graded(course, **options)["ada"]

    return grade


@pytest.fixture
def best(course):
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write('\nc.Attempts.counts = "best"\n')


def recorded(course):
    """Return score, penalty and time of ada's submission in nbgrader's own tables."""
    with open_gradebook(course) as gradebook:
        submission = gradebook.find_submission(CHAPTER, "ada")
        return submission.score, submission.late_submission_penalty or 0, str(submission.timestamp)


def test_without_configuration_the_last_attempt_counts(course, attempt):
    attempt("perfect", FIRST)
    attempt("mistake-1", SECOND)
    assert recorded(course) == (18, 0, SECOND)
    assert "attempt counts" not in page(course) and not (course / "attempts").exists()


def test_the_best_attempt_counts_wherever_a_score_is_shown(course, best, attempt, tmp_path, capsys):
    attempt("mistake-1", FIRST)
    assert recorded(course) == (18, 0, FIRST) and "attempt counts" not in page(course)
    attempt("perfect", SECOND)
    attempt("blank", THIRD)
    assert recorded(course) == (22, 0, SECOND)
    assert float(exported(course, tmp_path)["ada"]["score"]) == 22
    sentence = "The best attempt counts, which is number 2 of 3. The attempts earn 18, 22, 0 points."
    assert sentence in page(course) and "22 of 22 points" in page(course)
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    assert f"ada: {sentence}" in capsys.readouterr().out
    assert main(["report", CHAPTER, "--course", str(course)]) == 0
    assert any(sentence in html.read_text(encoding="utf-8") for html in (course / "report").rglob("*.html"))


def limited(course, limit):
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f"\nc.Attempts.limit = {limit}\n")


def test_only_the_first_attempts_count(course, best, attempt):
    limited(course, 2)
    attempt("blank", FIRST)
    attempt("mistake-1", SECOND)
    assert attempt("perfect", THIRD, dry_run=True) and recorded(course) == (18, 0, SECOND)
    attempt("perfect", THIRD)
    assert recorded(course) == (18, 0, SECOND)
    sentence = "number 2 of 2. The attempts earn 0, 18 points. Later attempts do not count."
    assert sentence in page(course)
    limited(course, 1)
    graded(course)
    assert recorded(course) == (0, 0, FIRST) and "Only the first attempt counts." in page(course)
    limited(course, None)
    graded(course)
    assert recorded(course) == (22, 0, THIRD)


@pytest.mark.parametrize("limit", ["0", '"five"'])
def test_a_limit_that_is_no_number_is_refused(course, best, attempt, capsys, limit):
    limited(course, limit)
    (course / "submitted" / "ada" / CHAPTER).mkdir(parents=True)
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    assert "c.Attempts.limit a number from 1 on, or None" in capsys.readouterr().err


def test_a_second_run_changes_nothing(course, best, attempt):
    attempt("perfect", FIRST)
    attempt("mistake-1", SECOND)
    before = page(course)
    assert not graded(course)["ada"].written and page(course) == before and recorded(course) == (22, 0, FIRST)


def test_each_attempt_has_the_penalty_of_its_own_time(course, best, attempt):
    due = ["due", CHAPTER, "--at", "2026-02-03 11:00+00:00", "--course", str(course)]
    assert main([*due, "--late", "50%", "2026-02-10"]) == 0
    attempt("mistake-1", FIRST)
    attempt("perfect", SECOND)
    assert recorded(course) == (18, 0, FIRST)  # 18 points are more than 11
    assert "The attempts earn 18, 11 points." in page(course)
    assert main([*due, "--late", "96%", "2026-02-10"]) == 0
    assert graded(course)["ada"].why == "another attempt counts"
    assert recorded(course) == (22, pytest.approx(0.88), SECOND)


def test_the_same_file_again_keeps_its_first_time(course, best, attempt):
    due = ["due", CHAPTER, "--at", "2026-02-03 11:00+00:00", "--late", "50%", "2026-02-10", "--course", str(course)]
    assert main(due) == 0
    attempt("perfect", FIRST)
    attempt("perfect", SECOND)
    assert recorded(course) == (22, 0, FIRST) and "attempt counts" not in page(course)


@pytest.mark.thorough("test_manual_scores keeps it in a new run")
def test_a_score_given_by_hand_counts_in_every_attempt(course, best, attempt):
    attempt("mistake-1", FIRST)
    grade_by_hand(course, "check-softmax", manual_score=4)
    attempt("perfect", SECOND)
    assert recorded(course)[0] == 22
    attempt("blank", THIRD)
    assert recorded(course)[0] == 22 and "The attempts earn 22, 22, 4 points." in page(course)


@pytest.mark.thorough("choosing and grading again are each tested")
def test_regrading_chooses_again(course, best, attempt):
    attempt("perfect", FIRST)
    attempt("mistake-1", SECOND)
    graded(course, force=True)
    assert recorded(course) == (22, 0, FIRST)
    assert main(["void", "softmax", "--credit-all", "--course", str(course)]) == 0
    graded(course)
    assert recorded(course) == (22, 0, SECOND)  # both attempts earn 22 now


@pytest.mark.thorough("the best attempt and a dry run are each tested")
def test_a_dry_run_shows_the_best_attempt_and_keeps_none(course, best, attempt, hand_in, contents, capsys):
    attempt("mistake-1", FIRST)
    hand_in("ada", contents["perfect"])
    assert main(["grade", CHAPTER, "--dry-run", "--course", str(course)]) == 0
    assert "18 of 22" in (out := capsys.readouterr().out) and "22 of 22" in out
    attempt("perfect", SECOND)
    hand_in("ada", contents["blank"])
    assert main(["grade", CHAPTER, "--dry-run", "--course", str(course)]) == 0
    assert "0 students would get a different score" in capsys.readouterr().out
    assert len(list((course / "attempts").rglob("*.ipynb"))) == 2


def test_a_file_without_content_replaces_no_attempt(course, best, attempt, hand_in):
    attempt("mistake-1", FIRST)
    hand_in("ada", b"")
    graded(course)
    assert recorded(course)[0] == 18 and "attempt counts" not in page(course)


def test_another_word_in_the_configuration_is_refused(course, attempt, capsys):
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write('\nc.Attempts.counts = "first"\n')
    attempt_of = course / "submitted" / "ada" / CHAPTER
    attempt_of.mkdir(parents=True)
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    assert 'c.Attempts.counts in nbgrader_config.py must be "last" or "best"' in capsys.readouterr().err


def test_nbgraders_own_commands_count_the_best_attempt_too(course, best, attempt, hand_in, contents, run):
    run("due", CHAPTER, "--at", "2026-02-03 11:00+00:00", "--late", "50%", "2026-02-10")
    attempt("perfect", FIRST)
    path = hand_in("ada", contents["mistake-1"])
    path.with_name(TIMESTAMP).write_text(f"{SECOND} UTC", encoding="utf-8")
    formgrader = formgrader_of(course)
    assert formgrader.autograde(CHAPTER, "ada")["success"]
    assert recorded(course) == (22, 0, FIRST)
    assert formgrader.generate_feedback(CHAPTER, "ada")["success"]
    assert "number 1 of 2. The attempts earn 22, 9 points." in page(course)
    assert not graded(course)["ada"].written  # writing would change nothing


def test_nbgraders_own_commands_replace_no_submission_while_another_command_runs(
    course, best, attempt, hand_in, contents, monkeypatch
):
    attempt("perfect", FIRST)
    path = hand_in("ada", contents["mistake-1"])
    directory, real = open_coursedir(course, CHAPTER), SubmissionExporter._graded
    formgrader = NbGraderAPI(directory, config=directory.config)
    with ExitStack() as locks:
        monkeypatch.setattr(
            SubmissionExporter, "_graded", lambda *of: locks.enter_context(course_lock(course)) or real(*of)
        )
        assert "another command is running" in formgrader.autograde(CHAPTER, "ada")["log"]
    assert path.read_bytes() == contents["mistake-1"]
