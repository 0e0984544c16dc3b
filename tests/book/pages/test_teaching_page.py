"""The page for lecturers: its tables, its lectures, and the answers to its paper problems."""

import re

import lessons
import numpy as np
import pytest

from autograder.layout import chapter_names, exercise_names
from solutions.attention import softmax
from solutions.backward import softmax_backward
from solutions.dictionary import costs
from solutions.position import sinusoidal_encoding
from solutions.project import edit_path
from tests.book.conftest import ROOT

pytestmark = pytest.mark.book

PAGE = (ROOT / "chapters" / "teaching.md").read_text(encoding="utf-8")
LESSONS = re.findall(r"^### Chapter \d+:.*?(?=^##)", PAGE, re.MULTILINE | re.DOTALL)


def test_each_chapter_has_a_lesson_of_90_minutes():
    assert [re.search(r'assignment\("(\w+)"', lesson)[1] for lesson in LESSONS] == chapter_names()
    for lesson in LESSONS:
        assert sum(map(int, re.findall(r"^\| (\d+) \|", lesson, re.MULTILINE))) == 90, lesson


def test_the_answer_to_a_paper_problem_is_hidden_until_it_is_opened():
    for lesson in LESSONS:
        assert re.findall(r"^:::\{dropdown\} (.*)$", lesson, re.MULTILINE) == ["Answer"], lesson


@pytest.mark.parametrize("n_weeks", [6, 10, 14])
def test_a_calendar_reaches_every_chapter_and_gives_chapter_8_two_weeks(n_weeks):
    calls = re.findall(r"lessons\.calendar\(\n(.*?)^\)", PAGE, re.MULTILINE | re.DOTALL)
    weeks = {len(weeks): weeks for call in calls if (weeks := call.splitlines())}[n_weeks]
    assert sum("08_model" in week for week in weeks) == 2
    pages = re.findall(r'"(\d\d_\w+)', "".join(weeks))
    assert list(dict.fromkeys(pages))[:9] == chapter_names()[:9]


def test_a_calendar_computes_the_hours_of_a_part():
    halves = lessons.calendar(["08_model < All the way back"], ["08_model > All the way back"])
    (whole,) = hours(lessons.calendar(["08_model"]))
    assert sum(hours(halves)) == pytest.approx(whole, abs=0.11)


def hours(table):
    """The last column of each row. MyST-NB reads no Markdown tables in outputs, so the table must be HTML."""
    return [float(number) for number in re.findall(r"([\d.]+) h</td></tr>", table._repr_html_())]


def test_a_section_that_is_gone_is_named():
    with pytest.raises(ValueError, match="08_model.md has no section 'Forwards'"):
        lessons.calendar(["08_model < Forwards"])


def test_an_assignment_adds_to_the_core_path_what_is_off_it():
    assign, skip, command = repr(lessons.assignment("01_attention", add=["copies_predecessor"])).split("\n\n")
    assert "(18 points, 55 minutes)" in assign and "copies_predecessor" in assign
    assert "(4 points, 20 minutes)" in skip and "repaired_attention" in skip
    assert command == "**Command:** `autograder assign 01_attention --core --add copies_predecessor`"
    with pytest.raises(ValueError, match="01_attention: add"):
        lessons.assignment("01_attention", add=["softmax"])


def test_the_numbers_on_the_board_are_right():
    keys, values = np.array([[-1.0, 1], [1, 1], [0, -1]]), np.array([[-1.0, 0], [1, 0], [0, 1]])
    scores = keys @ [1, 1] / np.sqrt(2)
    exponentials = np.exp(scores)
    rows = re.findall(r"^\| \*\w+\* .*\| (\S+) \| (\S+) \| (\S+) \|$", PAGE, re.MULTILINE)
    shown = np.array([[float(number.replace("−", "-")) for number in row] for row in rows])
    assert np.allclose(shown.T, [scores, exponentials, softmax(scores)], atol=5e-4)
    assert f"the sum of the exponentials is {exponentials.sum():.3f}." in " ".join(PAGE.split())
    assert "= ({:.3f}, {:.3f}).".format(*softmax(scores) @ values) in PAGE


def test_six_weeks_have_twelve_lectures():
    (table,) = re.findall(r"^\| Lecture \| Subject .*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    chapters = [int(number) for number in re.findall(r"^\| \d+ \| Chapter (\d)", table, re.MULTILINE)]
    assert chapters == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 9, 9]
    assert set(re.findall(r"start `(\w+)`", table)) <= {
        name for chapter in chapter_names() for name in exercise_names(chapter)
    }


def test_the_answers_to_the_paper_problems_are_right():
    scores = np.log([1, 1, 1, 1, 4.0])
    assert np.allclose([softmax(scores)[-1], softmax(2 * scores)[-1]], [1 / 2, 4 / 5])
    assert np.allclose(softmax_backward(np.array([1.0, 0]), np.array([1, 3]) / 4), [3 / 16, -3 / 16])
    row = np.array([2.0, 4, 6, 8])
    assert (row.mean(), row.var(), (row**2).mean()) == (5, 5, 30)
    encoding = sinusoidal_encoding(20, 4)
    products = [encoding[7 + k] @ encoding[7] for k in (0, 1, 3)]
    assert np.allclose(products, [2, 1.540, 0.010], atol=5e-4)
    assert np.isclose((np.log(2) + np.log(8)) / 2, np.log(4)) and round(np.log(4), 3) == 1.386
    assert round((0.9 * 0.1 - 0.1) / (1 - 0.9**2), 3) == -0.053
    small, large = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])
    assert np.isclose(np.minimum(small, large).sum(), 0.7) and np.allclose(np.maximum(large - small, 0), [0, 0, 0.3])
    sizes = dict(vocab=100, d_model=8, d_ff=12, n_layers=2, n_heads=4, n_groups=2)
    parameters, _, cached = costs(sizes, 5)
    assert (parameters, cached) == (1800, 80)
    assert edit_path(np.array([1, 3, 2]), np.array([0, 1, 2]))[0] == 2  # the sequences B, D, C and A, B, C
