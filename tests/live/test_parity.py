"""The browser judges as this Python does, which is that of grading; benchmarks/parity.py compares all chapters."""

import pytest

from benchmarks import parity

pytestmark = pytest.mark.book


def test_a_chapter_s_answers_are_judged_alike(python_for_pages, browser):
    ((_, here, there),) = parity.compared(browser, ["01_attention"])
    assert len(here) > 60
    assert there == here
