"""What a reader touches on a page with exercises: the controls are large enough."""

import pytest

from tests.browsers.targets import small_targets

pytestmark = pytest.mark.book


@pytest.mark.parametrize("width", [390, 1280])
def test_no_target_of_an_exercise_is_too_small_for_a_finger(page, browser, width):
    page.open(width=width)
    assert browser.evaluate("document.querySelectorAll('.live-bar button').length") > 6
    assert small_targets(browser) == []
