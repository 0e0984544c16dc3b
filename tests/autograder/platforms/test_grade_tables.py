"""Tables of grades that spreadsheets open."""

import csv

import pytest

from autograder.platforms.grade_tables import write_table

pytestmark = pytest.mark.autograder


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("\t=1+1", "'\t'=1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\uff20SUM(1)", "'\uff20SUM(1)"),
        ("Eve;=1+1", "Eve;'=1+1"),
        ("Eve\t@SUM(1)", "Eve\t'@SUM(1)"),
        ("O'Hara-Smith; Ann", "O'Hara-Smith; Ann"),
        ("-", "-"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_spreadsheet_reads_a_name_as_a_formula(tmp_path, name, cell, delimiter):
    """Spreadsheets may end a cell at a semicolon (in many countries) or at a tab."""
    write_table([[name, 25.0]], tmp_path / "grades.csv")
    with (tmp_path / "grades.csv").open(newline="", encoding="utf-8") as file:
        text = file.read()
    assert next(csv.reader([text]))[0] == cell
    if name != "-":
        cells = (part for row in csv.reader(text.splitlines(), delimiter=delimiter) for part in row)
        assert not [part for part in cells if part.startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20"))]
