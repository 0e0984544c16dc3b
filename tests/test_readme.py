"""The README's table of the chapters says what the chapters say."""

import re

import pytest
import yaml

from autograder.chapter.chapter import text_of
from autograder.chapter.reading_time import Effort, Estimate, estimate
from autograder.layout import REPO, chapter_names

pytestmark = pytest.mark.autograder
README = (REPO / "README.md").read_text(encoding="utf-8")


def test_the_table_of_the_chapters_is_right():
    rows = [row(chapter) for chapter in chapter_names()]
    assert re.findall(r"^\| \d.*$", README, re.MULTILINE) == rows, "\n".join(["it should be:", *rows])


def test_the_hours_of_the_book_are_right():
    estimates = [estimate(text_of(chapter)) for chapter in chapter_names()]
    core, whole = (round(sum(map(minutes, efforts)) / 60) for efforts in zip(*map(parts, estimates), strict=True))
    assert f"the core path takes about {core} hours, and everything about {whole}." in " ".join(README.split())


def row(chapter: str) -> str:
    front_matter, _, text = text_of(chapter).partition("\n---\n")
    title, made = re.search(r"^# (.+)", text, re.MULTILINE)[1], yaml.safe_load(front_matter)["made"]
    both = estimate(text)
    time = f"{hours(both.core)} to {hours(both.whole)}"
    return f"| {int(chapter[:2])} | [{title}](chapters/{chapter}.md) | {made} | {time} | {both.whole.exercises} |"


def parts(both: Estimate) -> tuple[Effort, Effort]:
    return both.core, both.whole


def minutes(effort: Effort) -> float:
    return effort.reading + effort.practice


def hours(effort: Effort) -> int:
    return round(minutes(effort) / 60)
