"""The core path: the badge on sections outside it, and the reading time of a chapter."""

import re
import shutil
from collections import Counter

import pytest
from bs4 import BeautifulSoup

from autograder.authoring.exercise import exercises_of
from autograder.chapter.chapter import text_of
from autograder.chapter.reading_time import core_path
from autograder.layout import chapter_names
from tests.book.conftest import ROOT, build_book, built_page, make_little_book, page, parsed

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
    folder = make_little_book(tmp_path_factory.mktemp("core_path"), other="# Another page\n\nSee {ref}`parity`.")
    page(folder, text=TEXT)
    build_book(folder)
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
        build_book(little_book)
        assert time in built_page(little_book)


# In the book.


@pytest.mark.parametrize("name", [name for name in chapter_names() if "{question}" in text_of(name)])
def test_a_chapter_states_its_reading_time_and_the_sections_to_skip(name):
    text = text_of(name)
    assert text.count("\n:::{reading-time}\n:::\n") == 1 and "**Time:**" not in text
    skipped = re.findall(r"^\{\.off-core-path\}\n#+ (.*)$", text, re.MULTILINE)
    sections = set(re.findall(r"^## (.*)$", text, re.MULTILINE))
    assert skipped and sections & {"Parity with PyTorch", "Since then"} <= set(skipped)


def test_the_core_path_links_to_nothing_off_it_without_saying_so(html):
    """Questions at a chapter's end may send readers anywhere."""
    pages = {name: parsed(html / "chapters" / f"{name}.html") for name in chapter_names()}
    marked = {name: chapter.select("section.off-core-path") for name, chapter in pages.items()}
    off = {f"{name}.html#{place['id']}" for name in pages for part in marked[name] for place in part.select("[id]")}
    off |= {f"{name}.html#{part['id']}" for name in pages for part in marked[name]}
    found = []
    for name, chapter in pages.items():
        for link in chapter.select("article a.reference[href*='#']"):
            address = link["href"] if not link["href"].startswith("#") else f"{name}.html{link['href']}"
            around = link.find_parents("section")
            is_exempt = any(
                part.get("id") == "questions" or "off-core-path" in part.get("class", ()) for part in around
            )
            if address in off and not is_exempt and "core path" not in link.find_parent(["p", "li"]).get_text():
                found.append((name, link.get_text()))
    assert found == []


def test_few_messages_of_the_core_path_send_readers_off_it():
    sent = []
    for name in chapter_names():
        path = core_path(text_of(name))
        for exercise in exercises_of(name):
            if f"check({exercise.name})" in path:
                sent += [
                    (exercise.name, mistake.name, mistake.reread)
                    for mistake, _ in exercise.mistakes.values()
                    if not re.search(rf"^#+ {re.escape(mistake.reread)}$", path, re.MULTILINE)
                ]
    assert len(sent) <= 20, sent


OBJECTIVES_OFF_IT = (  # chapter, end of an objective or of a part of one, the section that reaches it
    ("01_attention", "choose the weights of a head that attends where you want", "Weights that you choose"),
    ("01_attention", "say what attention costs", "What attention costs"),
    ("02_backward", "prove it where $x$ is on both sides of a product", "The proof, entry by entry"),
    ("02_backward", "choose the step", "Which step"),
    ("04_multihead", "let heads share keys and values, forward and backward", "Heads that share keys and values"),
    ("04_multihead", "`nn.MultiheadAttention` stores the same {term}`weights <weight>`", "Parity with PyTorch"),
    ("04_multihead", "explain why the {term}`key` bias has no {term}`gradient`", "Why the key bias has no gradient"),
    ("06_position", "what follows for dot products and distances", "Dot products know the distance only"),
    ("06_position", "choose the weights of a head that looks a fixed distance back", "A head that looks back"),
    (
        "06_position",
        "derive the backward pass of a look-up, and name the line of NumPy that gets it wrong without an error",
        "Backwards: a scatter-add",
    ),
    ("07_cross", "choose the weights of a decoder that copies its source", "A decoder that copies"),
    ("07_cross", "name the bug of a cross-attention from its weights and its output", "A decoder with one bug"),
    ("08_model", "with a beam", "Several hopeful beginnings"),
    ("08_model", "with cached {term}`keys <key>` and {term}`values <value>`", "Remember the keys and values"),
    (
        "08_model",
        "account for each of the 63,082,496 parameters of the paper's model",
        "Sixty-three million, term by term",
    ),
    ("08_model", "build the same model in PyTorch", "The same model in PyTorch"),
    ("09_training", "clip a gradient, and add up the gradients of small batches", "Two tools for larger runs"),
    ("09_training", "detect a {term}`leak` behind a loss that looks excellent", "The leak detector lab"),
    ("09_training", "write a test that rejects wrong training steps", "A test of one step"),
    ("09_training", "name a bug from its log", "What a log shows"),
    ("10_project", "put similar lengths into one batch", "Batches of equal length"),
    ("10_project", "predict a longer run before you pay for it", "A run that you have not paid for"),
    (
        "11_since",
        "derive the gradient of a router and of the loss that balances its experts",
        "A router: yours to derive",
    ),
    ("11_since", "walk back through a memory that corrects itself", "A memory, walked backwards: yours to derive"),
    ("12_dictionary", "train a {term}`tokeniser`", "Learn the merges"),
    ("12_dictionary", "say what a falling loss cannot show, and test a layer for it", "A test for a layer"),
    ("12_dictionary", "compute a model's parameters, operations and bytes from its sizes", "What a model costs"),
)


@pytest.mark.parametrize("name", chapter_names())
def test_objectives_that_are_reached_off_the_core_path_say_so(name):
    text = text_of(name)
    objectives = " ".join(text.partition("**After this chapter you can**")[2].partition(":::{reading-time}")[0].split())
    expected = [(end, section) for chapter, end, section in OBJECTIVES_OFF_IT if chapter == name]
    sections = [section for _, section in expected]
    assert set(sections) <= set(_off_path_headings(text))
    assert [end for end, _ in expected if f"{end} (off the core path)" not in objectives] == []
    assert objectives.count("(off the core path)") == len(expected)


@pytest.mark.parametrize("name", chapter_names())
def test_each_section_off_the_core_path_has_the_badge(name):
    text = text_of(name)
    marked = re.findall(r"^\{\.off-core-path\}\n#+ (.*)$", text, re.MULTILINE)
    assert _off_path_headings(text) == marked


def _off_path_headings(text):
    """Return the headings of a chapter that its core path lacks, in order."""
    heading = re.compile(r"^##+ (.*)$", re.MULTILINE)
    on_path = Counter(heading.findall(core_path(text)))
    skipped = []
    for title in reversed(heading.findall(text)):  # of two sections with the same title, the later is off the path
        if on_path[title]:
            on_path[title] -= 1
        else:
            skipped.append(title)
    return skipped[::-1]
