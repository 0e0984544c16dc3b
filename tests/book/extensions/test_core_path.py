"""The core path: the badge on sections outside it, and the reading time of a chapter."""

import re
import shutil

import pytest
from bs4 import BeautifulSoup

from autograder.chapter.chapter import text_of
from autograder.layout import chapter_names
from tests.book.conftest import ROOT, built_page, jupyter_book, make_little_book, page

pytestmark = pytest.mark.book

TEXT = f"""
:::{{reading-time}}
:::

See {{ref}}`parity`.

{"word " * 1750}

(parity)=
{{.off-core-path}}
## Parity with `PyTorch`

{"word " * 875}

## Summary
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of a built book of two pages, one with a section outside the core path."""
    folder = make_little_book(tmp_path_factory.mktemp("core_path"))
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: chapters/01_attention\nchapters:\n- file: chapters/other\n"
    )
    (folder / "chapters" / "other.md").write_text("# Another page\n\nSee {ref}`parity`.")
    page(folder, text=TEXT)
    built = jupyter_book(folder)
    assert built.returncode == 0, built.stderr
    return folder


def test_a_marked_heading_has_a_badge_and_others_have_none(folder):
    html = BeautifulSoup(built_page(folder), "lxml")
    assert [heading.code.get_text() for heading in html.select("h2:has(.off-core-path-badge)")] == ["PyTorch"]
    assert "core_path.css" in built_page(folder)


def test_the_page_s_contents_mark_the_section_too(folder, browser):
    browser.open((folder / "_build" / "html" / "chapters" / "01_attention.html").as_uri())
    entries = "[...document.querySelectorAll('.bd-sidebar-secondary a')].map(a => getComputedStyle(a).fontStyle).join()"
    assert browser.evaluate(entries) == "italic,normal"
    badge = "getComputedStyle(document.querySelector('h2 .off-core-path-badge'), '::after').content"
    assert browser.evaluate(badge) == '"off the core path"'


def test_a_reference_shows_the_title_without_its_badge(folder):
    other = folder / "_build" / "html" / "chapters" / "other.html"
    text = other.read_text(encoding="utf-8")
    assert "Parity with PyTorch" in BeautifulSoup(text, "lxml").find("article").get_text()
    assert "off-core-path" not in text and "core_path.css" not in text


def test_the_time_is_computed_from_the_page(folder):
    text = BeautifulSoup(built_page(folder), "lxml").find("article").get_text()
    assert "Time: about 10 minutes to read the core path, 15 minutes to read everything." in text


def test_another_reading_speed_changes_the_page(little_book):
    copied = shutil.copytree(ROOT / "autograder" / "chapter", little_book / "autograder" / "chapter")
    rule = (ROOT / "autograder" / "chapter" / "reading_time.py").read_text(encoding="utf-8")
    page(little_book, text=TEXT)
    for words_a_minute, time in ((175, "about 10 minutes"), (350, "about 5 minutes")):
        changed = rule.replace("WORDS_A_MINUTE = 175", f"WORDS_A_MINUTE = {words_a_minute}")
        (copied / "reading_time.py").write_text(changed, encoding="utf-8")
        built = jupyter_book(little_book)
        assert built.returncode == 0, built.stderr
        assert time in built_page(little_book)


# In the book.


@pytest.mark.parametrize("name", [name for name in chapter_names() if "{question}" in text_of(name)])
def test_a_chapter_states_its_reading_time_and_the_sections_to_skip(name):
    text = text_of(name)
    assert text.count("\n:::{reading-time}\n:::\n") == 1 and "**Time:**" not in text
    skipped = re.findall(r"^\{\.off-core-path\}\n#+ (.*)$", text, re.MULTILINE)
    sections = set(re.findall(r"^## (.*)$", text, re.MULTILINE))
    assert skipped and sections & {"Parity with PyTorch", "Since then"} <= set(skipped)
