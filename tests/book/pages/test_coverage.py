"""The coverage page is right: its rows, the sections they link to, and the names of the mistakes."""

import re
from collections import Counter
from functools import cache

import pytest
from mdit_py_plugins.anchors.index import slugify

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import public_key
from check.measuring import outcomes_of
from check.scoring import grade
from tests.book.conftest import ROOT
from tests.book.pages.published import NAMELESS, WRONG

pytestmark = pytest.mark.book

ROWS = {"S1": 17, "S2": 6, "S3": 3, "S4": 17, "S5": 2, "E": 36}
TEXT = (ROOT / "chapters" / "coverage.md").read_text(encoding="utf-8")
TABLE = [
    [cell.strip() for cell in line.split(" | ")] for line in TEXT.splitlines() if re.match(r"\| (S\d\.|E)\d+ ", line)
]


@cache
def slugs(file):
    """Return the slugs of a page's headings, as Markdown makes them for links."""
    text = re.sub(r"^```.*?^```", "", (ROOT / "chapters" / file).read_text(encoding="utf-8"), flags=re.M | re.S)
    return {slugify(title) for title in re.findall(r"^##+ (.+)$", text, re.M)}


@cache
def key_of(exercise):
    return public_key(find_exercise(exercise))


def named(row_id):
    """Return the exercise and the mistake that a row names, or None."""
    [cell] = [row[-1].removesuffix(" |") for row in TABLE if row[0] == f"| {row_id}"]
    return None if cell == "—" else re.fullmatch(r"`(\w+)`: (.+)", cell).groups()


def test_no_row_is_missing():
    ids = [row[0].removeprefix("| ") for row in TABLE]
    assert Counter(re.match(r"S\d|E", label)[0] for label in ids) == ROWS
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0].removeprefix("| "))
def test_every_row_links_to_a_section(row):
    links = re.findall(r"\]\((\w+\.md)#([^)]+)\)", " ".join(row))
    assert links
    assert not [(file, slug) for file, slug in links if slug not in slugs(file)]


def submitted():
    """Return (row, function) of each error. In a quick run, each exercise has one."""
    seen = set()
    for row_id, wrong in WRONG:
        exercise, _ = named(row_id)
        marks = pytest.mark.thorough("more errors in the same exercise") if exercise in seen else ()
        seen.add(exercise)
        yield pytest.param(row_id, wrong, id=f"{row_id}-{wrong.__name__}", marks=marks)


@pytest.mark.parametrize(("row_id", "wrong"), list(submitted()))
def test_a_submitted_error_gets_its_name(row_id, wrong):
    exercise, mistake = named(row_id)
    key = key_of(exercise)
    result = grade(key, outcomes_of(wrong, key))
    (known,) = result.mistakes
    inherited = r" \(in the step of `\w+`, chapter \d+\)"
    assert re.fullmatch(re.escape(mistake) + rf"({inherited})?", known.name)
    assert result.earned < result.points


def test_every_error_is_submitted_or_names_no_mistake():
    errors = {row[0].removeprefix("| ") for row in TABLE if row[0].startswith("| E")}
    nameless = {row_id for row_id in errors if named(row_id) is None}
    assert (nameless, errors - nameless) == (set(NAMELESS), {row_id for row_id, _ in WRONG})
