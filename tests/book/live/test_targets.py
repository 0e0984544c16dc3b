"""What a reader touches on a page with exercises: the controls are large enough, and nothing covers the Run bar."""

import pytest

from tests.book.live.conftest import opened_by_new_reader
from tests.browsers.targets import small_targets
from tests.choosing import thinned

pytestmark = pytest.mark.book

TOP = "document.getElementById('pst-back-to-top')"
BAR = "document.querySelector('#live-attention_weights .live-bar')"
# Show the button "Back to top", and scroll until the middle of the Run bar is at its height. Return whether it was
# there before, because an editor that has just been loaded moves the bar.
MEET = f"""(() => {{
  {TOP}.style.display = "block";
  const middle = box => (box.top + box.bottom) / 2;
  const places = [{BAR}, {TOP}].map(part => middle(part.getBoundingClientRect()));
  scrollBy({{top: places[0] - places[1], behavior: "instant"}});
  return Math.abs(places[0] - places[1]) < 2;
}})()"""
# What is on top along the Run bar, from its left to its right end.
HIT = f"""(box => [...Array(40).keys()].map(place => {{
  const hit = document.elementFromPoint(box.left + (place + 0.5) / 40 * box.width, (box.top + box.bottom) / 2);
  return {BAR}.contains(hit) ? "bar" : {TOP}.contains(hit) ? "button" : hit.className;
}}))({BAR}.getBoundingClientRect())"""
MEETING = f"{BAR}.getBoundingClientRect().right > {TOP}.getBoundingClientRect().left"


@pytest.mark.parametrize("width", thinned([390, 1280], [390], "another width"))
def test_no_target_of_an_exercise_is_too_small_for_a_finger(lasting_python, browser, site, width):
    opened_by_new_reader(browser, site, width=width)
    assert browser.evaluate("document.querySelectorAll('.live-bar button').length") > 6
    assert small_targets(browser) == []


@pytest.mark.parametrize("width", thinned([390, 800], [390], "another width"))
def test_back_to_top_never_covers_the_run_bar(lasting_python, browser, site, width):
    opened_by_new_reader(browser, site, width=width)
    browser.scroll_to(BAR)
    # At once, because a part of the page that is laid out later moves the bar again.
    browser.wait(f"{MEET} && (window.met = [{MEETING}, {HIT}], true)")
    assert browser.evaluate("window.met") == [True, ["bar"] * 40]
