"""Chapter 1: the reader drags a query over the keys, and the weights are those of the chapter."""

import math

import numpy as np
import pytest

from tests.book.extensions.explorer import KEYS, STATUS, VALUES, drag, move, reads_well

pytestmark = pytest.mark.book

ROWS = "[...document.querySelectorAll('.explorer tbody tr')].map(row => row.cells[{cell}].textContent)"


@pytest.fixture
def tab(opened):
    return opened("01_attention")


def expected(query, divided=True):
    strengths = np.exp(KEYS @ query / (math.sqrt(2) if divided else 1))
    weights = strengths / strengths.sum()
    return [f"{weight:.2f}" for weight in weights], [f"{n:.2f}".replace("-", "−") for n in weights @ VALUES]


def shows(tab, query, divided=True):
    weights, result = expected(np.array(query), divided)
    tab.wait(f"JSON.stringify({ROWS.format(cell=2)}) === JSON.stringify({weights})")
    return f"finds ({', '.join(result)})" in tab.evaluate(STATUS)


def test_the_explorer_starts_with_the_query_of_the_text_and_computes_its_weights(tab):
    assert shows(tab, (1, 1))
    assert tab.evaluate(ROWS.format(cell=1)) == ["0.00", "1.41", "−0.71"]
    move(tab, 0, -2.5)
    move(tab, 1, 0.5)
    assert shows(tab, (-2.5, 0.5))
    tab.evaluate("document.querySelector('.explorer input[type=checkbox]').click()")
    assert shows(tab, (-2.5, 0.5), divided=False)
    tab.evaluate("document.querySelector('.explorer input[type=checkbox]').click()")
    assert reads_well(tab)
    assert not tab.exceptions()


def test_dragging_the_arrow_changes_the_query(tab):
    def at(x, y):
        return (x + 3.6) / 7.2, (3.6 - y) / 7.2

    drag(tab, (".explorer svg", 0), at(1, 1), at(0, 1), at(9, -2))
    assert shows(tab, (3, -2))  # where the plot ends


def test_the_keyboard_moves_the_query(tab):
    tab.evaluate("document.querySelectorAll('.explorer button')[1].focus()")
    tab.press("Enter")
    assert shows(tab, (0, -1))
    tab.evaluate("document.querySelector('.explorer input[type=range]').focus()")
    tab.press("ArrowRight")
    assert shows(tab, (0.1, -1))
