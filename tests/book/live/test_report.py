"""Below what a check says, a reader can report it. The report contains the reader's code only if a box is ticked."""

from urllib.parse import parse_qs, urlsplit

import pytest

from autograder.version import version
from book.live.page_data import for_reports
from tests.book.live.reader import RIGHT

pytestmark = pytest.mark.book
RAISES = "def softmax(scores):\n    secret_name = scores / None\n    return secret_name"


def report(page):
    """Return the texts in the address of the report on softmax."""
    link = urlsplit(page.ask("softmax", "box.querySelector('.live-report a').href"))
    assert link.netloc == "form.example"
    return parse_qs(link.query, strict_parsing=True)


def test_a_report_says_what_the_check_found_and_no_code_until_the_box_is_ticked(page):
    page.run("softmax", RAISES)
    without = report(page)
    assert without["title"] == [f"softmax, version {version()}"]
    assert "Exercise: softmax\nVerdict: raised, on the case “" in without["text"][0]
    assert f"Version: {version()}" in without["text"][0] and "secret_name" not in without["text"][0]
    assert "scores" not in without["text"][0]

    page.ask("softmax", "box.querySelector('.live-report input').click()")
    assert RAISES in report(page)["text"][0] and "TypeError" in report(page)["text"][0]
    page.ask("softmax", "box.querySelector('.live-report input').click()")
    assert report(page) == without


def test_a_long_code_is_cut(page):
    page.run("softmax", f"{RAISES}\n" + "# long\n" * 1000)
    page.ask("softmax", "box.querySelector('.live-report input').click()")
    assert "the rest is too long for a link" in report(page)["text"][0] and len(report(page)["text"][0]) < 2000


def test_an_exercise_that_passes_offers_no_report(page):
    page.run("softmax", RIGHT)
    assert page.ask("softmax", "box.querySelector('.live-report') === null")


def test_a_page_gets_nothing_to_report_with_if_the_book_has_no_address():
    assert for_reports("") is None
