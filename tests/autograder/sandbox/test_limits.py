"""The page about the course states the limits of a submission that the code has."""

import pytest

from autograder.layout import REPO
from autograder.sandbox import Limits

pytestmark = pytest.mark.autograder
PAGE = " ".join((REPO / "chapters" / "sandbox.md").read_text(encoding="utf-8").split())
NUMBERS = {10: "ten"}
LIMITS = Limits()


@pytest.mark.parametrize(
    "sentence",
    [
        f"{LIMITS.call_seconds:g} seconds for a call, {LIMITS.cell_seconds:g} for a cell, "
        f"{LIMITS.processor_seconds:g} for a submission.",
        f"Cells that a student added share {LIMITS.own_cells_seconds:g} seconds,",
        f"from {LIMITS.cell_seconds:g} seconds down to {LIMITS.cell_seconds / 5:g}.",
        f"after {NUMBERS[LIMITS.wall_factor]} times as long in a call or a cell, "
        f"and after {LIMITS.wall_seconds:g} seconds in a submission.",
        f"On Linux, {LIMITS.sleep_seconds:g} seconds of sleep end a submission",
        f"Student code has at most {LIMITS.threads} threads",
    ],
)
def test_the_page_states_the_limits(sentence):
    assert sentence in PAGE
