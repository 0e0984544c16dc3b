"""The index pages list every exercise, mistake and symbol, and their links work."""

import re
from functools import cache

import indexes
import pytest
from markdown_it import MarkdownIt

from autograder.authoring.exercise import exercises_of
from autograder.chapter.cards import cards
from autograder.chapter.chapter import text_of
from autograder.chapter.reading_time import core_path
from tests.book.conftest import ROOT
from tests.browsers.targets import small_targets
from tests.choosing import thinned

pytestmark = pytest.mark.book

PAGES = ("exercises", "mistakes", "symbols")


@cache
def page(html, name):
    return (html / "chapters" / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_every_link_into_the_book_works(html, name):
    links = set(re.findall(r'href="(\w+)\.html#([\w-]+)"', page(html, name)))
    assert len(links) >= 20
    assert not {(file, anchor) for file, anchor in links if f'id="{anchor}"' not in page(html, file)}


def test_every_mistake_is_in_the_index_by_name(html):
    text = re.sub(r"<[^>]+>", "", page(html, "mistakes"))
    exercises = [exercise for chapter in indexes.CHAPTERS for exercise in exercises_of(chapter)]
    names = [mistake.name for exercise in exercises for mistake, _ in exercise.mistakes.values()]
    assert len(names) > 600
    assert not [name for name in names if name.split("'")[0].split("`")[0].strip() not in text]


def test_a_message_links_to_the_section_it_names():
    assert 'Reread “<a href="01_attention.html#all-queries-at-once">All queries at once</a>”.' in repr(
        indexes.mistakes("01_attention")
    )


def test_two_powers_in_a_message_are_not_bold_text():
    exercises = [exercise for chapter in indexes.CHAPTERS for exercise in exercises_of(chapter)]
    messages = [mistake.message for exercise in exercises for mistake, _ in exercise.mistakes.values()]
    assert not [message for message in messages if "<strong>" in MarkdownIt().renderInline(message)]


def test_the_map_shows_which_exercises_need_which():
    every = indexes.listed()
    order = list(every)
    assert len(order) == sum(len(exercises_of(chapter)) for chapter in indexes.CHAPTERS)
    assert {"softmax"} <= set(every["attention_weights"].needs)
    assert {"split_heads", "attention", "masked_softmax"} <= set(every["multi_head_attention"].needs)
    assert all(order.index(needed) < order.index(name) for name, exercise in every.items() for needed in exercise.needs)
    # `dropout` is a parameter here, not the function of that name.
    assert "dropout" not in every["forward"].needs
    assert every["softmax"].card.label == "exercise-softmax" and every["softmax"].card.minutes == 10


def test_the_map_includes_exercises_that_a_helper_calls():
    every = indexes.listed()
    layers = {"embed_backward", "encoder_layer_backward", "decoder_layer_backward"}
    # `backward` calls `decode_backward` and `encode_backward`, which are not exercises, and they call the three.
    assert "decode_backward" not in every and layers <= set(every["backward"].needs)
    # Calls inside another exercise belong to that exercise.
    assert "softmax" not in every["attention"].needs


def test_names_in_the_symbols_table_are_names_in_the_solutions():
    text = (ROOT / "chapters" / "symbols.md").read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "solutions").glob("*.py"))
    known = set(re.findall(r"\w+", code))
    names = {name for line in text.splitlines() if line.startswith("| $") for name in re.findall(r"`(\w+)`", line)}
    assert len(names) >= 40 and names <= known, names - known
    notation = (ROOT / "chapters" / "notation.md").read_text(encoding="utf-8")
    axes = set(re.findall(r"`(T\w*|d_\w+|n_heads|vocab)`", notation))
    assert axes <= names, axes - names


@pytest.fixture
def exercises(browser, html):
    """Return a tab with the table of all exercises, and the column of the reader's state."""
    if not (html / "_static" / "live").is_dir():
        pytest.skip("NO PYTHON FOR THE PAGES: the progress was not tested. Build where npm or PyPI can be reached.")
    browser.open((html / "chapters" / "exercises.html").as_uri(), width=390)
    return browser


def test_the_progress_is_above_the_table_where_nothing_hides_it(exercises):
    progress = "document.querySelector('.live-progress')"
    assert exercises.evaluate(f"{progress}.textContent").startswith("Passed in this browser: 0 of ")
    assert exercises.evaluate(f"{progress}.closest('.cell') === null")


ROWS = "[...document.querySelectorAll('table.exercises tr')].map(row => [...row.cells].map(cell => cell.textContent))"


def test_the_table_has_the_reader_s_state(exercises):
    rows = exercises.evaluate(ROWS)
    assert rows[0] == ["exercise", "points", "builds on", "state"] and rows[1] == ["Chapter 1"]
    states = {row[0]: row[3] for row in rows if len(row) == 4}
    assert (states["softmax"], states["DecoderLayer"]) == ("not yet", "needs PyTorch")


def test_the_table_comes_before_the_graph(exercises):
    assert exercises.evaluate("""document.querySelector("table.exercises").compareDocumentPosition(
        document.querySelector(".exercise-graph")) === Node.DOCUMENT_POSITION_FOLLOWING""")


def test_the_table_is_as_narrow_as_a_phone(exercises):
    over = "[...document.querySelectorAll('table.exercises, table.exercises :is(th, td)')].filter("
    over += "box => box.scrollWidth > box.clientWidth + 1 || box.getBoundingClientRect().right > innerWidth)"
    assert exercises.evaluate(f"{over}.map(box => box.textContent.slice(0, 60))") == []
    table = "document.querySelector('table.exercises')"
    assert exercises.evaluate(f"{table}.offsetWidth <= {table}.parentElement.clientWidth")


@pytest.mark.parametrize("width", thinned([390, 1280], [390], "another width"))
def test_a_finger_hits_each_exercise(exercises, width):
    """Test the sizes alone: a small target with room around it would be allowed, but not on this page."""
    exercises.resize(width)
    exercises.wait(f"innerWidth === {width}")
    assert exercises.evaluate("document.querySelectorAll('article a').length") > 150
    assert small_targets(exercises, excuse_room=False) == []


def test_a_chapter_says_what_the_reader_will_have_made(monkeypatch):
    monkeypatch.setattr(indexes, "text_of", lambda chapter: "---\njupytext:\n---\n\n# Title\n")
    with pytest.raises(ValueError, match="^01_attention.md: say in its front matter, after `made:`"):
        indexes.contents()


def test_an_exercise_on_the_core_path_builds_only_on_exercises_on_it():
    on_path = {card.function for chapter in indexes.CHAPTERS for card in cards(core_path(text_of(chapter)))}
    listed = indexes.listed()
    skipped = {
        (name, need)
        for name in on_path
        for need in listed[name].needs
        if need not in on_path and listed[need].chapter == listed[name].chapter
    }
    assert skipped == set()


def test_the_table_follows_the_reader_who_comes_back_from_a_chapter(exercises):
    version = "JSON.parse(document.getElementById('live-exercises').textContent).exercises.softmax"
    back = "dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"
    exercises.evaluate(f"bookStorage.write('exercise softmax', {{version: {version}, passing: ''}}); {back}")
    states = {row[0]: row[3] for row in exercises.evaluate(ROWS) if len(row) == 4}
    exercises.evaluate("bookStorage.remove('exercise softmax')")
    assert states["softmax"] == "✓ passes"
