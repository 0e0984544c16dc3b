"""Kill tables of a small exercise, compared with a count by hand, in the terminal and on the instructor's page."""

import html
import re

import numpy as np
import pytest

from autograder.authoring.exercise import Exercise
from autograder.authoring.kill_table import table_of
from autograder.cli.main import main
from autograder.errors import UserError
from autograder.pages import kill_page
from tests.small_exercise import make_exercise

pytestmark = pytest.mark.grading
SEEDS = {"public": 1, "secret": 2}
MATRIX, SMALL, SINGLE, EMPTY = cases = (
    ("the idea", "a matrix"),
    ("the idea", "a small matrix"),
    ("float32", "single precision"),
    ("errors", "empty rows"),
)


@pytest.fixture
def table(exercise):
    return table_of(exercise, SEEDS)


def test_which_case_catches_which_mistake(table):
    both_keys = ("public", "secret")
    whole, column = table.lines
    assert table.cases == cases
    assert whole.caught == {MATRIX: both_keys, SINGLE: both_keys, EMPTY: both_keys}  # a matrix of one row hides it
    assert column.caught == dict.fromkeys(cases, both_keys)
    assert whole.earned == column.earned == {"public": 0.0, "secret": 0.0}


def test_which_cases_distinguish_two_mistakes(table):
    (pair,) = table.pairs
    distinguishing = ("a matrix", "a small matrix", "single precision")
    assert (pair.one, pair.other, pair.cases) == (
        "whole_sum",
        "column_sum",
        {"public": distinguishing, "secret": distinguishing},
    )
    assert pair.fewest == 3 and table.equivalents == {"loop": True} and table.problems == ()


def test_the_table_in_a_terminal(table):
    lines = kill_page.as_text(table).splitlines()
    assert lines[2].split() == ["divides", "by", "the", "whole", "sum", "●", "·", "●", "●", "0", "of", "4"]
    assert "  the idea: 1 a matrix, 2 a small matrix" in lines
    assert (
        "  distinguished: 1 of 1 pair; both reported if an answer makes both: 1 of 1" in lines
        and "  right rewrites: loop, which pass" in lines
    )


def test_a_page_that_cannot_be_written_is_a_user_error(table, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/page\.html: "):
        kill_page.write_page({"06_position": [table]}, tmp_path / "file" / "page.html")


def test_the_table_names_the_problems_of_a_key():
    exercise = make_exercise()

    @exercise.mistake("does nothing wrong")
    def survivor(x):
        """Passes."""
        return exercise.reference(x)

    @exercise.mistake("does nothing wrong either")
    def twin(x):
        """Passes too."""
        return exercise.reference(x)

    @exercise.equivalent
    def wrong(x):
        return x, None

    table = table_of(exercise, {"public": 1})
    text = kill_page.as_text(table)
    assert "survivor passes every case (public key)" in text and "no case distinguishes survivor from twin" in text
    assert "distinguished: 5 of 6 pairs" in text
    assert "right rewrites: loop, which pass" in text and "the equivalent wrong is rejected" in text


def test_both_mistakes_of_an_answer_are_reported_if_they_show_in_different_cases():
    exercise = make_exercise()

    @exercise.mistake("does not refuse empty rows")
    def lenient(x):
        """Empty rows have no sum."""
        return exercise.reference(x) if x.shape[-1] else (x, x.sum(axis=-1, keepdims=True))

    @exercise.mistake("promotes float32")
    def promoted(x):
        """The dtype stays."""
        return tuple(part.astype(np.float64) for part in exercise.reference(x))

    table = table_of(exercise, {"public": 1})
    named = {(pair.one, pair.other): pair.both_named for pair in table.pairs}
    assert named["lenient", "promoted"] is True
    assert named["column_sum", "lenient"] is None  # the first is wrong everywhere
    assert "both reported if an answer makes both: " in kill_page.as_text(table)


def sums(x, scale):
    """Return scale times each row's sum."""
    return scale * x.sum(axis=-1)


def test_slips_without_a_name_are_listed(tmp_path):
    exercise = Exercise(sums, outputs={"sums": "... T"}, section="Sums")

    @exercise.cases("the idea", points=1)
    def _(draw):
        yield "rows", {"x": draw.normal(2, 3), "scale": 1.5}

    @exercise.mistake("forgets the scale")
    def forgets(x, scale):
        """Each sum is scaled."""
        return x.sum(axis=-1)

    @exercise.mistake("is never made")
    def never(x, scale):
        """No student makes this mistake."""
        return x.sum(axis=-1) + 7

    assert table_of(exercise, {"public": 1}).slips is None
    table = table_of(exercise, {"public": 1}, with_slips=True)
    assert table.slips.counts == {"named": 1, "one slip": 1, "other fault": 2}
    text = kill_page.as_text(table)
    assert "small slips in the reference: 1 named" in text
    page = kill_page.write_page({"01_attention": [table]}, tmp_path / "page.html").read_text()
    for change in table.slips.unnamed["one slip"]:
        assert f"    {change}" in text.splitlines() and html.escape(change) in page


def test_the_page(table, tmp_path):
    page = kill_page.write_page({"01_attention": [table]}, tmp_path / "new" / "page.html").read_text()
    assert page.count('class="kill caught"') == 7
    assert re.findall(r'class="kill" title="([^"]*)">·', page) == ["a small matrix"]
    assert "return x / x.sum(), x" in page and "public key: a matrix, a small matrix, single precision" in page
    assert set(re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)""", page)) == {"#normalised"}


@pytest.mark.thorough("other tests write the page of one exercise")
def test_the_command_writes_the_page(tmp_path, capsys):
    file = tmp_path / "mistakes.html"
    assert main(["mistakes", "06_position", "--course", str(tmp_path), "--page", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    assert 'id="tests_embed_backward"' in file.read_text() and "swaps sine and cosine" in file.read_text()
