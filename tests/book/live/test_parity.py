"""The browser judges as this Python does, which is that of grading, and runs the cells of a chapter.

benchmarks/parity.py and benchmarks/cells.py compare all chapters.
"""

import pytest

from benchmarks import cells, parity
from tests.book.live.reader import only_in_chromium

pytestmark = [pytest.mark.book, only_in_chromium]


def test_a_chapter_s_answers_are_judged_alike(python_for_pages, browser):
    ((_, here, there),) = parity.compared(browser, ["01_attention"])
    assert len(here) > 60
    assert there == here


def test_the_cells_of_a_chapter_run_and_say_what_they_say_here(python_for_pages, browser):
    found = list(cells.compared(browser, "07_cross"))
    assert len(found) >= 15
    for line, here, there, _ in found:
        assert cells.runs(there), line
        assert cells.said(there) == cells.said(here), line
    assert any("<svg" in there["html"] for _, _, there, _ in found)
