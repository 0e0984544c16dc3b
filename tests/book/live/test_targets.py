"""What a reader touches on a page with exercises is large enough."""

import pytest

from tests.book.live.conftest import opened_by_new_reader
from tests.browsers.targets import small_targets
from tests.choosing import thinned

pytestmark = pytest.mark.book


@pytest.mark.parametrize("width", thinned([390, 1280], [390], "another width"))
def test_no_target_of_an_exercise_is_too_small_for_a_finger(lasting_python, browser, site, width):
    opened_by_new_reader(browser, site, width=width)
    assert browser.evaluate("document.querySelectorAll('.live-bar button').length") > 6
    assert small_targets(browser) == []


def test_the_exercises_of_a_chapter_are_listed_in_one_row_on_a_phone(page_on_a_phone, browser):
    row = "document.querySelector('nav.live-links ol')"
    height, wide = browser.evaluate(f"[{row}.offsetHeight, {row}.scrollWidth > {row}.clientWidth]")
    assert height < 48 and wide
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
