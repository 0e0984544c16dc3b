"""Assign a part of a chapter: what becomes of scores, maximum, penalties, exports, pages, and regrading."""

import csv
import shutil

import pytest

from autograder.cli.main import main
from autograder.gradebook.exporters import final_grades
from autograder.scores.hand_in_times import TIMESTAMP
from tests.autograder.gradebook.graded_course import exported, grade_by_hand, graded, page
from tests.autograder.gradebook.test_void import graded_pair, killed, scores
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading

__all__ = ["graded_pair"]

CORE = ["softmax", "attention_weights", "attention"]


@pytest.fixture
def course(graded_pair, tmp_path):
    """Return a graded course: ada's softmax is wrong (0 of 4), and bob has everything right."""
    return shutil.copytree(graded_pair, tmp_path / "course")


def configure(course, line):
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(line + "\n")


def test_the_command_shows_the_part_with_points_and_minutes(course, run):
    code, out = run("assign", CHAPTER)
    assert (code, out) == (0, f"Assigned (22 points, 75 minutes): {', '.join(CORE)}, copies_predecessor, "
                              "repaired_attention\n")  # fmt: skip
    code, out = run("assign", CHAPTER, "--core", "--add", "repaired_attention")
    assert code == 0 and out.splitlines() == [
        f"Assigned (17 points, 55 minutes): {', '.join(CORE)}, repaired_attention",
        "Optional, not graded (5 points, 20 minutes): copies_predecessor",
        "2 of 2 scores changed. 01_attention has 17 points now, and had 22.",
        "`autograder grade 01_attention` brings the feedback pages up to date.",
    ]
    assert run("assign", CHAPTER)[1].splitlines() == out.splitlines()[:2]


def test_every_sum_follows_at_once(course, run, tmp_path, hand_in, contents):
    run("due", CHAPTER, "--at", "2026-02-03 12:00+00:00", "--late", "50%", "2026-02-10")
    for student in ("ada", "bob"):
        (course / "submitted" / student / CHAPTER / TIMESTAMP).write_text("2026-02-04 12:00:00 UTC")
    graded(course)
    run("assign", CHAPTER, "--only", "softmax", "attention")
    assert scores(course) == {"ada": (4, 2, 8), "bob": (8, 4, 8)}
    assert {row["max_score"] for row in exported(course, tmp_path).values()} == {"8.0"}
    for to in ("canvas", "moodle"):
        output = tmp_path / f"{to}.csv"
        assert run("export", "--to", to, "--output", str(output))[0] == 0
        assert {"2.0", "4.0"} <= set(output.read_text(encoding="utf-8").replace("\n", ",").split(","))
    # What the hub sends to a platform, and what `watch` prints.
    assert {(p.id, *p.finals) for p in final_grades(course, [CHAPTER]).people} == {("ada", 2), ("bob", 4)}
    rows = graded(course)
    assert (rows["ada"].earned, rows["ada"].points) == (4, 8)
    hand_in("cleo", contents["mistake-1"])
    _, out = run("grade", CHAPTER, "--dry-run")
    assert "1 student would get a different score, 2 the same" in out and "4 of 8" in out
    assert "Optional, not graded: `attention_weights`, `copies_predecessor` and `repaired_attention`." in out
    _, out = run("grade", CHAPTER)
    assert "(optional)" in out and "(8)" in out
    assert [line.split() for line in out.splitlines() if line.startswith("cleo")] == [["cleo", "0", "4", "4"]]
    assert scores(course)["cleo"] == (4, 0, 8)


def test_the_table_of_exercises_adds_up(course, run, tmp_path):
    grade_by_hand(course, "check-attention", manual_score=1, extra_credit=0.5)
    run("assign", CHAPTER, "--core")
    output = tmp_path / "grades.csv"
    assert run("export", "--to", "csv", "--exercises", "--output", str(output))[0] == 0
    with output.open(encoding="utf-8") as lines:
        rows = {row["student_id"]: row for row in csv.DictReader(lines)}
    assert [*rows["ada"]][-5:] == [*CORE, "copies_predecessor", "repaired_attention"]
    assert [rows["ada"][name] for name in CORE] == ["0.0", "5.0", "1.5"]
    assert rows["ada"]["copies_predecessor"] == rows["bob"]["repaired_attention"] == ""
    for row in rows.values():
        assert sum(float(row[name] or 0) for name in [*rows["ada"]][-5:]) == float(row["raw_score"])
    code, out = run("export", "--to", "canvas", "--exercises", "--output", str(output))
    assert code == 2 and "--exercises needs --to csv" in out


def test_the_page_shows_the_verdict_and_no_points(course, run):
    run("assign", CHAPTER, "--only", "attention")
    run("grade", CHAPTER)
    html = page(course)
    assert "4 of 4 points" in html and "First thing wrong" in html and "0 of 4 points" not in html
    assert '<code>softmax</code>:  <span class="note">optional, not graded</span>' in html
    assert "Nothing is left to do. Every assigned exercise passes." in html
    assert "Optional, not graded: <code>softmax</code>, <code>attention_weights</code>," in html


def test_the_class_report_counts_the_assigned_part(course, run):
    run("assign", CHAPTER, "--only", "attention")
    assert run("report", CHAPTER)[0] == 0
    html = (course / "report" / CHAPTER / "index.html").read_text(encoding="utf-8")
    assert "<b>4</b> of 4 points is the median" in html and "<b>2</b> solved every assigned exercise" in html
    assert html.count(">optional</td>") == 4
    html = (course / "report" / CHAPTER / "students" / "ada.html").read_text(encoding="utf-8")
    assert "4 of 4 points" in html and "4 points</td>" in html and "Grading computed" not in html


def test_the_whole_chapter_comes_back_with_scores_given_by_hand(course, run):
    grade_by_hand(course, "check-softmax", manual_score=3, extra_credit=1)
    graded(course)
    before = scores(course)
    run("assign", CHAPTER, "--only", "attention")
    assert scores(course)["ada"] == (4, 0, 4)
    run("assign", CHAPTER, "--add", "copies_predecessor")
    run("grade", CHAPTER, "--force")
    assert scores(course)["ada"] == (9, 0, 9)
    code, out = run("assign", CHAPTER, "--whole")
    assert code == 0 and "Optional" not in out and scores(course) == before
    assert "c.Assigned" not in (course / "nbgrader_config.py").read_text(encoding="utf-8")
    assert "0 students would get a different score" in run("grade", CHAPTER, "--dry-run", "--force")[1]


def test_a_part_assigned_before_the_release_counts_from_the_first_score(course, run, tmp_path, contents, capsys):
    course = tmp_path / "new"
    course.mkdir()
    assert main(["assign", CHAPTER, "--core", "--course", str(course)]) == 0
    assert "Optional, not graded (9 points, 40 minutes)" in capsys.readouterr().out
    assert main(["release", CHAPTER, "--course", str(course)]) == 0
    path = course / "submitted" / "ada" / CHAPTER / f"{CHAPTER}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(contents["mistake-1"])
    graded(course)
    assert scores(course) == {"ada": (9, 0, 13)}


def test_a_part_outlives_a_release(course, run):
    run("assign", CHAPTER, "--core")
    run("due", CHAPTER, "--at", "2030-01-01")  # so that the next release differs
    assert run("release", CHAPTER)[0] == 0
    assert scores(course) == {"ada": (9, 0, 13), "bob": (13, 0, 13)}


def test_a_change_of_the_file_is_followed_or_refused(course, run, tmp_path):
    configure(course, f'c.Assigned.exercises = {{"{CHAPTER}": ["softmax"]}}')
    output = ["--output", str(tmp_path / "grades.csv")]
    for command in (["export", *output], ["export", "--exercises", *output], ["report", CHAPTER],
                    ["grade", CHAPTER, "--dry-run"]):  # fmt: skip
        code, out = run(*command)
        assert code == 2 and "run `autograder assign 01_attention`, which brings the scores up to date" in out
    assert not (tmp_path / "grades.csv").exists() and scores(course)["bob"] == (22, 0, 22)
    assert run("grade", CHAPTER)[0] == 0
    assert scores(course) == {"ada": (0, 0, 4), "bob": (4, 0, 4)}
    assert run("export", *output)[0] == 0


def test_the_log_says_why(course, run):
    graded(course)
    run("assign", CHAPTER, "--core")
    _, out = run("history")
    assert "another part of 01_attention is assigned" in out and "outside of autograder" not in out


@pytest.mark.parametrize(("words", "message"), [
    (["01_atention", "--core"], "there is no chapter '01_atention'"),
    ([CHAPTER, "--only", "softmx"], "--only: 01_attention has no exercise 'softmx'; did you mean `softmax`?"),
    ([CHAPTER, "--core", "--add", "layer_norm"],
     "--add: 01_attention has no exercise 'layer_norm': it belongs to 05_residual"),
    ([CHAPTER, "--add", "softmax"], "--add: the whole chapter is assigned, so there is nothing to add"),
])  # fmt: skip
def test_options_that_make_no_sense_change_nothing(course, run, words, message):
    before = (course / "nbgrader_config.py").read_bytes()
    code, out = run("assign", *words)
    assert code == 2 and message in out and out.count("\n") == 1
    assert (course / "nbgrader_config.py").read_bytes() == before and scores(course)["bob"] == (22, 0, 22)


def test_an_option_without_an_exercise_is_named(run, capsys):
    with pytest.raises(SystemExit):
        run("assign", CHAPTER, "--only")
    assert "argument --only: expected at least one argument" in capsys.readouterr().err


@pytest.mark.parametrize(("value", "message"), [
    ({"01_atention": ["softmax"]}, "there is no chapter '01_atention'; did you mean `01_attention`?"),
    ({CHAPTER: ["softmx"]}, "01_attention has no exercise 'softmx'; did you mean `softmax`?"),
    ({CHAPTER: ["layer_norm"]}, "01_attention has no exercise 'layer_norm': it belongs to 05_residual"),
    ({CHAPTER: []}, "the list of 01_attention is empty; leave 01_attention out to assign all of it"),
    ({CHAPTER: "softmax"}, "must give a list of exercises for each chapter"),
    (["softmax"], "must give a list of exercises for each chapter"),
])  # fmt: skip
def test_a_file_that_makes_no_sense_is_refused(course, run, value, message):
    configure(course, f"c.Assigned.exercises = {value!r}")
    code, out = run("assign", CHAPTER)
    assert code == 2 and "c.Assigned.exercises in nbgrader_config.py" in out and message in out


def test_each_command_refuses_a_file_that_makes_no_sense(course, run):
    configure(course, f"c.Assigned.exercises = {{{CHAPTER!r}: []}}")
    commands = [f"grade {CHAPTER}", f"grade {CHAPTER} --dry-run", f"release {CHAPTER}", f"report {CHAPTER}", "export"]
    for command in commands:
        code, out = run(*command.split())
        assert code == 2 and f"the list of {CHAPTER} is empty" in out, command
    assert scores(course)["bob"] == (22, 0, 22)


def test_a_configuration_that_is_computed_stays_as_it_is(course, run):
    configure(course, "chapters = {}\nc.Assigned.exercises = chapters")
    before = (course / "nbgrader_config.py").read_bytes()
    code, out = run("assign", CHAPTER, "--core")
    assert code == 2 and "sets c.Assigned.exercises in a way of its own: change it there" in out
    assert (course / "nbgrader_config.py").read_bytes() == before and scores(course)["bob"] == (22, 0, 22)


def test_the_rest_of_the_configuration_stays(course, run):
    configure(course, 'c.Assigned.exercises = {\n    "03_masking": ["causal_mask"],\n}\nc.Attempts.counts = "best"')
    run("assign", CHAPTER, "--core")
    text = (course / "nbgrader_config.py").read_text(encoding="utf-8")
    assert text.endswith("['softmax', 'attention_weights', 'attention']}\nc.Attempts.counts = \"best\"\n")
    assert text.count("c.Assigned.exercises") == 1 and "03_masking" in text


def test_an_exercise_is_void_or_optional_and_never_both(course, run):
    run("void", "softmax", "--credit-all")
    before = (course / "nbgrader_config.py").read_bytes()
    code, out = run("assign", CHAPTER, "--only", "attention")
    assert code == 2 and "`softmax` is void with --credit-all" in out and scores(course)["ada"] == (22, 0, 22)
    assert (course / "nbgrader_config.py").read_bytes() == before
    run("void", "softmax", "--drop")
    run("assign", CHAPTER, "--only", "attention")
    assert scores(course)["ada"] == (4, 0, 4)
    code, out = run("void", "attention_weights", "--credit-all")
    assert code == 2 and "`attention_weights` is not assigned, so it counts in no score anyway" in out
    run("assign", CHAPTER, "--whole")
    assert scores(course)["ada"] == (18, 0, 18)  # the void has outlived it


def test_a_run_that_was_killed_is_completed(course, run, monkeypatch):
    grade_by_hand(course, "check-softmax", manual_score=3)
    graded(course)
    with monkeypatch.context() as patch:
        patch.setattr("autograder.gradebook.counting.Counting.with_penalty", killed)
        assert run("assign", CHAPTER, "--only", "attention")[0] == 2
    assert scores(course)["ada"] == (21, 0, 22)
    assert "2 of 2 scores changed" in run("assign", CHAPTER)[1]
    assert scores(course)["ada"] == (4, 0, 4)
    run("assign", CHAPTER, "--whole")
    assert scores(course)["ada"] == (21, 0, 22)
