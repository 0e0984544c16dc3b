"""A roster changes during a term: other columns, teachers among the students, students who leave and come back.

The tables are those of moodle/moodle, user/action_redir.php (download_participants: names and the identity fields that
the site shows, no roles); mod/assign/gradingtable.php for the worksheet.
"""

import csv
import re
import shutil
import stat
import zipfile

import pytest
from nbgrader.api import Gradebook

from autograder.cli.main import main
from autograder.course.roster_file import load_roster
from autograder.gradebook.coursedir import open_coursedir
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading

STUDENTS = range(1, 27)


def participants(*columns, lecturer=True):
    """Return Moodle's table of participants with these identity fields, in which the lecturer has no ID number."""
    rows = [["First name", "Last name", *columns]]
    rows += [["Some", f"Body {n}", *(value(n)[column] for column in columns)] for n in STUDENTS]
    if lecturer:
        rows.append(["Lea", "Lecturer", *({"Email address": "lea@example.org"}.get(column, "") for column in columns)])
    return "\n".join(map(",".join, rows)) + "\n"


def value(n):
    return {"ID number": f"{4700 + n}", "Email address": f"s{n}@example.org", "Username": f"user{n}"}


@pytest.fixture
def run(tmp_path, capsys):
    """run("roster", text, *more) writes the text into a file and runs the command on it in tmp_path / "course"."""

    def command(name, text, *more):
        (tmp_path / "table.csv").write_text(text, encoding="utf-8")
        code = main([name, str(tmp_path / "table.csv"), *more, "--course", str(tmp_path / "course")])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return command


def ids(course):
    with Gradebook(open_coursedir(course, "").db_url) as gradebook:
        return {student.id for student in gradebook.students}


BOTH = participants("ID number", "Email address")
NUMBERS = {value(n)["ID number"] for n in STUDENTS}


@pytest.mark.parametrize(("before", "mode"), [(None, 0o700), ([], 0o700), (["notes.txt"], 0o750)], ids=str)
def test_only_the_owner_can_open_a_new_course(run, tmp_path, before, mode):
    """nbgrader's gradebook is readable for every account. A folder with files keeps the mode that its owner chose."""
    if before is not None:
        (tmp_path / "course").mkdir()
        (tmp_path / "course").chmod(0o750)
        for name in before:
            (tmp_path / "course" / name).touch()
    run("roster", BOTH)
    assert stat.S_IMODE((tmp_path / "course").stat().st_mode) == mode


def test_a_lecturer_without_an_id_number_does_not_change_the_ids(run, tmp_path):
    code, printed = run("roster", BOTH)
    assert code == 1 and "ids are the column 'ID number'" in printed
    assert "skipped: Lea Lecturer: has no ID number, as teachers often have none" in printed
    assert ids(tmp_path / "course") == NUMBERS


@pytest.mark.parametrize("columns", [
    ["Email address"], ["ID number"], ["Email address", "ID number"], ["Username", "ID number"],
], ids=" ".join)  # fmt: skip
def test_another_export_of_the_same_class_adds_no_student(run, tmp_path, columns):
    run("roster", BOTH)
    code, printed = run("roster", participants(*columns, lecturer=False))
    assert code == 0 and "0 new" in printed and ids(tmp_path / "course") == NUMBERS


def test_identifiers_of_several_exports_add_up(run, tmp_path):
    """A user name that only the second export has identifies the students of the third one."""
    run("roster", BOTH)
    run("roster", participants("Username", "Email address", lecturer=False))
    assert "0 new" in run("roster", participants("Username", lecturer=False))[1]


def test_a_gradebook_of_addresses_keeps_its_ids(run, tmp_path):
    """Earlier versions left no file that says which column the ids are from."""
    run("roster", participants("Email address", lecturer=False))
    (tmp_path / "course" / "roster.json").unlink()
    code, printed = run("roster", participants("Email address", "ID number", lecturer=False))
    assert code == 0 and "ids are the column 'Email address'" in printed
    assert ids(tmp_path / "course") == {value(n)["Email address"] for n in STUDENTS}


def test_an_id_column_changes_only_by_request(run, tmp_path):
    run("roster", BOTH)
    late = participants("Email address", lecturer=False) + "New,Comer,new@example.org\n"
    code, printed = run("roster", late)
    assert code == 1 and "0 new, 0 changed, 26 unchanged" in printed and ids(tmp_path / "course") == NUMBERS
    assert "skipped: New Comer: has no ID number" in printed and "or another column: --ids COLUMN" in printed
    code, printed = run("roster", late, "--ids", "email address")
    assert code == 0 and ids(tmp_path / "course") == NUMBERS | {"new@example.org"}
    assert "which has no column 'Matrikel' for ids: 'Email address'" in run("roster", late, "--ids", "Matrikel")[1]


def test_an_address_that_moved_to_another_person_is_not_guessed(run, tmp_path):
    run("roster", BOTH)
    swapped = "First name,Last name,ID number,Email address\nSome,Body 1,4701,s2@example.org\n"
    code, printed = run("roster", swapped)
    assert (
        code == 1
        and "skipped: Some Body 1: the gradebook has this person twice, as 4701 and 4702: remove the one without scores"
        in printed
    )
    assert "first move what course/submitted/4701 lacks from course/submitted/4702" in printed


@pytest.mark.parametrize("before", [None, [], ["notes.txt"]], ids=str)
def test_dry_run_writes_nothing(run, tmp_path, before):
    if before is not None:
        (tmp_path / "course").mkdir()
        for name in before:
            (tmp_path / "course" / name).touch()
    code, printed = run("roster", BOTH, "--dry-run")
    assert code == 1 and "26 new" in printed and "Nothing was written." in printed
    after = sorted(path.name for path in tmp_path.rglob("*"))
    assert after == sorted(["table.csv", *([] if before is None else ["course", *before])])


def test_dry_run_compares_with_the_course(run, tmp_path):
    run("roster", participants("ID number", lecturer=False))
    before = {path: path.read_bytes() for path in (tmp_path / "course").iterdir()}
    assert "0 new, 26 changed, 0 unchanged" in run("roster", BOTH, "--dry-run")[1]
    assert {path: path.read_bytes() for path in (tmp_path / "course").iterdir()} == before


def test_students_who_left_are_listed_and_withdrawn_by_request(run, tmp_path):
    run("roster", BOTH)
    without = re.sub("^Some,Body [12],.*\n", "", BOTH, flags=re.M)
    code, printed = run("roster", without)
    assert "not in this table: 4701 Some Body 1\nnot in this table: 4702" in printed and "with --remove" in printed
    assert load_roster(tmp_path / "course").withdrawn == frozenset()
    assert "withdrawn: 4701" in run("roster", without, "--remove", "--dry-run")[1]
    assert load_roster(tmp_path / "course").withdrawn == frozenset()
    run("roster", without, "--remove")
    assert load_roster(tmp_path / "course").withdrawn == {"4701", "4702"} and ids(tmp_path / "course") == NUMBERS
    assert "not in this table" not in run("roster", without)[1]
    code, printed = run("roster", BOTH)
    assert "enrolled again: 4701" in printed and load_roster(tmp_path / "course").withdrawn == frozenset()


def canvas_gradebook(*columns, names=lambda n: f"Body {n}, Some", students=STUDENTS):
    """Return Canvas's gradebook of the same class: Canvas's own numbers, and these columns from `value`."""
    of_moodle = {"SIS User ID": "ID number", "SIS Login ID": "Username"}
    rows = ["Student,ID,SIS User ID,SIS Login ID,Section", "    Points Possible,,,,"]
    for n in students:
        filled = [value(n)[of_moodle[column]] if column in columns else "" for column in of_moodle]
        rows.append(",".join([f'"{names(n)}"', str(n), *filled, ""]))
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("column", ["SIS User ID", "SIS Login ID"])
@pytest.mark.parametrize("first", ["moodle", "canvas"])
def test_the_other_platform_lists_the_same_students(run, tmp_path, first, column):
    """An identifier that both platforms have from the institution, and the name, identify a student."""
    moodle, canvas = participants("ID number", "Username", lecturer=False), canvas_gradebook(column)
    tables = (moodle, canvas) if first == "moodle" else (canvas, moodle)
    assert run("roster", tables[0])[0] == 0
    before = ids(tmp_path / "course")
    code, printed = run("roster", tables[1])
    assert code == 0 and "0 new" in printed and ids(tmp_path / "course") == before
    identifiers = load_roster(tmp_path / "course").identifiers
    assert all({"ID", "Username", "ID number", column} <= set(of_student) for of_student in identifiers.values())


def test_teachers_in_the_table_of_the_other_platform_are_skipped(run, tmp_path):
    """Canvas's numbers are the ids, and Moodle's table has none."""
    run("roster", canvas_gradebook("SIS User ID"))
    before = ids(tmp_path / "course")
    code, printed = run("roster", BOTH)
    assert code == 1 and "27 rows = 26 students + 1 skipped" in printed and ids(tmp_path / "course") == before
    assert "skipped: Lea Lecturer: has no ID, as teachers often have none" in printed
    assert {"ID number", "Email address"} <= set(load_roster(tmp_path / "course").identifiers["1"])


def test_a_table_of_another_class_on_the_other_platform_is_refused(run, tmp_path):
    run("roster", canvas_gradebook())
    before = ids(tmp_path / "course")
    code, printed = run("roster", BOTH)
    assert code == 2 and "has no such column and lists no student of the course" in printed
    assert ids(tmp_path / "course") == before


def test_accents_and_capitals_may_differ_on_the_other_platform(run, tmp_path):
    run("roster", participants("ID number", lecturer=False).replace("Some,Body 1,", "José,Núñez,"))
    text = canvas_gradebook("SIS User ID").replace("Body 1, Some", "NUNEZ, Jose")
    code, printed = run("roster", text)
    assert code == 0 and "0 new" in printed


@pytest.mark.parametrize(("first", "last", "on_canvas"), [
    ("Madonna", "", "Madonna"), ("Robert", "Smith, Jr.", "Smith, Jr., Robert"), ("José", "Núñez", "Nunez, Jose"),
])  # fmt: skip
def test_the_other_platform_does_not_rearrange_a_name(run, tmp_path, first, last, on_canvas):
    run("roster", participants("ID number", lecturer=False).replace("Some,Body 1,", f'{first},"{last}",'))
    assert "0 changed" in run("roster", canvas_gradebook("SIS User ID").replace("Body 1, Some", on_canvas))[1]
    with Gradebook(open_coursedir(tmp_path / "course", "").db_url) as gradebook:
        student = gradebook.find_student("4701")
        assert (student.first_name, student.last_name or "") == (first, last)


def test_a_table_of_full_names_does_not_repeat_last_names(run, tmp_path):
    """Moodle's grading worksheet has the identifiers of a roster, but no column of last names."""
    run("roster", BOTH)
    rows = [f"Participant {n},Some Body {n},{value(n)['ID number']}" for n in STUDENTS]
    assert "0 new, 0 changed" in run("roster", "\n".join(["Identifier,Full name,ID number", *rows]))[1]
    with Gradebook(open_coursedir(tmp_path / "course", "").db_url) as gradebook:
        assert gradebook.find_student("4701").first_name == "Some"
    corrected = BOTH.replace("Some,Body 1,", "Body,1 Some,")
    assert "1 changed" in run("roster", corrected)[1]


def test_an_address_may_be_the_login_on_canvas(run, tmp_path):
    run("roster", participants("Email address", lecturer=False))
    text = re.sub("user(\\d+)", "S\\1@example.org", canvas_gradebook("SIS Login ID"))
    code, printed = run("roster", text)
    assert code == 0 and "0 new" in printed


def test_another_name_on_the_other_platform_is_another_person(run, tmp_path):
    """Two institutions may give out the same number."""
    run("roster", participants("ID number", lecturer=False))
    text = canvas_gradebook("SIS User ID", names=lambda n: "Noether, Emmy" if n == 3 else f"Body {n}, Some")
    code, printed = run("roster", text, "--remove")
    assert code == 1 and load_roster(tmp_path / "course").withdrawn == frozenset()
    assert "skipped: Emmy Noether: has an identifier of 4703 Some Body 3, and another name" in printed
    assert "ID" not in load_roster(tmp_path / "course").identifiers["4703"]


def test_a_damaged_file_of_identifiers_is_one_line(run, tmp_path):
    run("roster", BOTH)
    (tmp_path / "course" / "roster.json").write_text('{"ids": 3}')
    code, printed = run("roster", BOTH)
    assert code == 2 and "roster.json is damaged" in printed and printed.count("\n") == 1


# ------------------------------------------------------------------------ what a roster does to the rest of the term


@pytest.fixture
def term(course, run, contents, tmp_path, capsys):
    """A released course in tmp_path / "course" whose roster has ID numbers, with one submission in a download."""
    run("roster", BOTH)
    with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
        archive.writestr(f"Some Body 1_31_assignsubmission_file/{CHAPTER}.ipynb", contents["truncated"])
    return course


@pytest.mark.parametrize("column", ["ID number", "Email address", "Username"])
def test_a_worksheet_with_any_known_identifier_finds_the_students(term, run, tmp_path, column, capsys):
    run("roster", participants("Username", "Email address", lecturer=False))
    rows = [f"Identifier,Full name,{column},Grade", f"Participant 31,Some Body 1,{value(1)[column]},"]
    (tmp_path / "sheet.csv").write_text("\n".join(rows))
    download, table = str(tmp_path / "download.zip"), str(tmp_path / "sheet.csv")
    assert main(["collect", CHAPTER, download, "--table", table, "--course", str(term)]) == 0
    assert [path.name for path in (term / "submitted").iterdir()] == ["4701"]


@pytest.mark.parametrize("folder", ["4701", "s1@example.org", "S1@Example.org"])
def test_a_folder_may_have_any_identifier_of_the_roster(term, folder, tmp_path, contents, capsys):
    path = tmp_path / "folders" / folder / f"{CHAPTER}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(contents["perfect"])
    assert main(["collect", CHAPTER, str(path.parent.parent), "--course", str(term)]) == 0
    assert [path.name for path in (term / "submitted").iterdir()] == ["4701"]


def test_a_folder_with_the_id_of_one_and_another_number_of_two_is_the_first(course, run, tmp_path, contents, capsys):
    run("roster", participants("ID number", lecturer=False))
    run("roster", canvas_gradebook("SIS User ID").replace('"Body 2, Some",2,', '"Body 2, Some",4701,'))
    path = tmp_path / "folders" / "4701" / f"{CHAPTER}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(contents["perfect"])
    assert main(["collect", CHAPTER, str(path.parent.parent), "--course", str(course)]) == 0
    assert [path.name for path in (course / "submitted").iterdir()] == ["4701"]


def test_exports_leave_withdrawn_students_out(term, run, tmp_path, capsys):
    run("roster", re.sub("^Some,Body [12],.*\n", "", BOTH, flags=re.M), "--remove")
    for to in ("csv", "moodle"):
        assert main(["export", "--to", to, "--course", str(term), "--output", str(tmp_path / "out.csv")]) == 0
        text = (tmp_path / "out.csv").read_text()
        assert "Body 3" in text and "Body 1," not in text and "Body 2," not in text


@pytest.mark.parametrize(("roster", "to", "columns", "cells"), [
    (participants("ID number", lecturer=False), "canvas", slice(1, 4), ["", "4701", ""]),
    (participants("Username", "ID number", lecturer=False), "canvas", slice(1, 4), ["", "4701", "user1"]),
    (participants("Email address", lecturer=False), "canvas", slice(1, 4), ["", "", "s1@example.org"]),
    (participants("ID number", "Email address", lecturer=False), "moodle", slice(2, 5), ["", "4701", "s1@example.org"]),
    (canvas_gradebook("SIS Login ID"), "canvas", slice(1, 4), ["1", "", "user1"]),
    (canvas_gradebook("SIS User ID", "SIS Login ID"), "moodle", slice(2, 5), ["user1", "4701", ""]),
])  # fmt: skip
def test_an_exported_id_is_in_the_column_of_its_kind(course, run, tmp_path, roster, to, columns, cells):
    """Moodle's ID number 4701 must not become the score of the person with Canvas's number 4701."""
    assert run("roster", roster)[0] == 0
    assert main(["export", "--to", to, "--course", str(course), "--output", str(tmp_path / "out.csv")]) == 0
    (row,) = [
        row for row in csv.reader((tmp_path / "out.csv").open(encoding="utf-8")) if {"Body 1", "Body 1, Some"} & {*row}
    ]
    assert row[columns] == cells


def test_chapters_are_exported_in_the_order_of_the_book(course, run, tmp_path):
    """nbgrader sorts assignments by their due dates."""
    run("roster", BOTH)
    shutil.copytree(course / "release" / CHAPTER, course / "release" / "02_backward")
    (course / "release" / "02_backward" / f"{CHAPTER}.ipynb").rename(course / "release/02_backward/02_backward.ipynb")
    with Gradebook(open_coursedir(course, "").db_url) as gradebook:
        gradebook.update_or_create_assignment("02_backward", duedate="2026-02-03 12:00:00 UTC")
        gradebook.update_or_create_assignment(CHAPTER, duedate="2026-02-04 12:00:00 UTC")
    assert main(["export", "--to", "moodle", "--course", str(course), "--output", str(tmp_path / "out.csv")]) == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[0].endswith(f"{CHAPTER},02_backward")


def test_canvas_numbers_become_the_ids_of_the_roster(course, run, contents, tmp_path, capsys):
    table = 'Student,ID,SIS User ID,SIS Login ID,Section,01_attention (901)\n"Lovelace, Ada",123,S1,al1815,A,\n'
    assert run("roster", table, "--ids", "SIS Login ID")[0] == 0 and ids(course) == {"al1815"}
    with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
        archive.writestr("lovelaceada_123_50_01_attention.ipynb", contents["truncated"])
    assert main(["collect", CHAPTER, str(tmp_path / "download.zip"), "--course", str(course)]) == 0
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    out = tmp_path / "out.csv"
    into = ["--into", str(tmp_path / "table.csv"), "--output", str(out), "--course", str(course)]
    assert main(["export", CHAPTER, "--to", "canvas", *into]) == 0
    assert out.read_text().splitlines()[-1].endswith("0.0")


def test_names_stand_beside_ids_unless_grading_is_blind(term, run, tmp_path, contents, capsys):
    run("roster", re.sub("^Some,Body [4-9],.*\n|^Some,Body [12].,.*\n", "", BOTH, flags=re.M), "--remove")
    submitted = term / "submitted" / "4701" / CHAPTER
    submitted.mkdir(parents=True)
    (submitted / f"{CHAPTER}.ipynb").write_bytes(contents["truncated"])
    assert main(["grade", CHAPTER, "--course", str(term)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^4701 +Some Body 1 .* 0$", out, re.M) and "4701 Some Body 1: The file ends" in out
    assert "No submission in the course:\n  4702 Some Body 2\n  4703 Some Body 3\n\n" in out
    assert main(["report", CHAPTER, "--course", str(term)]) == 0
    report = term / "report" / CHAPTER
    assert "4701</a> Some Body 1" in (report / "index.html").read_text()
    assert "<h1>4701 Some Body 1</h1>" in (report / "students" / "4701.html").read_text()
    capsys.readouterr()
    assert main(["grade", CHAPTER, "--blind", "--course", str(term)]) == 0
    assert main(["report", CHAPTER, "--anonymous", "--course", str(term)]) == 0
    assert "Some Body" not in capsys.readouterr().out
    assert not any(
        "Some Body" in page.read_text() for page in (term / "report" / f"{CHAPTER}-anonymous").rglob("*.html")
    )


def test_no_character_in_a_name_commands_a_terminal_or_turns_text_around(run, tmp_path):
    """ESC and BEL, and marks of direction, would reach the pages and the tables that go back."""
    name = "Lovelace\x1b[31m\x07\u202e\u2066, A\x00d\u200ea"
    table = f'Student,ID,SIS Login ID,Section\n"{name}",1,a\x1bl,\n"می\u200cترا, Ö",2,bo,\n'
    assert run("roster", table)[0] == 0
    with Gradebook(open_coursedir(tmp_path / "course", "").db_url) as gradebook:
        names = {student.id: (student.last_name, student.first_name) for student in gradebook.students}
    assert names == {"1": ("Lovelace[31m", "Ada"), "2": ("می\u200cترا", "Ö")}
    assert load_roster(tmp_path / "course").identifiers["1"]["SIS Login ID"] == "al"
