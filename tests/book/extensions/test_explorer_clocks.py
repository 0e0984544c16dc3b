"""Chapter 6: the clocks turn as the chapter's encoding does."""

import pytest

from solutions.position import shift_matrix, sinusoidal_encoding
from tests.book.extensions.explorer import STATUS, drag, move, reads_well

pytestmark = pytest.mark.book

CLOCKS = """[...document.querySelectorAll('.explorer-clocks table')].map(
    table => [...table.querySelectorAll('td')].map(cell => cell.textContent))"""


def turned(p, k):
    """Return for each clock the content of its table: the pair at p, the 2 x 2 shift matrix, the pair at p + k."""
    rows, shift = sinusoidal_encoding(max(p, p + k) + 1, 8), shift_matrix(k, 8)
    pairs = [slice(i, i + 2) for i in range(0, 8, 2)]
    return [[*rows[p, pair], *shift[pair, pair].flat, *rows[p + k, pair]] for pair in pairs]


def turns(tab, p, k):
    numbers = [[f"{number:.3f}".replace("-", "−") for number in clock] for clock in turned(p, k)]
    tab.wait(f"JSON.stringify({CLOCKS}) === JSON.stringify({numbers})")
    return tab.evaluate(STATUS).startswith(f"From position {p} to {p + k} the four clocks turn by ")


def one_to_four(tab):
    move(tab, 0, 3)
    move(tab, 1, 1)
    return tab


def test_a_shift_turns_the_clocks_as_the_chapter_s_matrix_does(opened):
    tab = opened("06_position")
    assert turns(tab, 1, 3)
    for p, k in ((9, 3), (60, 3), (60, -7), (100, 10)):
        move(tab, 0, k)
        move(tab, 1, p)
        assert turns(tab, p, k)
    move(tab, 1, 0)
    move(tab, 0, -10)
    assert turns(tab, 10, -10)  # there is no position before the first
    assert reads_well(tab)
    assert not tab.exceptions()


def test_dragging_a_hand_changes_the_position(opened):
    tab = one_to_four(opened("06_position"))
    drag(tab, (".explorer-clocks svg", 1), (0.5, 0.1), (0.8, 0.2), (0.9, 0.5))  # a quarter turn, π / 2 / 0.1
    assert turns(tab, 17, 3)
    drag(tab, (".explorer-clocks svg", 0), (0.1, 0.5), (0.5, 0.1), (0.9, 0.5), (0.5, 0.9), (0.1, 0.5), (0.5, 0.1))
    assert turns(tab, 25, 3)  # five quarter turns
    drag(tab, (".explorer-clocks svg", 2), (0.5, 0.1), (0.1, 0.5))
    assert turns(tab, 0, 3)  # more than a hundred positions back, but 0 is the first


def test_the_keyboard_turns_the_clocks(opened):
    tab = one_to_four(opened("06_position"))
    for slider, p, k in ((0, 1, 4), (1, 2, 4)):
        tab.evaluate(f"document.querySelectorAll('.explorer input[type=range]')[{slider}].focus()")
        tab.press("ArrowRight")
        assert turns(tab, p, k)
    tab.evaluate("document.querySelectorAll('.explorer-presets button')[1].focus()")
    tab.press("Enter")
    assert turns(tab, 9, 4)
