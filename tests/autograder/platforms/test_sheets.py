"""Tables of platforms can hold any text that students wrote, and times are right in any zone of this machine."""

import time
from datetime import datetime

import pytest

from autograder.platforms.sheets import parse_time, read_sheet
from autograder.platforms.student_finder import participants

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


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "\ufeffa;b\r\n1;2\r\n", "a\tb\n1\t2\n", '"A "," b"\n"1 ",2'])
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
