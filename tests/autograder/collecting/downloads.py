"""Helpers that collect a download, and read what it became."""

import re

from autograder.cli.main import main
from tests.conftest import CHAPTER

MOODLE = "{}_{}_assignsubmission_file/01_attention.ipynb"
# moodle/moodle, mod/assign/gradingtable.php: the worksheet's headers, "Participant " and the number, userdate's times.
WORKSHEET = """\
Identifier,"Full name","Email address",Status,Grade,"Maximum grade","Grade can be changed",\
"Last modified (submission)",\
"Last modified (grade)","Feedback comments"
"Participant 11","Ada Lovelace",ada@example.org,Submitted,,22.00,Yes,"Tuesday, 3 February 2026, 10:00 AM",-,
"Participant 12","Ada Lovelace",other@example.org,Submitted,,22.00,Yes,"Tuesday, 3 February 2026, 2:30 PM",-,
"Participant 13","Emmy Noether",emmy@example.org,"No submission",,22.00,Yes,-,-,
"""


def collect(course, download, capsys, *more):
    """Run `autograder collect`; return the exit code and what it printed, after a check that it counts every file."""
    code = main(["collect", CHAPTER, str(download), "--course", str(course), *map(str, more)])
    printed = capsys.readouterr()
    of = r"(\d+) placed \+ (\d+) skipped \+ (\d+) superseded(?: \+ (\d+) with regrade requests)?"
    if counts := re.search(rf"^(\d+) files? = {of}$", printed.out, re.M):
        n_files, *parts = map(int, counts.groups(default="0"))
        assert n_files == sum(parts)
    else:
        assert code == 2
    return code, printed


def submitted(course):
    return {path.parent.parent.name: path.read_bytes() for path in (course / "submitted").glob("*/*/*.ipynb")}


def stamps(course):
    return {path.parent.parent.name: path.read_text() for path in (course / "submitted").glob("*/*/timestamp.txt")}
