"""Everything that the coverage page promises is there: its rows, the sections they lead to, the mistakes they name."""

import re
from collections import Counter
from functools import cache

import pytest
from mdit_py_plugins.anchors.index import slugify

from autograder.authoring.exercise import exercises_of
from autograder.house import chapter_names
from tests.book.conftest import ROOT

pytestmark = pytest.mark.book

ROWS = {"S1": 17, "S2": 6, "S3": 3, "S4": 17, "S5": 2, "E": 36}
TEXT = (ROOT / "chapters" / "coverage.md").read_text(encoding="utf-8")
TABLE = [
    [cell.strip() for cell in line.split(" | ")] for line in TEXT.splitlines() if re.match(r"\| (S\d\.|E)\d+ ", line)
]


@cache
def slugs(file):
    """The slugs of a page's headings, as Markdown makes them for links."""
    text = re.sub(r"^```.*?^```", "", (ROOT / "chapters" / file).read_text(encoding="utf-8"), flags=re.M | re.S)
    return {slugify(title) for title in re.findall(r"^##+ (.+)$", text, re.M)}


@cache
def mistakes():
    """Exercise -> the names of its mistakes, over the whole book."""
    every = [each for name in chapter_names() for each in exercises_of(name)]
    return {each.name: {mistake.name for mistake, _ in each.mistakes.values()} for each in every}


def test_no_row_is_missing():
    ids = [row[0].removeprefix("| ") for row in TABLE]
    assert Counter(re.match(r"S\d|E", each)[0] for each in ids) == ROWS
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0].removeprefix("| "))
def test_every_row_leads_to_a_section(row):
    links = re.findall(r"\]\((\w+\.md)#([^)]+)\)", " ".join(row))
    assert links
    assert not [(file, slug) for file, slug in links if slug not in slugs(file)]


@pytest.mark.parametrize("row", [row for row in TABLE if row[0].startswith("| E")], ids=lambda row: row[0][2:])
def test_every_error_is_a_mistake_that_the_checker_knows(row):
    name, mistake = re.match(r"`(\w+)`: (.+) \|$", row[-1]).groups()
    assert mistake in mistakes()[name]
