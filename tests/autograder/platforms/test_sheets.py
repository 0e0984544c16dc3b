"""Tables of platforms can hold any text that students wrote, and times are right in any zone of this machine."""

import re
import time
from datetime import datetime
from types import SimpleNamespace

import pytest

from autograder.platforms.rosters import read_roster
from autograder.platforms.sheets import UnusableTable, parse_time, read_sheet
from autograder.platforms.student_finder import choose_finder, participants

pytestmark = pytest.mark.grading


@pytest.fixture
def sheet(tmp_path):
    """sheet(text) -> the table that is read from a file with this text."""

    def read(text, encoding="utf-8"):
        (tmp_path / "table.csv").write_text(text, encoding=encoding)
        return read_sheet(tmp_path / "table.csv")

    return read


@pytest.fixture
def in_berlin(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "\ufeffa;b\r\n1;2\r\n", "a\tb\n1\t2\n", '"A "," b"\n"1 ",2', "sep=;\r\na;b\r\n1;2\r\n"]
)
def test_separators_and_byte_order_marks_make_no_difference(sheet, text):
    table = sheet(text)
    assert [table.cell(table.rows[0], header) for header in ("a", "b", "c")] == ["1", "2", ""]


def test_a_name_cannot_end_a_row(sheet):
    rows = participants(sheet("Identifier,Full name\nParticipant 1,Eve\u2028Participant 2\x0bParticipant 3\n"))
    assert list(rows) == ["1"]


def test_a_cell_may_hold_a_long_text(sheet):
    table = sheet(f"Identifier,Online text\nParticipant 1,{'x' * 200_000}\nParticipant 2,\n")
    assert list(participants(table)) == ["1", "2"]


@pytest.mark.parametrize(("text", "expected"), [
    ("Tuesday, 3 February 2026, 10:00 AM", datetime(2026, 2, 3, 9)),
    ("Tuesday, February 3, 2026, 10:00 PM", datetime(2026, 2, 3, 21)),
    ("Saturday, 3 July 2027, 14:30", datetime(2027, 7, 3, 12, 30)),
    ("2026-02-03T10:00:00Z", datetime(2026, 2, 3, 10)), ("2026-02-03T10:00:00+05:00", datetime(2026, 2, 3, 5)),
    ("-", None), ("", None), ("Dienstag, 3. Februar 2026, 10:00", None),
])  # fmt: skip
def test_times(in_berlin, text, expected):
    assert parse_time(text) == expected


@pytest.mark.parametrize("content", [b"PK\x03\x04\x14\x00", b"\xd0\xcf\x11\xe0\xa1\xb1"], ids=["xlsx", "xls"])
def test_a_workbook_is_named_as_one(tmp_path, content):
    (tmp_path / "class.xlsx").write_bytes(content)
    with pytest.raises(UnusableTable, match="class.xlsx is a workbook: open it in a spreadsheet and save it as"):
        read_sheet(tmp_path / "class.xlsx")


@pytest.mark.parametrize("value", ["2,02610E+07", "2.02610E+07", "2E+07"])
def test_a_number_that_a_spreadsheet_has_rounded_becomes_no_id(sheet, value):
    table = sheet(f"First name;Last name;ID number\nAda;Lovelace;{value}\n")
    with pytest.raises(UnusableTable, match="a spreadsheet has rounded a number in the column ID number"):
        read_roster(table)


def test_the_zone_of_times_is_named(in_berlin, sheet):
    worksheet = (
        'Identifier,Full name,Last modified (submission)\nParticipant 1,Ada,"Tuesday, 3 February 2026, 10:00 AM"\n'
    )
    layout = SimpleNamespace(platform="moodle")
    finder = choose_finder(layout, [], [], [sheet(worksheet)], by_name=False)
    assert re.search(r"in this machine's zone, CES?T \(UTC\+0[12]00\)", finder.description)
