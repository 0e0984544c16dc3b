"""How long a chapter takes to read: one rule, and what the rule leaves out."""

import pytest

from autograder.chapter import reading_time
from autograder.chapter.cards import cards
from autograder.chapter.chapter import read_chapter, text_of
from autograder.layout import chapter_names

pytestmark = pytest.mark.book

CELL = "```{code-cell} python\n%s\n```\n"
CARD = ":::{exercise} Softmax\n**4 points · difficulty ●○○ · 10 minutes** — Write it.\n:::\n"


def seconds(text):
    return round(60 * reading_time.estimate(text).whole.reading, 6)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("word " * 175, 60),
        ("- a b\n- c\n\n| d | e |\n| - | - |\n| f | g |", 7 * 60 / 175),
        ("A $x + y$ b", 3 * 60 / 175),
        ("$$\n\\begin{aligned}\na \\\\\nb\n\\end{aligned}\n$$", 40),
        ("$$\na\n$$ (label)", 20),
        ("$$\n(1)\\quad & a \\\\\n & = f(1) \\\\\n(2)\\quad & b\n$$", 3 * 20 + 2 * 60),
        ("\\begin{align}\na \\\\\nb\n\\end{align}", 40),
        (":::{note}\nA b.\n\n$$\nx\n$$\n:::", 20 + 2 * 60 / 175),
        (":::{dropdown} Hint 1: c\nA b.\n:::", 5 * 60 / 175),
        (CELL % "x = 1\n\ny = 2", 8),
        ("```python\nx = 1\n```", 4),
        (CELL % ":tags: [hide-input]\n\nx = 1", 0),
        (CELL % ":tags: [hide-cell]\n\nx = 1", 0),
        (CELL % ":tags: [remove-cell]\n\nx = 1", 0),
        (CELL % ":tags: [remove-input]\n\nfigures.model_map()", 30),
        (CELL % ":tags: [hide-input]\n\nfigures.show(fig, alt='')", 30),
        (CELL % ":tags: [exercise]\n\ndef f():\n    raise NotImplementedError", 0),
        (CELL % ":tags: [check]\n\ncheck(f)", 0),
        (":::{figure} a.png\n:alt: b\nA caption here.\n:::", 30 + 3 * 60 / 175),
    ],
)
def test_the_seconds_that_a_text_takes(text, expected):
    assert seconds(text) == pytest.approx(expected)


def test_sections_below_a_marked_heading_are_outside_the_core_path():
    words = "word " * 175
    sections = ["# T", "{.off-core-path}\n## A", "### B", "## C", "(d)=\n{.off-core-path}\n### D", "#### E", "### F"]
    reading = reading_time.estimate("\n\n".join(f"{heading}\n\n{words}" for heading in sections))
    marks_and_titles = 9 / 175
    assert reading.whole.reading == pytest.approx(7 + marks_and_titles)
    assert 3 < reading.core.reading < 3 + marks_and_titles


def test_exercises_below_a_marked_heading_are_outside_the_core_path():
    reading = reading_time.estimate(f"# T\n\n{CARD}\n{{.off-core-path}}\n## A\n\n{CARD}\n## B\n\n{CARD}")
    assert (reading.core.exercises, reading.core.practice, reading.core.points) == (2, 20, 8)
    assert (reading.whole.exercises, reading.whole.practice, reading.whole.points) == (3, 30, 12)


def test_the_times_on_the_cards_are_added_up():
    reading = reading_time.estimate(CARD + CARD.replace("4 points", "1 point").replace("10", "65"))
    assert (reading.whole.exercises, reading.whole.practice, reading.whole.points) == (2, 75, 5)


@pytest.mark.parametrize(
    "core, whole, time",
    [
        ((1,), (1,), "about 5 minutes to read"),
        ((38,), (38,), "about 40 minutes to read"),
        ((61,), (66,), "about an hour to read the core path, an hour and 5 minutes to read everything"),
        (
            (38, 6, 70, 25),
            (38, 6, 70, 25),
            "about 40 minutes to read, and an hour and 10 minutes for the six exercises (25 points)",
        ),
        (
            (120, 1, 10, 4),
            (139, 6, 70, 25),
            "about 2 hours to read the core path and 10 minutes for its one exercise; "
            "2 hours and 20 minutes to read everything and an hour and 10 minutes for all six exercises (25 points)",
        ),
        (
            (20,),
            (30, 2, 15, 5),
            "about 20 minutes to read the core path; "
            "30 minutes to read everything and 15 minutes for all two exercises (5 points)",
        ),
    ],
)
def test_the_time_is_written_in_words(core, whole, time):
    efforts = [reading_time.Effort(*(*numbers, 0, 0, 0)[:4]) for numbers in (core, whole)]
    assert str(reading_time.Estimate(*efforts)) == f"**Time:** {time}."


@pytest.mark.parametrize("name", chapter_names())
def test_each_exercise_of_a_chapter_is_counted(name):
    chapter = read_chapter(name)
    reading = reading_time.estimate(chapter.text).whole
    assert reading.exercises == len(chapter.exercises)
    assert reading.points == sum(exercise.points for exercise in chapter.exercises)


@pytest.mark.parametrize("name", [name for name in chapter_names() if "{question}" in text_of(name)])
def test_the_core_path_is_about_half_of_a_chapter(name):
    times = reading_time.estimate(text_of(name))
    core, whole = (effort.reading + effort.practice for effort in (times.core, times.whole))
    assert 0.45 <= core / whole <= 0.65


@pytest.mark.parametrize("name", chapter_names())
def test_the_points_of_an_exercise_follow_its_minutes(name):
    minutes_a_point = {card.function: card.minutes / card.points for card in cards(text_of(name))}
    assert {function for function, minutes in minutes_a_point.items() if not 2 <= minutes <= 5} == set()
