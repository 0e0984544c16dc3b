"""Void an exercise after grading: what becomes of scores, maximum, exports, pages, and regrading."""

import csv
import json
import shutil

import pytest

from autograder.cli.main import main
from autograder.gradebook import counting
from autograder.gradebook.coursedir import open_coursedir
from autograder.scores.hand_in_times import TIMESTAMP
from tests.autograder.gradebook.graded_course import exported, grade_by_hand, graded, open_gradebook, page
from tests.choosing import thinned
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


@pytest.fixture(scope="session")
def graded_pair(made_once, released_course, contents):
    """Return the folder of a graded course: ada's softmax is wrong (0 of 4), and bob has everything right."""

    def make(folder):
        course = shutil.copytree(released_course, folder / "course")
        for student, example in (("ada", "mistake-1"), ("bob", "perfect")):
            path = course / "submitted" / student / CHAPTER / f"{CHAPTER}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_bytes(contents[example])
        graded(course)

    return made_once("void", make) / "course"


@pytest.fixture
def course(graded_pair, tmp_path):
    return shutil.copytree(graded_pair, tmp_path / "course")


def scores(course):
    """Return student -> (score before the penalty, penalty, maximum), as nbgrader's own tables have them."""
    with open_gradebook(course) as gradebook:
        return {
            s.student_id: (s.score, s.late_submission_penalty or 0, s.max_score)
            for s in gradebook.assignment_submissions(CHAPTER)
        }


def table(path):
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


BEFORE = {"ada": (18, 0, 22), "bob": (22, 0, 22)}


def test_credit_gives_everyone_who_handed_in_the_full_points(course, run, hand_in, contents):
    with open_gradebook(course) as gradebook:
        gradebook.add_student("absent")
    code, out = run("void", "softmax", "--credit-all")
    assert code == 0
    assert "`softmax` is void: everyone who handed in gets its full points." in out
    assert "1 of 2 scores changed. 01_attention has 22 points." in out
    assert scores(course) == {"ada": (22, 0, 22), "bob": (22, 0, 22)}
    rows = {row["student_id"]: row for row in table_of_export(course, run)}
    assert rows["ada"]["score"] == "22.0" and rows["absent"]["score"] == ""
    # A student who hands in afterwards gets them too, whatever is in the file.
    hand_in("blank", contents["blank"])
    hand_in("unreadable", b"")
    graded(course)
    assert scores(course)["blank"] == scores(course)["unreadable"] == (4, 0, 22)


def table_of_export(course, run, *words):
    output = course.parent / "grades.csv"
    assert run("export", *words, "--output", str(output))[0] == 0
    return table(output)


def test_drop_takes_an_exercise_out_of_score_and_maximum(course, run, tmp_path):
    code, out = run("void", "softmax", "--drop")
    assert code == 0
    assert "`softmax` is void: it counts neither in the score nor in the maximum." in out
    assert "1 of 2 scores changed. 01_attention has 18 points instead of 22." in out
    assert scores(course) == {"ada": (18, 0, 18), "bob": (18, 0, 18)}
    assert {(row["score"], row["max_score"]) for row in table_of_export(course, run)} == {("18.0", "18.0")}
    assert {(row["score"], row["max_score"]) for row in exported(course, tmp_path).values()} == {("18.0", "18.0")}
    points, *people = table_of_export(course, run, "--to", "canvas")
    assert points[CHAPTER] == "18.0" and {row[CHAPTER] for row in people} == {"18.0"}
    assert {row[CHAPTER] for row in table_of_export(course, run, "--to", "moodle")} == {"18.0"}


def test_a_platforms_table_with_the_old_maximum_is_refused_or_scaled(course, run, tmp_path):
    run("void", "softmax", "--drop")
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(
        "Identifier,Username,Grade,Maximum grade,Last modified (grade)\nParticipant 1,ada,,22.00,-\n"
        "Participant 2,bob,,22.00,-\n"
    )
    into = ["export", CHAPTER, "--to", "moodle", "--into", str(worksheet), "--output", str(tmp_path / "filled.csv")]
    code, out = run(*into)
    assert code == 2 and "Moodle gives up to 22 points for 01_attention, the course 18" in out
    code, out = run(*into, "--scale")
    assert code == 0 and "multiplied by 1.22222" in out
    assert [row["Grade"] for row in table(tmp_path / "filled.csv")] == ["22.0", "22.0"]


@pytest.mark.parametrize("flag", thinned(["--credit-all", "--drop"], ["--drop"], "the other rule"))
def test_undo_restores_scores_maximum_and_pages(course, run, flag):
    before = page(course)
    run("void", "softmax", flag)
    graded(course)
    assert page(course) != before
    code, out = run("void", "softmax", "--undo")
    assert code == 0 and "`softmax` counts again." in out and scores(course) == BEFORE
    run("grade", CHAPTER)
    assert page(course) == before and scores(course) == BEFORE
    assert "`softmax` is not void" in run("void", "softmax", "--undo")[1]


def test_undo_restores_what_grading_computed_and_reads_no_output(course, run):
    run("void", "softmax", "--drop")
    for path in (course / "autograded").rglob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            cell |= {"outputs": []} if cell["cell_type"] == "code" else {}
        path.write_text(json.dumps(notebook), encoding="utf-8")
    run("void", "softmax", "--undo")
    assert scores(course) == BEFORE


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--drop", (18, 18)),
        pytest.param("--credit-all", (22, 22), marks=pytest.mark.thorough("another rule, kept in the same way")),
    ],
)
def test_a_void_outlives_regrading_resubmission_and_release(course, run, hand_in, contents, flag, expected):
    run("void", "softmax", flag)
    assert "0 reports reused" not in run("grade", CHAPTER)[1]
    assert all((raw, points) == expected for raw, _, points in scores(course).values())
    graded(course, force=True)
    assert all((raw, points) == expected for raw, _, points in scores(course).values())
    hand_in("ada", contents["perfect"])
    hand_in("bob", contents["mistake-1"])
    run("due", CHAPTER, "--at", "2030-01-01")  # so that the next release differs
    assert run("release", CHAPTER)[0] == 0
    assert all((raw, points) == expected for raw, _, points in scores(course).values())
    run("grade", CHAPTER)
    assert all((raw, points) == expected for raw, _, points in scores(course).values())
    run("void", "softmax", "--undo")
    assert {student: raw for student, (raw, _, _) in scores(course).items()} == {"ada": 22, "bob": 18}


def test_a_void_can_change_its_kind(course, run):
    run("void", "softmax", "--drop")
    code, out = run("void", "softmax", "--credit-all")
    assert code == 0 and "01_attention has 22 points instead of 18." in out
    assert scores(course) == {"ada": (22, 0, 22), "bob": (22, 0, 22)}


def test_scores_given_by_hand_before_are_set_aside_and_come_back(course, run):
    grade_by_hand(course, "check-softmax", manual_score=3, extra_credit=1)
    graded(course)
    run("void", "softmax", "--drop")
    assert scores(course)["ada"] == (18, 0, 18)
    run("void", "softmax", "--drop")  # voiding a second time changes nothing, and loses nothing
    run("void", "softmax", "--credit-all")
    assert scores(course)["ada"] == (22, 0, 22)
    run("void", "softmax", "--undo")
    assert scores(course)["ada"] == (22, 0, 22)
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, "ada")
        assert (grade.auto_score, grade.manual_score, grade.extra_credit) == (0, 3, 1)


@pytest.mark.thorough("scores given by hand before are tested")
def test_a_score_given_by_hand_afterwards_counts(course, run):
    run("void", "softmax", "--credit-all")
    grade_by_hand(course, "check-softmax", manual_score=1)
    graded(course, force=True)
    assert scores(course)["ada"] == (19, 0, 22)
    assert "1 of 4 points" in page(course)
    run("void", "softmax", "--undo")
    assert scores(course)["ada"] == (19, 0, 22)


@pytest.mark.thorough("test_late_work shows the same for other new scores")
def test_the_penalty_for_late_work_follows_the_new_score(course, run):
    for student in ("ada", "bob"):
        (course / "submitted" / student / CHAPTER / TIMESTAMP).write_text("2026-02-04 12:00:00 UTC")
    run("due", CHAPTER, "--at", "2026-02-03 12:00+00:00", "--late", "50%", "2026-02-10")
    run("grade", CHAPTER)
    assert scores(course) == {"ada": (18, 9, 22), "bob": (22, 11, 22)}
    run("void", "softmax", "--credit-all")
    assert scores(course) == {"ada": (22, 11, 22), "bob": (22, 11, 22)}
    assert "0 students would get a different score" in run("grade", CHAPTER, "--dry-run", "--force")[1]
    run("void", "softmax", "--undo")
    assert scores(course) == {"ada": (18, 9, 22), "bob": (22, 11, 22)}


@pytest.mark.parametrize(("flag", "total", "sentence"), [
    pytest.param(
        *("--credit-all", "22 of 22", "`softmax` is void: everyone who handed in gets its full points."),
        marks=pytest.mark.thorough("the other rule"),
    ),
    ("--drop", "18 of 18", "`softmax` is void: it counts neither in the score nor in the maximum."),
])  # fmt: skip
def test_a_dry_run_shows_the_score_as_an_export_would(course, run, hand_in, contents, flag, total, sentence):
    run("void", "softmax", flag)
    hand_in("cleo", contents["mistake-1"])
    _, out = run("grade", CHAPTER, "--dry-run")
    assert "1 student would get a different score, 2 the same" in out and sentence in out
    assert [line.split()[2:] for line in out.splitlines() if " total " in line] == [["none", *total.split()]]
    graded(course)
    assert scores(course)["cleo"][0] == float(total.split()[0])


@pytest.mark.thorough("the page and the report name it too")
def test_the_table_of_grade_names_the_void_and_no_student_for_it(course, run):
    run("void", "softmax", "--drop")
    _, out = run("grade", CHAPTER)
    assert "(void)" in out and "(18)" in out and "(4)" not in out.split("\n\n")[0].splitlines()[1].split()[0]
    assert "`softmax` is void: it counts neither in the score nor in the maximum." in out
    assert "The gradebook differs" not in out
    run("void", "softmax", "--credit-all")
    _, out = run("grade", CHAPTER)
    assert "(4, void)" in out and "The gradebook differs" not in out


def test_the_page_tells_the_student(course, run):
    run("void", "softmax", "--credit-all")
    run("grade", CHAPTER)
    html = page(course)
    credit = "<code>softmax</code> is void: everyone who handed in gets its full points."
    assert credit in html and "22 of 22 points" in html
    assert "A known mistake" not in html and "First thing wrong" not in html  # a broken question proves nothing
    assert "Nothing is left to do. Every other exercise passes." in html
    run("void", "softmax", "--drop")
    run("grade", CHAPTER)
    html = page(course)
    assert "<code>softmax</code> is void: it counts neither in the score nor in the maximum." in html
    assert "18 of 18 points" in html and "0 of 4 points" not in html and "0 of 0 points" not in html


def test_the_class_report_names_the_void(course, run):
    run("void", "softmax", "--drop")
    run("grade", CHAPTER)
    assert run("report", CHAPTER)[0] == 0
    files = [path for path in (course / "report").rglob("*.html") if path.name != "alike.html"]
    pages = [path.read_text(encoding="utf-8") for path in files]
    sentence = "<code>softmax</code> is void: it counts neither in the score nor in the maximum."
    assert len(pages) == 3 and all(sentence in html for html in pages)
    assert any("18 of 18 points" in html for html in pages)
    assert not any("Where the gradebook differs" in html for html in pages)


@pytest.mark.thorough("the same for every exercise")
def test_every_exercise_can_be_dropped(course, run):
    with open_gradebook(course) as gradebook:
        names = [cell.name.removeprefix("check-") for cell in gradebook.find_notebook(CHAPTER, CHAPTER).grade_cells]
    for name in names:
        assert run("void", name, "--drop")[0] == 0
    for command in ("grade", "report"):
        assert run(command, CHAPTER)[0] == 0
    assert set(scores(course).values()) == {(0, 0, 0)}


@pytest.mark.parametrize(("words", "message"), [
    (["softmx", "--drop"], "there is no exercise 'softmx' in the released chapters; did you mean `softmax`?"),
    (["softmax", "--undo"], "`softmax` is not void"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(course, run, words, message):
    code, out = run("void", *words)
    assert code == 2 and message in out and out.count("\n") == 1 and scores(course) == BEFORE


@pytest.mark.parametrize("flags", [["--credit-all", "--drop"], ["--drop", "--undo"], []])
def test_exactly_one_of_the_flags_is_needed(run, flags, capsys):
    with pytest.raises(SystemExit) as error:
        run("void", "softmax", *flags)
    assert error.value.code == 2
    message = capsys.readouterr().err
    assert "not allowed with argument" in message or "one of the arguments --credit-all --drop --undo" in message


def test_an_ungraded_chapter_has_nothing_to_void(released_course, tmp_path, capsys):
    course = shutil.copytree(released_course, tmp_path / "new")
    assert main(["void", "softmax", "--drop", "--course", str(course)]) == 2
    message = capsys.readouterr().err
    assert "no submission of 01_attention is graded yet: run `autograder grade 01_attention` first" in message


def test_a_wrong_folder_is_named(tmp_path, capsys):
    assert main(["void", "softmax", "--drop", "--course", str(tmp_path / "corse")]) == 2
    assert f"no chapter is released in {tmp_path / 'corse'}: run `autograder release" in capsys.readouterr().err


def test_a_damaged_file_is_named(course, run):
    (course / "voided.json").write_text("{")
    code, out = run("grade", CHAPTER)
    assert code == 2 and "voided.json is damaged" in out and scores(course) == BEFORE


def killed(*_):
    raise KeyboardInterrupt


def test_a_run_that_was_killed_before_the_gradebook_was_written_is_completed(course, run, monkeypatch):
    grade_by_hand(course, "check-softmax", manual_score=3)
    run("grade", CHAPTER)
    with monkeypatch.context() as patch:
        patch.setattr(counting.Counting, "with_penalty", killed)
        assert run("void", "softmax", "--drop")[0] == 2
    assert scores(course)["ada"][0] == 21
    run("void", "softmax", "--drop")
    assert scores(course)["ada"] == (18, 0, 18)
    run("void", "softmax", "--undo")
    assert scores(course)["ada"] == (21, 0, 22)


def test_the_file_is_the_owners_alone(course, run):
    run("void", "softmax", "--drop")
    path = course / "voided.json"
    assert path.stat().st_mode & 0o077 == 0
    assert json.loads(path.read_text())[CHAPTER]["check-softmax"]["kind"] == "drop"
    assert open_coursedir(course, CHAPTER).root == str(course)
