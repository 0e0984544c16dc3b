"""Due dates, credit for late work by steps, and extensions, from the command line to the student's page."""

import json
import time
from datetime import datetime, timedelta

import pytest

from autograder.cli.main import main
from autograder.course.roster_file import RosterFile, save_roster
from autograder.errors import UserError
from autograder.layout import REPO
from autograder.scores.late import LateRules, Step, parse_steps, parse_when, sentences
from tests.autograder.gradebook.graded_course import open_gradebook, page
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
NOON = datetime(2026, 2, 3, 12)
END = datetime(2026, 2, 3, 12, 0, 59)


@pytest.fixture(autouse=True)
def zone(monkeypatch):
    """Let the machine be in a zone one hour east of Greenwich."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "<+01>-1")
        time.tzset()
        yield
    time.tzset()


def test_share():
    rules = LateRules((Step(0.5, 100), Step(0.2, 200)))
    assert [rules.share(late) for late in (0, 1, 100, 101, 200, 201)] == [1, 0.5, 0.5, 0.2, 0.2, 0]
    assert LateRules().share(1e9) == 1


def test_the_book_the_help_and_the_page_say_what_late_work_earns(capsys):
    rules = LateRules(parse_steps([("50%", "2026-12-11 23:59")], parse_when("2026-12-04 23:59")))
    day = 24 * 60 * 60
    assert [rules.share(late) for late in (0, 7 * day, 7 * day + 1)] == [1, 0.5, 0]
    assert "50% until" in " ".join(sentences(parse_when("2026-12-04 23:59"), rules))
    assert "and nothing after that" in " ".join(sentences(NOON, rules))
    book = " ".join((REPO / "chapters" / "course.md").read_text(encoding="utf-8").split())
    assert '--at "2026-12-04 23:59" --late 50% "2026-12-11 23:59"' in book
    assert "by the due date earns its whole score. Later work earns the share of the first `--late`" in book
    assert "and nothing after the last one" in book
    with pytest.raises(SystemExit):
        main(["due", "--help"])
    assert "later work earns nothing" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("text", "expected"), [
    ("2026-02-03 13:00:00", NOON), ("2026-02-03T12:00:00+00:00", NOON), ("20260203T130000", NOON),
    ("2026-02-03 13:00", END), ("2026-02-03T12:00+00:00", END), ("20260203T1300", END),
    ("2026-02-03", datetime(2026, 2, 3, 22, 59, 59)), ("20260203", datetime(2026, 2, 3, 22, 59, 59)),
])  # fmt: skip
def test_a_time_without_a_zone_is_the_machines_and_one_without_seconds_is_the_end_of_its_minute(text, expected):
    assert parse_when(text) == expected


@pytest.mark.parametrize("text", ["9999-12-31T23:59-05:00", "0001-01-01T00:00+01:00"])
def test_a_time_that_utc_does_not_have_is_refused(text):
    with pytest.raises(UserError, match="is not a time"):
        parse_when(text)


STEPS = ["--late", "50%", "2026-02-05 13:00", "--late", "20", "2026-02-10 13:00"]


def late_class(course, hand_in, contents):
    """Let four students hand in their perfect notebooks: in time, then one hour, three days and a year late."""
    for student, when in (
        ("ada", "02-03 11:00"),
        ("bob", "02-03 13:00"),
        ("cleo", "02-06 12:00"),
        ("dan", "12-31 12:00"),
    ):
        path = hand_in(student, contents["perfect"])
        (path.parent / "timestamp.txt").write_text(f"2026-{when}:00 UTC")


def totals(course):
    with open_gradebook(course) as gradebook:
        submissions = gradebook.assignment_submissions(CHAPTER)
        return {s.student_id: s.score - s.late_submission_penalty for s in submissions}


def test_late_work_earns_what_the_steps_say(course, run, hand_in, contents):
    late_class(course, hand_in, contents)
    code, out = run("due", CHAPTER, "--at", "2026-02-03 13:00", *STEPS)
    assert code == 0 and "Due Tuesday 3 February 2026, 13:00 (UTC+01:00)." in out
    assert "Later work earns 50% until Thursday 5 February 2026, 13:00 (UTC+01:00), then 20% until Tuesday 10" in out
    run("grade", CHAPTER)
    assert totals(course) == pytest.approx({"ada": 22, "bob": 11, "cleo": 4.4, "dan": 0}, rel=1e-14)
    assert "11 points were taken off" in page(course, "bob") and "Due Tuesday 3 February" in page(course, "ada")
    run("due", CHAPTER, "--at", "2026-02-03 13:00", "--late", "80%", "2026-02-05")
    _, out = run("grade", CHAPTER)
    assert "the credit for late work changed" in out
    assert totals(course) == pytest.approx({"ada": 22, "bob": 17.6, "cleo": 0, "dan": 0}, rel=1e-14)
    run("due", CHAPTER, "--at", "never")
    run("grade", CHAPTER)
    assert set(totals(course).values()) == {22} and "Due" not in page(course, "ada")


def test_an_extension_counts_before_and_after_a_submission_exists(course, run, hand_in, contents):
    late_class(course, hand_in, contents)
    for student in ("bob", "cleo"):
        with open_gradebook(course) as gradebook:
            gradebook.update_or_create_student(student)
    run("due", CHAPTER, "--at", "2026-02-03 13:00", *STEPS)
    code, out = run("extend", "bob", CHAPTER, "--until", "2026-02-04", "--why", "ill")
    assert code == 0 and "bob reads: Due Wednesday 4 February 2026, 23:59 (UTC+01:00), which is your extension." in out
    run("grade", CHAPTER)
    assert totals(course) == pytest.approx({"ada": 22, "bob": 22, "cleo": 4.4, "dan": 0}, rel=1e-14)
    assert (
        "which is your extension" in page(course, "bob") and "ill" not in page(course, "bob").split("<main>")[1][:600]
    )
    with open_gradebook(course) as gradebook:
        assert gradebook.find_submission(CHAPTER, "bob").extension == timedelta(hours=34, minutes=59)
    assert "bob has until Wednesday 4 February 2026, 23:59 (UTC+01:00). ill" in run("due", CHAPTER)[1]
    run("extend", "cleo", CHAPTER, "--until", "2026-02-06 13:00")
    run("extend", "bob", CHAPTER, "--remove")
    run("grade", CHAPTER)
    assert totals(course) == {"ada": 22, "bob": 11, "cleo": 22, "dan": 0}


def test_steps_do_not_vanish_without_a_word(run):
    """An instructor who only moves the date would otherwise give full credit for late work."""
    outputs = [run("due", CHAPTER, "--at", "2026-02-04", *steps)[1] for steps in (STEPS, [], [])]
    words = "The earlier steps of late work no longer count: 50%, 20%. To keep them, give them with --late"
    assert [words in output for output in outputs] == [False, True, False]


def test_an_extension_outlives_a_due_date_that_is_removed_and_set_again(course, run, hand_in, contents):
    late_class(course, hand_in, contents)
    with open_gradebook(course) as gradebook:
        gradebook.update_or_create_student("bob")
    run("due", CHAPTER, "--at", "2026-02-03 13:00", *STEPS)
    run("extend", "bob", CHAPTER, "--until", "2026-02-04", "--why", "ill")
    run("grade", CHAPTER)
    _, out = run("due", CHAPTER, "--at", "never")
    assert "01_attention has no due date, so the extensions have no effect." in out and "bob has until" in out
    run("grade", CHAPTER)
    run("due", CHAPTER, "--at", "2026-02-03 13:00", *STEPS)
    run("grade", CHAPTER)
    assert totals(course) == pytest.approx({"ada": 22, "bob": 22, "cleo": 4.4, "dan": 0}, rel=1e-14)


def test_students_see_the_date_in_the_notebook_the_readme_and_submit_check(course, run, hand_in, contents, tmp_path):
    run("due", CHAPTER, "--at", "2026-02-03 13:00", "--late", "50%", "2026-02-05")
    assert run("release", CHAPTER)[0] == 0
    due = "Due Tuesday 3 February 2026, 13:00 (UTC+01:00). Later work earns 50% until Thursday 5 February"
    released = course / "release" / CHAPTER
    first = json.loads((released / f"{CHAPTER}.ipynb").read_text())["cells"][0]["source"]
    assert due in "".join(first) and "".join(first).startswith("# ")
    assert due in (released / "README.txt").read_text()
    path = hand_in("ada", contents["perfect"])
    code, out = run("submit-check", str(path))
    assert code == 0 and due in out


@pytest.mark.parametrize(("words", "message"), [
    (["due", CHAPTER, "--at", "soon"], "'soon' is not a time: write it like 2026-12-04"),
    (["due", CHAPTER, "--late", "50%", "2026-02-05"], "--late needs --at WHEN"),
    (["due", CHAPTER, "--at", "2026-02-03", "--late", "half", "2026-02-05"], "'half' is not a percentage"),
    (["due", CHAPTER, "--at", "2026-02-03", "--late", "50", "2026-02-01"], "only until a time after the due date"),
    (["due", CHAPTER, "--at", "2026-02-03", *STEPS, "--late", "80%", "2026-02-20"], "unlike 20% and then 80%"),
    (["due", CHAPTER, "--at", "2026-02-03", *STEPS, "--late", "30%", "2026-02-05 13:00"], "unlike 50% and then 30%"),
    (["due", "10_nothing"], "there are: 01_attention"),
    (["extend", "ada", CHAPTER, "--until", "2026-02-03"], "there is no student 'ada' in the gradebook"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(run, words, message):
    code, out = run(*words)
    assert code == 2 and message in out and out.count("\n") == 1


@pytest.mark.parametrize("name", ["anna müller", "first@example.org", "au1815"])
def test_a_name_or_an_address_gets_the_id(course, run, name):
    """Two students may share a name, so the command does not choose."""
    with open_gradebook(course) as gradebook:
        for student, address in (("7001", "first@example.org"), ("7002", "second@example.org")):
            gradebook.add_student(student, first_name="Anna", last_name="Müller", email=address)
    save_roster(course, RosterFile(identifiers={"7001": {"ID number": "7001", "Username": "au1815"}}))
    run("due", CHAPTER, "--at", "2026-02-03")
    code, out = run("extend", name, CHAPTER, "--until", "2026-02-05")
    ids = "7001 or 7002" if name == "anna müller" else "7001"
    assert code == 2 and f"no student {name!r} in the gradebook; the id of {name} is {ids}\n" in out


def test_an_extension_needs_a_due_date_before_it(course, run):
    with open_gradebook(course) as gradebook:
        gradebook.add_student("ada")
    assert "01_attention has no due date: set one first" in run("extend", "ada", CHAPTER, "--until", "2026-02-03")[1]
    run("due", CHAPTER, "--at", "2026-02-03")
    assert "is not after the due date" in run("extend", "ada", CHAPTER, "--until", "2026-02-01")[1]
    assert run("due", CHAPTER)[1] == f"Students of {CHAPTER} read: Due Tuesday 3 February 2026, 23:59 (UTC+01:00).\n"
