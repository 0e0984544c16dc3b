"""Chapter 10: the page invents words as the chapter's cells do, with the same distribution at each step."""

import json

import numpy as np
import pytest

from autograder.layout import REPO
from book.explorer_data import parameters_of
from solutions.language_model import N_HEADS, stack_forward
from solutions.parameters import load, map_tree
from solutions.project import top_p
from solutions.pronunciations import BOS, EOS, SEP, SOUNDS, VOCABULARY, spelled
from tests.book.extensions.explorer import STATUS, UNNAMED, move, opened_explorer, press_button, reads_well
from tests.choosing import thinned

pytestmark = pytest.mark.book

FIRST_SOUND = VOCABULARY.index(SOUNDS[0])
WEIGHTS = REPO / "chapters" / "language_model.npz"
ROWS = """[...document.querySelectorAll('.explorer-choices tbody tr')].map(
    row => [...row.cells].map(cell => cell.textContent))"""
TEXT = """:::{explorer} inventor
:model: language_model.npz

Press the button.

A caption.
:::"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory, browser):
    """Return the tab with a page that has the explorer."""
    return opened_explorer(tmp_path_factory.mktemp("inventor"), browser, TEXT, WEIGHTS)


@pytest.fixture(scope="module")
def stack():
    return map_tree(lambda array: array.astype(np.float64), load(WEIGHTS))


def invent(tab):
    tab.evaluate(f"{STATUS[: STATUS.rindex('.')]}.textContent = ''")
    press_button(tab, "Invent 8 words")
    tab.wait(f"{STATUS}.endsWith('sounds.')")
    return tab.evaluate(ROWS)


def written(stack, p, temperature, goal):
    """Return letters and sounds of the text that the stack writes if every draw is `goal`, or None."""
    tokens = [BOS]
    while len(tokens) <= 26 and tokens[-1] != EOS:
        logits, _ = stack_forward(stack, np.array([tokens]), N_HEADS)
        tokens.append(int((top_p(logits[0, -1], p, temperature).cumsum() <= goal).sum()))
    middle = tokens.index(SEP) if SEP in tokens else 0
    letters, sounds = tokens[1:middle], tokens[middle + 1 : -1]
    complete = letters and sounds and tokens[-1] == EOS and max(letters) < FIRST_SOUND <= min(sounds)
    return [spelled(np.array(letters)), spelled(np.array(sounds))] if complete else None


@pytest.mark.parametrize(
    "chosen",
    thinned(
        [(0.9, 1, 0.3), (0.5, 1.5, 0.7), (1, 0.5, 0.05), (0.9, 2, 0.95)],
        [(0.9, 1, 0.3), (0.5, 1.5, 0.7)],
        "other choices of the reader",
    ),
)
def test_each_draw_is_from_the_distribution_of_the_chapter(tab, stack, chosen):
    p, temperature, goal = chosen
    move(tab, 0, temperature)
    move(tab, 1, p)
    tab.evaluate(f"Math.random = () => {json.dumps(goal)}")
    expected = written(stack, p, temperature, goal)
    assert invent(tab) == ([expected] * 8 if expected else [])
    assert tab.evaluate(UNNAMED) == 0 and not tab.exceptions()


def test_words_differ_and_read_well(tab):
    tab.evaluate("(seed => { Math.random = () => (seed = (16807 * seed) % 2147483647) / 2147483647 })(7)")
    move(tab, 0, 1)
    move(tab, 1, 0.9)
    words = invent(tab)
    assert len(words) > 3 and len({word for word, _ in words}) == len(words)
    assert all(word.isalpha() and sounds.isupper() for word, sounds in words)
    assert tab.evaluate(STATUS) == f"{len(words)} of 8 texts are a word with its sounds."
    assert reads_well(tab)


def test_the_page_holds_less_than_half_a_megabyte_of_weights():
    shapes = parameters_of(WEIGHTS)["shapes"].values()
    assert 2 * sum(np.prod(shape) for shape in shapes) < 500_000
