"""Downloads from Moodle and Canvas become submissions of the right students, and no file is unaccounted for."""

import json
import os
import re
import shutil
import unicodedata
import zipfile
from pathlib import Path

import pytest

from autograder.cli.main import main
from tests.autograder.collecting.downloads import MOODLE, WORKSHEET, collect, stamps, submitted
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


# -------------------------------------------------------------------------------------------- impersonation


def test_a_file_name_inside_an_upload_is_not_an_id(course, zipped, capsys):
    files = {"12345/01_attention.ipynb": b"theirs", "eve/x_12345_9_y.ipynb": b"eve's"}
    collect(course, zipped(files), capsys)
    assert submitted(course) == {"12345": b"theirs", "eve": b"eve's"}
    files = {MOODLE.format("A", 1): b"a", "Eve_2_assignsubmission_file/x_1_assignsubmission_file_y.ipynb": b"e"}
    collect(course, zipped(files), capsys)
    assert {s: c for s, c in submitted(course).items() if "part" in s} == {"participant-1": b"a", "participant-2": b"e"}


def test_a_display_name_is_an_id_only_by_request(course, zipped, capsys):
    download = zipped({MOODLE.format("12345", 9): b"eve's", MOODLE.format("Ada", 8): b"a"})
    collect(course, zipped({"ada_12345_7_x.ipynb": b"theirs"}, name="canvas.zip"), capsys)
    _, printed = collect(course, download, capsys)
    assert submitted(course) == {"12345": b"theirs", "participant-9": b"eve's", "participant-8": b"a"}
    assert "Read as Moodle's download; ids are Moodle's participant numbers" in printed.out
    collect(course, download, capsys, "--by-name")
    assert submitted(course)["Ada"] == b"a"


def test_a_sortable_name_that_ends_in_a_number_is_not_an_id(course, zipped, capsys):
    code, printed = collect(course, zipped({"ada_123_40_x.ipynb": b"a", "eve_123_666_50_x.ipynb": b"e"}), capsys)
    assert code == 1 and submitted(course) == {"123": b"a"}
    assert "skipped: eve_123_666_50_x.ipynb: its name could belong to student 123 or 666" in printed.out


@pytest.mark.parametrize(("file", "student"), [
    ("lovelaceada_123_4567_2026_11_28_attention.ipynb", "123"),
    ("lovelaceada_LATE_123_4567_2026_11_28_attention.ipynb", "123"),
    ("o_neil_7_124_4567_1_2_x.ipynb", "124"),
    ("lovelaceada_123_4567_124_8_x.ipynb", ""),  # Ada's file imitates the student 124
    ("eve_666_7890_124_8_x.ipynb", ""),  # the file of a student who is not in the roster imitates the student 124
    ("eve_123_666_7890_x.ipynb", ""),
])  # fmt: skip
def test_a_roster_decides_which_number_of_canvass_is_the_students(course, zipped, tmp_path, capsys, file, student):
    (tmp_path / "roster.csv").write_text('Student,ID,Section\n"Lovelace, Ada",123,\n"O_Neil 7, _",124,\n')
    assert main(["roster", str(tmp_path / "roster.csv"), "--course", str(course)]) == 0
    collect(course, zipped({file: b"a", "lovelaceada_123_1_x.ipynb": b"b"}), capsys)
    assert submitted(course) == {"123": b"b"} | ({student: b"a"} if student else {})


# ------------------------------------------------------------------------------------- finding the students


def test_two_students_with_one_name_stay_two(course, zipped, capsys):
    files = {MOODLE.format("Ada Lovelace", 11): b"a", MOODLE.format("Ada Lovelace", 12): b"b"}
    code, _ = collect(course, zipped(files), capsys)
    assert code == 0 and submitted(course) == {"participant-11": b"a", "participant-12": b"b"}
    code, printed = collect(course, zipped(files), capsys, "--by-name")
    assert code == 1 and "2 files: " in printed.out and printed.out.count("2 participants have this name") == 1


def test_blind_marking_places_all_participants(course, zipped, roster, capsys):
    roster(("al1815", "Ada", "Lovelace", "ada@example.org"))
    files = {MOODLE.format("Participant", number): bytes([number]) for number in range(1, 6)}
    code, _ = collect(course, zipped(files), capsys)
    assert code == 0 and set(submitted(course)) == {f"participant-{number}" for number in range(1, 6)}


def test_with_a_roster_display_names_need_a_worksheet_or_a_request(course, zipped, roster, worksheet, capsys):
    roster(("al1815", "Ada", "Lovelace", "ADA@example.org"), ("al1816", "Ada", "Lovelace", "other@example.org"),
           ("en1882", "Emmy", "Noether", ""))  # fmt: skip
    files = {MOODLE.format("Ada Lovelace", 11): b"a", MOODLE.format("Ada Lovelace", 12): b"b",
             MOODLE.format("Emmy Noether", 13): b"e", MOODLE.format("Eve", 99): b"?"}  # fmt: skip
    code, printed = collect(course, zipped(files), capsys)
    assert code == 2 and "--table FILE" in printed.err and submitted(course) == {}
    code, printed = collect(course, zipped(files), capsys, "--table", worksheet)
    assert code == 1 and submitted(course) == {"al1815": b"a", "al1816": b"b"}
    assert "no student in the roster is participant 13" in printed.out and "has no participant 99" in printed.out
    collect(course, zipped(files), capsys, "--by-name")
    assert submitted(course) == {"al1815": b"a", "al1816": b"b", "en1882": b"e"}


@pytest.mark.parametrize("option", ["--table", "--by-name"])
def test_names_that_macos_has_unpacked_are_found(course, zipped, roster, worksheet, capsys, option):
    roster(("jn1", "José", "Núñez", "jose@example.org"))
    worksheet.write_text(WORKSHEET.replace("Ada Lovelace", "José Núñez").replace("ada@", "jose@"))
    files = {MOODLE.format(unicodedata.normalize("NFD", "José Núñez"), 11): b"a"}
    code, _ = collect(course, zipped(files), capsys, *([option, worksheet] if option == "--table" else [option]))
    assert code == 0 and submitted(course) == {"jn1": b"a"}


def test_a_group_does_not_hand_in_for_the_participant_with_its_number(course, zipped, worksheet, capsys):
    files = {MOODLE.format("Group A", 11): b"g", MOODLE.format("ADA LOVELACE", 12): b"b"}
    code, printed = collect(course, zipped(files), capsys, "--table", worksheet)
    assert code == 1 and submitted(course) == {"other@example.org": b"b"}
    assert "has another name for participant 11: if it is a group's file" in printed.out


TEAMS = """\
Identifier,"Full name","Email address",Status,Group,Grade,"Maximum grade","Last modified (submission)",\
"Last modified (grade)"
"Participant 11","Ada Lovelace",ada@example.org,Submitted,"Group A",,22.00,"Tuesday, 3 February 2026, 10:00 AM",-
"Participant 12","Emmy Noether",emmy@example.org,Submitted,"Group A",,22.00,"Tuesday, 3 February 2026, 10:00 AM",-
"Participant 13","Sofja Kovalevskaja",sofja@example.org,Submitted,"Group B",,22.00,"Tuesday, 3 February 2026, 9:00 AM",-
"Participant 14","Max Mustermann",max@example.org,"No submission","Default group",,22.00,-,-
"""


def test_a_group_hands_in_for_each_of_its_members(course, zipped, worksheet, contents, tmp_path, capsys):
    """The group's number, 11, is also a participant's. Feedback and score go back to each member."""
    worksheet.write_text(TEAMS)
    files = {MOODLE.format("Group A", 11): contents["perfect"], MOODLE.format("Group B", 12): contents["truncated"]}
    code, printed = collect(course, zipped(files), capsys, "--table", worksheet)
    assert code == 0 and set(submitted(course)) == {"ada@example.org", "emmy@example.org", "sofja@example.org"}
    assert submitted(course)["emmy@example.org"] == contents["perfect"] and "3 files = 3 placed" in printed.out
    assert stamps(course)["sofja@example.org"] == "2026-02-03 09:00:00 UTC\n"
    options = ["--course", str(course)]
    assert main(["grade", CHAPTER, *options]) == 0
    assert main(["feedback", CHAPTER, "--to", "moodle", *options, "--output", str(tmp_path / "back.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "back.zip") as archive:
        assert {name.partition("_assign")[0] for name in archive.namelist()} == {
            "Ada Lovelace_11", "Emmy Noether_12", "Sofja Kovalevskaja_13",
        }  # fmt: skip
    into = ["--into", str(worksheet), "--output", str(tmp_path / "out.csv")]
    assert main(["export", CHAPTER, "--to", "moodle", *into, *options]) == 0
    grades = [line.split(",")[2] for line in (tmp_path / "out.csv").read_text().splitlines()]
    assert grades == ["Grade", "22.0", "22.0", "0.0", ""]
    capsys.readouterr()
    assert main(["report", CHAPTER, *options]) == 0
    report = (course / "report" / CHAPTER / "index.html").read_text()
    assert "ada@example.org Ada Lovelace and emmy@example.org" not in report and "and emmy@example.org" not in report


# instructure/canvas-lms, app/controllers/group_categories_controller.rb (build_row); user_id is the SIS id.
CANVAS_GROUPS = """\
name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id
"Lovelace, Ada",123,S1,al1815,A,Analysts,77,
"Noether, Emmy",124,S2,emmy,A,Analysts,77,
"Kovalevskaja, Sofja",125,S3,sofja,A,Others,78,
"Mustermann, Max",126,S4,max,A,,,
"""


@pytest.mark.thorough("the same for Canvas as for Moodle")
def test_a_group_of_canvas_hands_in_for_each_of_its_members(course, zipped, contents, tmp_path, capsys):
    """Canvas writes one file for a group, with the number of one member, and gives that member's feedback to all."""
    (tmp_path / "groups.csv").write_text(CANVAS_GROUPS)
    files = {
        "analysts_124_5001_x.ipynb": contents["perfect"],
        "analysts_124_5002_regrade.txt": b"softmax: why?",
        "others_LATE_125_5003_x.ipynb": contents["mistake-1"],
        "mustermannmax_126_5004_x.ipynb": contents["truncated"],
    }
    main(["due", CHAPTER, "--at", "2026-02-03", "--course", str(course)])
    _, printed = collect(course, zipped(files), capsys, "--table", tmp_path / "groups.csv")
    assert set(submitted(course)) == {"123", "124", "125", "126"} and "regrade requests: 123, 124" in printed.out
    assert submitted(course)["123"] == submitted(course)["124"] == contents["perfect"]
    assert "marked as late by the platform: 125" in printed.out
    options = ["--course", str(course)]
    assert main(["grade", CHAPTER, *options]) == 0
    assert main(["feedback", CHAPTER, "--to", "canvas", *options, "--output", str(tmp_path / "back.zip")]) == 0
    assert "the feedback of 4 students" in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / "back.zip") as archive:
        assert [name.partition("_01")[0] for name in archive.namelist()] == [
            "analysts_124_5001", "others_LATE_125_5003", "mustermannmax_126_5004",
        ]  # fmt: skip


def test_canvas_shows_a_group_the_page_of_the_member_whose_number_the_file_has(
    course, zipped, contents, tmp_path, capsys
):
    (tmp_path / "groups.csv").write_text(CANVAS_GROUPS)
    options = ["--course", str(course)]
    main(["due", CHAPTER, "--at", "2026-02-03", "--late", "50%", "2026-02-10", *options])
    download = zipped({"analysts_LATE_124_5001_x.ipynb": contents["perfect"]})
    collect(course, download, capsys, "--table", tmp_path / "groups.csv")
    main(["grade", CHAPTER, *options])
    feedback = ["feedback", CHAPTER, "--to", "canvas", *options, "--output", str(tmp_path / "back.zip")]
    assert main(feedback) == 0 and "the feedback of 2 students" in capsys.readouterr().out

    main(["extend", "123", CHAPTER, "--until", "2026-02-05", *options])
    main(["grade", CHAPTER, *options])
    capsys.readouterr()
    assert main(feedback) == 1
    out = capsys.readouterr().out
    assert "skipped: 123: Canvas shows the whole group the page of 124, and this student's page differs" in out
    with zipfile.ZipFile(tmp_path / "back.zip") as archive:
        assert archive.namelist() == [f"analysts_LATE_124_5001_{CHAPTER}.html"]
        assert archive.read(archive.namelist()[0]) == (course / f"feedback/124/{CHAPTER}/{CHAPTER}.html").read_bytes()


def test_canvas_gives_groups_and_times(course, zipped, due, contents, tmp_path, capsys):
    tables = [tmp_path / "groups.csv", tmp_path / "times.csv"]
    tables[0].write_text(CANVAS_GROUPS)
    tables[1].write_text("user_id,submitted_at\n123,2026-02-04T08:00:00Z\n124,2026-02-04T08:00:00Z\n")
    download = zipped({"analysts_LATE_124_5001_x.ipynb": contents["perfect"]})
    for order in (tables, tables[::-1]):
        shutil.rmtree(course / "submitted", ignore_errors=True)
        code, _ = collect(course, download, capsys, "--table", order[0], "--table", order[1])
        assert code == 0 and stamps(course) == dict.fromkeys(["123", "124"], "2026-02-04 08:00:00 UTC\n")


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_a_teams_file_has_one_time(course, zipped, worksheet, due, contents, tmp_path, capsys, platform):
    """The table may have times for some members only, or several: the team handed in when its last member did."""
    (tmp_path / "groups.csv").write_text(CANVAS_GROUPS)
    rows = ["user_id,submitted_at", "123,", "124,2026-02-04T08:00:00Z", "125,2026-02-01T08:00:00Z"]
    (tmp_path / "times.csv").write_text("\n".join(rows))
    worksheet.write_text(TEAMS.replace("10:00 AM", "8:00 AM", 1).replace(
        '"Group B",,22.00,"Tuesday, 3 February 2026, 9:00 AM"', '"Group A",,22.00,-'))  # fmt: skip
    if platform == "canvas":
        download = zipped({"analysts_LATE_124_5001_x.ipynb": contents["perfect"], "others_125_5_x.ipynb": b"b"})
        tables = ["--table", tmp_path / "groups.csv", "--table", tmp_path / "times.csv"]
        expected = {"123": "04 08", "124": "04 08", "125": "01 08"}
    else:
        download = zipped({MOODLE.format("Group A", 11): contents["perfect"]})
        tables = ["--table", worksheet]
        expected = dict.fromkeys(("ada@example.org", "emmy@example.org", "sofja@example.org"), "03 10")
    collect(course, download, capsys, *tables)
    assert stamps(course) == {student: f"2026-02-{when}:00:00 UTC\n" for student, when in expected.items()}


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_two_tables_of_the_same_kind_are_not_guessed(course, zipped, contents, worksheet, tmp_path, capsys, platform):
    (tmp_path / "groups.csv").write_text(CANVAS_GROUPS)
    table = worksheet if platform == "moodle" else tmp_path / "groups.csv"
    name = MOODLE.format("Ada Lovelace", 11) if platform == "moodle" else "analysts_124_5001_x.ipynb"
    code, printed = collect(course, zipped({name: contents["perfect"]}), capsys, "--table", table, "--table", table)
    assert code == 2 and "are tables of the same kind: give one of them with --table" in printed.err
    assert submitted(course) == {}


def test_a_groups_file_that_is_not_a_notebook_counts_for_each_member(course, zipped, worksheet, capsys):
    """The helper checks that the numbers of files add up."""
    worksheet.write_text(TEAMS)
    files = {MOODLE.format("Group A", 11).replace(".ipynb", ".pdf"): b"%PDF"}
    _, printed = collect(course, zipped(files), capsys, "--table", str(worksheet))
    assert "2 files = 0 placed + 2 skipped" in printed.out


def test_two_groups_with_one_name_are_not_guessed(course, zipped, worksheet, capsys):
    worksheet.write_text(TEAMS)
    files = {MOODLE.format("Group A", 7): b"a", MOODLE.format("Group A", 8): b"b"}
    code, printed = collect(course, zipped(files), capsys, "--table", worksheet)
    assert code == 1 and submitted(course) == {} and printed.out.count("two groups have this name") == 1


def test_without_a_roster_the_worksheet_gives_the_ids(course, zipped, worksheet, capsys):
    files = {MOODLE.format("Ada Lovelace", 11): b"a", MOODLE.format("Ada Lovelace", 12): b"b"}
    collect(course, zipped(files), capsys, "--table", worksheet)
    assert submitted(course) == {"ada@example.org": b"a", "other@example.org": b"b"}
    worksheet.write_text(WORKSHEET.replace("Email address", "Username").replace("ada@example.org", "al1815"))
    collect(course, zipped(files), capsys, "--table", worksheet)
    assert submitted(course)["al1815"] == b"a"


@pytest.mark.parametrize(("text", "words"), [
    ("Kennung;Bewertung\nTeilnehmer/in1;\n", "Set Moodle's language to English"), ("", "is empty"),
    ("caf\xe9", "is not text in UTF-8"),
    ("Identifier,Last modified (submission)\nParticipant 1,morgens\n", "“morgens” is not a time in a form"),
])  # fmt: skip
def test_an_unusable_table_is_refused_with_a_reason(course, zipped, tmp_path, text, words, capsys):
    (tmp_path / "table.csv").write_text(text, encoding="latin-1")
    code, printed = collect(course, zipped({MOODLE.format("A", 1): b"a"}), capsys, "--table", tmp_path / "table.csv")
    assert code == 2 and words in printed.err and submitted(course) == {}


def test_of_canvass_uploads_the_last_counts(course, zipped, capsys):
    files = {
        "lovelaceada_123_20_01_attention-1.ipynb": b"second", "lovelaceada_123_10_01_attention.ipynb": b"first",
        "noetheremmy_LATE_124_30_01_attention.ipynb": b"e", "noetheremmy_LATE_124_31_notes.txt": b"?",
    }  # fmt: skip
    code, printed = collect(course, zipped(files), capsys)
    assert code == 0 and submitted(course) == {"123": b"second", "124": b"e"}
    assert "marked as late by the platform: 124" in printed.out
    assert "superseded: lovelaceada_123_10_01_attention.ipynb: this student handed in another one later" in printed.out
    assert "4 files = 2 placed + 1 skipped + 1 superseded" in printed.out


def test_anonymous_names_of_canvas(course, zipped, capsys):
    collect(course, zipped({"anon_Ab3xZ_10_x.ipynb": b"a", "LATE_anon_Qq1yT_11_x.ipynb": b"b"}), capsys)
    assert submitted(course) == {"anon_Ab3xZ": b"a", "anon_Qq1yT": b"b"}


def test_canvass_names_are_utf_8_even_if_not_marked(course, zipped, tmp_path, capsys):
    flagged = re.compile(rb"(PK\x01\x02....|PK\x03\x04..)\x00\x08", re.S)
    honest = zipped({"Äda_3_assignsubmission_file/x.ipynb": b"a"}).read_bytes()
    (tmp_path / "ruby.zip").write_bytes(flagged.sub(lambda match: match[1] + b"\0\0", honest))
    collect(course, tmp_path / "ruby.zip", capsys, "--by-name")
    assert submitted(course) == {"Äda": b"a"}


def test_endings_nested_folders_and_files_that_programs_leave(course, zipped, capsys):
    ada = "Ada_1_assignsubmission_file"
    files = {
        f"{ada}/deep/er/01_attention.ipynb": b"ada", f"{ada}/.ipynb_checkpoints/x-checkpoint.ipynb": b"old",
        f"__MACOSX/{ada}/._x.ipynb": b"mac", "Bob_2_assignsubmission_file/01_ATTENTION.IPYNB": b"bob",
        "Cleo_3_assignsubmission_file/01_attention.ipynb.txt": b"cleo",
        "Dan_4_assignsubmission_onlinetext/onlinetext.html": b"<p>hello</p>",
        "Default group_assignsubmission_file/x.ipynb": b"group",
    }  # fmt: skip
    code, printed = collect(course, zipped({f"download/{name}": content for name, content in files.items()}), capsys)
    assert submitted(course) == {"participant-1": b"ada", "participant-2": b"bob", "participant-3": b"cleo"}
    assert (
        printed.out.count("a hidden file that a program made") == 1 and "onlinetext.html: not a notebook" in printed.out
    )
    assert code == 1 and "not in a place where Moodle puts" in printed.out
    assert "7 files = 3 placed + 4 skipped + 0 superseded" in printed.out


def test_the_notebook_of_another_chapter_is_skipped(course, zipped, contents, capsys):
    other = course / "release/02_other/02_other.ipynb"
    other.parent.mkdir()
    cells = [{"id": "x", "metadata": {"nbgrader": {"grade_id": "other_task", "solution": True, "grade": False}}}]
    other.write_text(json.dumps({"cells": cells}))
    files = {"ada/a.ipynb": contents["perfect"], "ada/z.ipynb": other.read_bytes(), "ada/notes.ipynb": b"{}",
             "bob/01_attention.ipynb": other.read_bytes()}  # fmt: skip
    code, printed = collect(course, zipped(files), capsys)
    assert code == 1 and submitted(course) == {"ada": contents["perfect"]}
    assert "bob/01_attention.ipynb: it is the notebook of 02_other, not of 01_attention" in printed.out
    assert "4 files = 1 placed + 2 skipped + 1 superseded" in printed.out


def test_the_notebook_of_a_chapter_that_is_not_released_is_skipped(course, zipped, contents, capsys):
    """Students can have it from the book, which contains all chapters for studying alone."""
    about = [{"grade_id": "softmax_backward", "solution": True}, {"grade_id": "check-softmax_backward", "grade": True}]
    cells = [{"id": str(number), "metadata": {"nbgrader": of_cell}} for number, of_cell in enumerate(about)]
    files = {"ada/02_backward.ipynb": json.dumps({"cells": cells}).encode(), "bob/01_attention.ipynb": b"{}"}
    code, printed = collect(course, zipped(files), capsys)
    assert code == 1 and submitted(course) == {"bob": b"{}"}
    assert "it is the notebook of 02_backward, not of 01_attention" in printed.out


def test_a_later_download_replaces_and_keeps_the_earlier_one(course, zipped, capsys):
    path = "ada/01_attention.ipynb"
    collect(course, zipped({path: b"first", "bob/01_attention.ipynb": b"b"}, 2025), capsys)
    _, printed = collect(course, zipped({path: b"second", "bob/01_attention.ipynb": b"b"}, 2026), capsys)
    assert "replaced: 1 (ada)" in printed.out and "unchanged: 1 (bob)" in printed.out
    assert submitted(course) == {"ada": b"second", "bob": b"b"}
    assert [copy.read_bytes() for copy in (course / "replaced/ada" / CHAPTER).iterdir()] == [b"first"]
    code, printed = collect(course, zipped({path: b"first"}, 2025), capsys)
    assert code == 1 and "ada/01_attention.ipynb: older than this student's submission in the course" in printed.out
    assert submitted(course)["ada"] == b"second"


def test_an_interrupted_copy_is_not_taken_for_a_later_submission(course, zipped, monkeypatch, capsys):
    """Half of a file has the time of the interruption, which is after that of the download."""
    collect(course, zipped({"ada/01_attention.ipynb": b"first"}), capsys)
    copyfile = shutil.copyfile

    def interrupted(source, target, **options):
        if "submitted" not in str(target):
            return copyfile(source, target, **options)
        Path(target).write_bytes(b"sec")
        raise KeyboardInterrupt

    later = zipped({"ada/01_attention.ipynb": b"second"}, name="later.zip")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", interrupted)
        assert main(["collect", CHAPTER, str(later), "--course", str(course)]) == 2
    collect(course, later, capsys)
    assert submitted(course) == {"ada": b"second"}
    assert {path.name for path in (course / "submitted").rglob("*.*")} == {f"{CHAPTER}.ipynb", "timestamp.txt"}


def test_a_folder(course, tmp_path, capsys):
    folder = tmp_path / "download" / "ada"
    folder.mkdir(parents=True)
    (folder / "01_attention (1).ipynb").write_bytes(b"a")
    (folder / "link.ipynb").symlink_to("/etc/passwd")
    (folder.parent / b"\xff\xfe.ipynb".decode(errors="surrogateescape")).write_bytes(b"?")
    _, printed = collect(course, tmp_path / "download", capsys)
    assert submitted(course) == {"ada": b"a"}
    assert (
        "link.ipynb: a symbolic link" in printed.out and r"skipped: \udcff\udcfe.ipynb: its name holds" in printed.out
    )


def test_an_empty_notebook_in_a_folder_counts_as_in_a_zip_file(course, zipped, tmp_path, capsys):
    (tmp_path / "download" / "ada").mkdir(parents=True)
    (tmp_path / "download" / "ada" / "01_attention.ipynb").write_bytes(b"")
    for download, student in ((tmp_path / "download", "ada"), (zipped({"eve/01_attention.ipynb": b""}), "eve")):
        code, _ = collect(course, download, capsys)
        assert code == 0 and submitted(course)[student] == b""


# ------------------------------------------------------------------------------------------- hostile downloads


@pytest.mark.parametrize(("entry", "words"), [
    ("../../ada/01_attention.ipynb", "leads out of the download"), ("../01_attention.ipynb", "leads out"),
    ("/etc/ada/01_attention.ipynb", "leads out"), ("..\\..\\ada\\01_attention.ipynb", "a hidden file"),
    ("..hidden/01_attention.ipynb", "a hidden file"), ("a*b/01_attention.ipynb", "cannot handle an id that contains *"),
    ("a[b/01_attention.ipynb", "cannot handle an id"), (" ada/x.ipynb", "cannot handle an id"),
    (f"{'é' * 150}/01_attention.ipynb", "more than 200 bytes"), (f"{'x' * 300}.ipynb", "not in a student's folder"),
    ("new\nline/01_attention.ipynb", "control characters"), ("bell\7/01_attention.ipynb", "control characters"),
    ("rtl\u202e/01_attention.ipynb", "control characters"),
])  # fmt: skip
def test_a_bad_name_costs_only_its_own_file_and_is_listed(course, zipped, tmp_path, entry, words, capsys):
    archive = zipped({entry: b"x", "bob/01_attention.ipynb": b"b"})
    before = {path for path in tmp_path.rglob("*") if "submitted" not in path.parts}
    _, printed = collect(course, archive, capsys)
    after = {path for path in tmp_path.rglob("*") if "submitted" not in path.parts}
    assert after - before <= {course / ".lock"}
    (line,) = [line for line in printed.out.splitlines() if line.startswith("skipped: ")]
    assert words in line and submitted(course) == {"bob": b"b"}


def test_a_name_that_is_not_text_costs_only_its_own_file(course, zipped, tmp_path, capsys):
    files = {"ÄÄ/01_attention.ipynb": b"?", "bob/01_attention.ipynb": b"b", "Ö/01_attention.ipynb": b"o"}
    broken = zipped(files).read_bytes().replace("ÄÄ".encode(), b"\xff\xfe\xff\xfe")
    (tmp_path / "broken.zip").write_bytes(broken)
    code, printed = collect(course, tmp_path / "broken.zip", capsys)
    assert code == 1 and submitted(course) == {"bob": b"b", "Ö": b"o"}
    assert "its name holds bytes that are not text" in printed.out


def test_no_name_in_a_download_can_imitate_our_output(course, zipped, capsys):
    files = {"x.ipynb\nnew: 1 (eve)": b"x", "\x1b[2Knew: 2.ipynb": b"x", "bob/01_attention.ipynb": b"b"}
    _, printed = collect(course, zipped(files), capsys)
    assert [line for line in printed.out.splitlines() if line.startswith("new: ")] == ["new: 1 (bob)"]
    assert r"skipped: 2 files: x.ipynb\nnew: 1 (eve) and \x1b[2Knew: 2.ipynb: " in printed.out


def test_a_limit_keeps_one_student_from_filling_the_disk(course, zipped, monkeypatch, capsys):
    files = {f"ada/{number:02}.ipynb": b"%d" % number for number in range(25)} | {"bob/01_attention.ipynb": b"b"}
    code, printed = collect(course, zipped(files), capsys)
    assert code == 1 and set(submitted(course)) == {"ada", "bob"}
    assert "skipped: 5 files: " in printed.out and "more than the limit of 20 notebooks and 200 MB" in printed.out
    monkeypatch.setattr("autograder.collecting.latest_notebooks.MAX_BYTES", 3)
    files = {"cleo/a.ipynb": b"12", "cleo/b.ipynb": b"34", "dan/b.ipynb": b"d"}
    code, printed = collect(course, zipped(files), capsys)
    assert printed.out.count("this student handed in more than the limit") == 1
    assert {"cleo", "dan"} < set(submitted(course))


def test_bombs_and_broken_archives_are_refused_with_a_reason(course, tmp_path, zipped, monkeypatch, capsys):
    monkeypatch.setattr("autograder.collecting.zip_or_folder.MAX_BYTES", 10_000)
    bomb = zipped({"ada/01_attention.ipynb": bytes(100_000_000), "bob/01_attention.ipynb": b"b"})
    _, printed = collect(course, bomb, capsys)
    assert "ada/01_attention.ipynb: it has 100 MB" in printed.out and submitted(course) == {"bob": b"b"}
    monkeypatch.setattr("autograder.collecting.latest_notebooks.MAX_TOTAL", 3)
    _, printed = collect(course, zipped({"cleo/x.ipynb": b"12", "dan/x.ipynb": b"34"}), capsys)
    assert "dan/x.ipynb: the download holds more than" in printed.out and set(submitted(course)) == {"bob", "cleo"}
    broken = tmp_path / "broken.zip"
    broken.write_bytes(bomb.read_bytes()[:-30])
    assert "neither a folder nor a readable zip file" in collect(course, broken, capsys)[1].err
    assert "there is no file or folder" in collect(course, tmp_path / "nowhere", capsys)[1].err


def test_a_false_size_costs_only_its_own_file(course, tmp_path, zipped, capsys):
    honest = zipped({"ada/01_attention.ipynb": bytes(1_000_000), "bob/01_attention.ipynb": b"b"}).read_bytes()
    false = tmp_path / "false.zip"
    false.write_bytes(honest.replace((1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    code, printed = collect(course, false, capsys)
    assert code == 1 and "ada/01_attention.ipynb: it cannot be unpacked" in printed.out
    assert submitted(course) == {"bob": b"b"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_entries_with_one_name_are_all_accounted_for(course, zipped, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "double.zip", "w") as archive:
        for content in (b"one", b"two", b"three"):
            archive.writestr("ada/x.ipynb", content)
    broken = (tmp_path / "double.zip").read_bytes().replace(b"two", b"owt")
    (tmp_path / "double.zip").write_bytes(broken)
    _, printed = collect(course, tmp_path / "double.zip", capsys)
    assert "3 files = 1 placed" in printed.out and submitted(course)["ada"] in (b"one", b"three")


def test_a_collected_submission_is_graded(course, zipped, contents, capsys):
    code, printed = collect(
        course, zipped({MOODLE.format("Ada Lovelace", 1): contents["mistake-1"]}), capsys, "--by-name"
    )
    assert code == 0, printed
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    assert "Ada Lovelace" in capsys.readouterr().out
    assert os.listdir(course / "feedback") == ["Ada Lovelace"]
