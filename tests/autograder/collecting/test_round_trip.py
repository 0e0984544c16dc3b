"""Rosters in, grades and feedback out, in the formats of Canvas's and Moodle's own exports and imports.

The tests write tables as the platforms' sources do: instructure/canvas-lms, lib/gradebook_exporter.rb; moodle/moodle,
grade/export and mod/assign/gradingtable.php. They read the output as the platforms' sources do:
lib/gradebook_importer.rb and app/models/abstract_assignment.rb; mod/assign/feedback/offline/importgradeslib.php and
file/importziplib.php.
"""

import csv
import re
import zipfile

import pytest

from autograder.cli.main import main
from tests.autograder.gradebook.graded_course import open_gradebook
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
CANVAS = '''\
Student,ID,SIS User ID,SIS Login ID,Section,Notes,01_attention (901),Week 2 (902),Week 22 (903),Final Score
,,,,,,Manual Posting,,,
    Points Possible,,,,,,30.00,22.00,5.00,(read only)
"Lovelace, Ada",123,S1,al1815,A and B,,,,,
"=""=HYPERLINK(1), Eve""",124,S2,eve,A,,7.00,,,
"+cmd, @SUM",125,S3,plus,A,,,,,
"Student, Test",999,,0f3a,A,,,,,
'''
MOODLE = """\
"First name","Last name","ID number",Institution,Department,"Email address","Assignment: 01 (Real)"
Ada,Lovelace,4711,,,ada@example.org,-
=HYPERLINK(1),Eve,4712,,,eve@example.org,-
Ada,Lovelace,4713,,,other@example.org,-
"""
WORKSHEET = """\
Identifier,"Full name","ID number","Email address",Status,Grade,"Maximum grade","Last modified (submission)",\
"Last modified (grade)","Feedback comments"
"Participant 11","Ada Lovelace",4711,ada@example.org,Submitted,,100.00,-,-,"- well done"
"Participant 12","=HYPERLINK(1) Eve",4712,eve@example.org,Submitted,3.00,100.00,-,"3 February 2026, 10:00 AM",
"Participant 13","Ada Lovelace",4713,other@example.org,Submitted,,100.00,-,-,
"""


@pytest.fixture
def run(course, tmp_path, capsys):
    """run("roster", "name.csv", ...) -> exit code and output; files are in tmp_path."""
    for name, text in (("canvas.csv", CANVAS), ("moodle.csv", MOODLE), ("worksheet.csv", WORKSHEET)):
        (tmp_path / name).write_text(text, encoding="utf-8-sig" if name == "canvas.csv" else "utf-8")

    def command(*arguments):
        words = [str(tmp_path / word) if re.search(r"\.(csv|zip)$", word) else word for word in arguments]
        code = main([*words, "--course", str(course)])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return command


@pytest.fixture
def zipped(tmp_path):
    def make(files):
        with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)

    return make


def students(course):
    with open_gradebook(course) as gradebook:
        return {s.id: (s.first_name, s.last_name, s.email) for s in gradebook.students}


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_canvass_gradebook_is_a_roster(course, run):
    code, printed = run("roster", "canvas.csv")
    assert (
        code == 0 and "3 new, 0 changed, 0 unchanged" in printed and "skipped: Student, Test: Canvas's own" in printed
    )
    assert students(course) == {
        "123": ("Ada", "Lovelace", None), "124": ("Eve", "=HYPERLINK(1)", None), "125": ("@SUM", "+cmd", None),
    }  # fmt: skip
    assert "0 new, 0 changed, 3 unchanged" in run("roster", "canvas.csv")[1]


def test_canvass_gradebook_may_have_two_names_and_semicolons(course, run, tmp_path):
    (tmp_path / "two.csv").write_text("LastName;FirstName;ID;SIS Login ID;Section\nNoether;Emmy;126;en;A\n")
    assert run("roster", "two.csv")[0] == 0 and students(course)["126"] == ("Emmy", "Noether", None)


def test_moodles_participants_are_a_roster(course, run, tmp_path):
    code, printed = run("roster", "moodle.csv")
    assert code == 0 and "ids are the column 'ID number'" in printed
    assert students(course)["4712"] == ("=HYPERLINK(1)", "Eve", "eve@example.org") and len(students(course)) == 3
    (tmp_path / "moodle.csv").write_text(MOODLE.replace("4713,,,other", "a[b,,,new").replace("Eve", "Noether"))
    code, printed = run("roster", "moodle.csv")
    assert (
        code == 1 and "skipped: a[b: nbgrader cannot handle" in printed and "0 new, 1 changed, 1 unchanged" in printed
    )
    assert "3 rows = 2 students + 1 skipped" in printed


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "First name,Email address\nAda,\nBob,b@x.org\n"])
def test_a_table_that_is_not_a_roster_is_refused_with_a_reason(course, run, tmp_path, text):
    (tmp_path / "none.csv").write_text(text)
    code, printed = run("roster", "none.csv")
    assert code == 2 and ("is neither Canvas's" in printed or "an id of their own" in printed)
    assert students(course) == {}


def test_collect_names_the_students_whom_the_roster_does_not_list(course, run, zipped, tmp_path):
    """Exports to the platform's own table have no row for these students."""
    files = {f"{name}_01_attention.ipynb": b"?" for name in ("lovelaceada_123_50", "eve_124_51", "x_777_52")}
    zipped(files)
    assert "not in the roster" not in run("collect", CHAPTER, "download.zip")[1]
    run("roster", "canvas.csv")
    assert "not in the roster, or withdrawn: 777: exports" in run("collect", CHAPTER, "download.zip")[1]
    (tmp_path / "canvas.csv").write_text(re.sub('^"=".*\n', "", CANVAS, flags=re.M))
    run("roster", "canvas.csv", "--remove")
    strangers = "not in the roster, or withdrawn: 124 Eve =HYPERLINK(1), 777: exports"
    assert strangers in run("collect", CHAPTER, "download.zip")[1]


def test_collect_shows_the_names_of_the_roster(course, run, zipped):
    run("roster", "canvas.csv")
    files = {"lovelaceada_LATE_123_50_regrade.txt": b"softmax: why", "x_777_52_01_attention.ipynb": b"?"}
    zipped({"lovelaceada_LATE_123_51_01_attention.ipynb": b"?"} | files)
    printed = run("collect", CHAPTER, "download.zip")[1]
    assert "new: 2 (123 Ada Lovelace, 777)" in printed and "as late by the platform: 123 Ada Lovelace\n" in printed
    assert "regrade requests: 123 Ada Lovelace:" in printed and "or withdrawn: 777: exports" in printed


@pytest.fixture
def canvas_class(course, run, zipped, contents):
    """Student 123 has all points, 124 has 0, 125 handed in nothing, and 777 is in no table of Canvas's."""
    run("roster", "canvas.csv")
    zipped({
        "lovelaceada_123_50_01_attention.ipynb": contents["perfect"],
        "hyperlink1eve_LATE_124_51_01_attention-1.ipynb": contents["truncated"],
        "x_777_52_01_attention.ipynb": contents["perfect"], "old_9_778_53_01_attention.ipynb": contents["perfect"],
    })  # fmt: skip
    run("collect", CHAPTER, "download.zip")
    assert run("grade", CHAPTER)[0] == 0


def test_grades_go_back_into_canvass_own_columns(canvas_class, run, tmp_path):
    command = ["export", CHAPTER, "--to", "canvas", "--into", "canvas.csv", "--output", "out.csv"]
    code, printed = run(*command)
    assert code == 2 and "Canvas gives up to 30 points for 01_attention, the course 22" in printed
    assert not (tmp_path / "out.csv").exists()
    code, printed = run(*command, "--scale")
    assert code == 1 and "has a score, but no row in canvas.csv: 777" in printed
    assert "note: scores of 01_attention are multiplied by 1.36364" in printed
    assert rows_of(tmp_path / "out.csv") == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "01_attention (901)"],
        ["Points Possible", "", "", "", "", "30.00"],
        ["Lovelace, Ada", "123", "S1", "al1815", "A and B", "30.0"],
        ["'=HYPERLINK(1), Eve", "124", "S2", "eve", "A", "0.0"],
        ["'+cmd, @SUM", "125", "S3", "plus", "A", ""],
        ["Student, Test", "999", "", "0f3a", "A", ""],
    ]


def test_scores_are_not_scaled_to_nothing(canvas_class, run, tmp_path):
    (tmp_path / "canvas.csv").write_text(CANVAS.replace("30.00", "0.00"))
    code, printed = run("export", CHAPTER, "--to", "canvas", "--into", "canvas.csv", "--output", "out.csv", "--scale")
    assert code == 2 and "Canvas gives up to 0 points" in printed and not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(("maximum", "message"), [
    ("30,00", "Canvas gives up to 30 points"),
    ("(read only)", "the maximum of 01_attention on Canvas is not a number: '(read only)'"),
])  # fmt: skip
def test_a_maximum_in_another_form_is_not_taken_for_the_courses_own(canvas_class, run, tmp_path, maximum, message):
    """Canvas and Moodle write decimal commas in some languages."""
    (tmp_path / "canvas.csv").write_text(CANVAS.replace("30.00", f'"{maximum}"'))
    code, printed = run("export", CHAPTER, "--to", "canvas", "--into", "canvas.csv", "--output", "out.csv")
    assert code == 2 and message in printed and not (tmp_path / "out.csv").exists()


def test_an_assignment_with_another_name_on_canvas_has_to_be_named(canvas_class, run, tmp_path):
    (tmp_path / "canvas.csv").write_text(CANVAS.replace("01_attention (901)", "Week 1 (901)"))
    into = ("export", CHAPTER, "--to", "canvas", "--into", "canvas.csv", "--output", "out.csv", "--scale")
    code, printed = run(*into)
    assert code == 2 and "no assignment called 01_attention" in printed and "Week 1 (901), Week 2 (902)" in printed
    for title, header in (("Week 1", "Week 1 (901)"), ("week 22", "Week 22 (903)"), ("Week 2", "Week 2 (902)")):
        assert run(*into, "--as", title)[0] == 1 and rows_of(tmp_path / "out.csv")[0][-1] == header
    assert "several assignments" in run(*into, "--as", "Week")[1]


def test_canvass_own_score_stays_where_we_have_none(course, run, tmp_path):
    """An empty cell would delete Canvas's score."""
    run("roster", "canvas.csv")
    assert run("export", CHAPTER, "--to", "canvas", "--into", "canvas.csv", "--output", "out.csv", "--scale")[0] == 0
    assert [row[-1] for row in rows_of(tmp_path / "out.csv")][2:4] == ["", "7.00"]


def test_feedback_goes_back_to_canvas(canvas_class, run, tmp_path):
    code, printed = run("feedback", CHAPTER, "--to", "canvas", "--output", "back.zip")
    assert code == 0 and "the feedback of 3 students" in printed
    with zipfile.ZipFile(tmp_path / "back.zip") as archive:
        files = {}
        for name in archive.namelist():
            user, attachment, *_ = [word for word in name.split("_") if re.fullmatch(r"\d+", word)]
            files[user] = attachment, archive.read(name)
    assert {user: attachment for user, (attachment, _) in files.items()} == {"123": "50", "124": "51", "777": "52"}
    assert b"22 of 22 points" in files["123"][1] and b"0 of 22 points" in files["124"][1]


def test_students_of_the_other_platform_are_named_in_one_line(canvas_class, run, zipped, contents):
    run("roster", "moodle.csv", "--ids", "ID number")
    names = ("Ada Lovelace_11", "=HYPERLINK(1) Eve_12")
    zipped({f"{name}_assignsubmission_file/01_attention.ipynb": contents["perfect"] for name in names})
    run("collect", CHAPTER, "download.zip", "--table", "worksheet.csv")
    run("grade", CHAPTER)
    code, printed = run("feedback", CHAPTER, "--to", "canvas", "--output", "back.zip")
    assert code == 1 and "skipped: 4711 and 4712: not collected from Canvas\n" in printed


def test_withdrawn_students_get_no_feedback_file(canvas_class, run, tmp_path):
    (tmp_path / "canvas.csv").write_text(re.sub('^"=".*\n', "", CANVAS, flags=re.M))
    assert "withdrawn: 777\nwithdrawn: 124 Eve =HYPERLINK(1)\n" in run("roster", "canvas.csv", "--remove")[1]
    code, printed = run("feedback", CHAPTER, "--to", "canvas", "--output", "back.zip")
    assert code == 0 and "the feedback of 1 student" in printed and "124" not in printed
    with zipfile.ZipFile(tmp_path / "back.zip") as archive:
        assert ["_123_" in name for name in archive.namelist()] == [True]


def test_a_file_that_canvas_could_give_to_another_student_is_skipped(course, run, zipped, contents):
    zipped({"anon_Ab3xZ_50_01_attention.ipynb": contents["truncated"]})
    run("collect", CHAPTER, "download.zip")
    run("grade", CHAPTER)
    code, printed = run("feedback", CHAPTER, "--to", "canvas", "--output", "back.zip")
    assert code == 1 and "skipped: anon_Ab3xZ: Canvas cannot import a file" in printed


@pytest.fixture
def moodle_class(course, run, zipped, contents):
    run("roster", "moodle.csv")
    zipped({
        "Ada Lovelace_11_assignsubmission_file/01_attention.ipynb": contents["perfect"],
        "=HYPERLINK(1) Eve_12_assignsubmission_file_01_attention.ipynb": contents["truncated"],
    })  # fmt: skip
    run("collect", CHAPTER, "download.zip", "--table", "worksheet.csv")
    assert run("grade", CHAPTER)[0] == 0


def test_grades_go_back_into_moodles_worksheet(moodle_class, run, tmp_path):
    command = ["export", CHAPTER, "--to", "moodle", "--into", "worksheet.csv", "--output", "out.csv"]
    code, printed = run(*command)
    assert code == 2 and "a full score would count as 22 of 100" in printed and not (tmp_path / "out.csv").exists()
    code, printed = run(*command, "--scale")
    assert code == 0 and "note: scores of 01_attention are multiplied by 4.54545" in printed
    assert rows_of(tmp_path / "out.csv") == [
        ["Identifier", "Full name", "Grade", "Last modified (grade)"],
        ["Participant 11", "Ada Lovelace", "100.0", "-"],
        ["Participant 12", "'=HYPERLINK(1) Eve", "0.0", "3 February 2026, 10:00 AM"],
        ["Participant 13", "Ada Lovelace", "", "-"],
    ]


def test_feedback_goes_back_to_moodle(moodle_class, run, tmp_path):
    code, printed = run("feedback", CHAPTER, "--to", "moodle", "--output", "back.zip")
    assert code == 0 and "the feedback of 2 students" in printed
    with zipfile.ZipFile(tmp_path / "back.zip") as archive:
        parts = sorted(name.split("_", 4)[1:] for name in archive.namelist())
        assert all(info.date_time[0] >= 2026 for info in archive.infolist())
    assert parts == [[number, "assignfeedback", "file", "01_attention.html"] for number in ("11", "12")]
    assert "no submission of 01_attention was collected from Canvas" in run("feedback", CHAPTER, "--to", "canvas")[1]


@pytest.mark.thorough("collecting is tested with these numbers")
def test_blind_marking_identifies_students_by_participant_number(course, run, zipped, contents, tmp_path):
    blind = ["Identifier,Status,Grade,Last modified (grade)", *(f"Participant {n},Submitted,,-" for n in (11, 12))]
    (tmp_path / "worksheet.csv").write_text("\n".join(blind))
    zipped({f"Participant_{n}_assignsubmission_file/01_attention.ipynb": contents["perfect"] for n in (11, 12)})
    assert run("collect", CHAPTER, "download.zip", "--table", "worksheet.csv")[0] == 0
    run("grade", CHAPTER)
    assert run("export", CHAPTER, "--to", "moodle", "--into", "worksheet.csv", "--output", "out.csv")[0] == 0
    assert [row[1] for row in rows_of(tmp_path / "out.csv")] == ["Grade", "22.0", "22.0"]

    # Moodle shows the names now, and the class is known. A file that comes late belongs to the same participant.
    (tmp_path / "class.csv").write_text("First name,Last name,Email address\nAda,Lovelace,ada@example.org\n")
    code, printed = run("roster", "class.csv", "--remove")
    assert code == 0 and "withdrawn" not in printed
    revealed = ["Identifier,Full name,Email address,Grade,Last modified (grade)"]
    revealed += ["Participant 11,Ada Lovelace,ada@example.org,,-", "Participant 12,Emmy Noether,emmy@example.org,,-"]
    (tmp_path / "worksheet.csv").write_text("\n".join(revealed))
    zipped({"Ada Lovelace_11_assignsubmission_file/01_attention.ipynb": contents["mistake-1"]})
    assert run("collect", CHAPTER, "download.zip", "--table", "worksheet.csv")[0] == 0
    run("grade", CHAPTER)
    assert run("export", CHAPTER, "--to", "moodle", "--into", "worksheet.csv", "--output", "out.csv")[0] == 0
    assert [row[2] for row in rows_of(tmp_path / "out.csv")] == ["Grade", "18.0", "22.0"]


@pytest.mark.parametrize("more", [[CHAPTER, "--to", "csv"], ["--to", "moodle"]])
def test_options_that_fit_no_table_are_refused_with_a_reason(run, more):
    code, printed = run("export", *more, "--into", "canvas.csv")
    assert code == 2 and "Moodle's worksheet has one grade" in printed


def test_a_table_that_is_not_a_worksheet_gets_advice(moodle_class, run, tmp_path):
    (tmp_path / "worksheet.csv").write_text("Kennung,Bewertung\nTeilnehmer/in 11,\n")
    code, printed = run("export", CHAPTER, "--to", "moodle", "--into", "worksheet.csv")
    assert code == 2 and "Set Moodle's language to English" in printed


def test_a_student_collected_by_number_is_found_in_a_worksheet_with_names(course, run, zipped, contents, tmp_path):
    zipped({f"Ada Lovelace_{n}_assignsubmission_file/01_attention.ipynb": contents["perfect"] for n in (11, 13)})
    assert run("collect", CHAPTER, "download.zip")[0] == 0
    run("grade", CHAPTER)
    assert run("export", CHAPTER, "--to", "moodle", "--into", "worksheet.csv", "--output", "out.csv", "--scale")[0] == 0
    assert [row[2] for row in rows_of(tmp_path / "out.csv")] == ["Grade", "100.0", "3.00", "100.0"]
