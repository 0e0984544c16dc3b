"""A browser judges answers as grading does, and runs the cells of a chapter with the same output.

These tests compare one chapter each. benchmarks/parity.py and benchmarks/cells.py compare all.
"""

import pytest

from benchmarks import cells, parity
from tests.book.live.reader import only_in_chromium

pytestmark = [pytest.mark.book, only_in_chromium]


@pytest.mark.thorough("test_live_pages shows some verdicts in the browser")
def test_the_browser_gives_each_known_answer_the_same_verdict(python_for_pages, browser):
    ((_, here, in_browser),) = parity.compared(browser, ["01_attention"])
    assert len(here) > 60
    assert in_browser == here


@pytest.mark.thorough("what test_given_cells shows for a few cells")
def test_the_cells_of_a_chapter_show_the_same_in_the_browser(python_for_pages, browser):
    runs = list(cells.compared(browser, "07_cross"))
    assert len(runs) >= 15
    for line, here, in_browser, _ in runs:
        assert cells.succeeded(in_browser), line
        assert cells.shown(in_browser) == cells.shown(here), line
    assert any("<svg" in in_browser["html"] for _, _, in_browser, _ in runs)
