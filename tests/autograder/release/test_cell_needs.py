"""Which exercises a given cell rests on."""

import pytest

from autograder.chapter.chapter import Cell
from autograder.release.cell_needs import rests_on
from check.bundle_data import fingerprint

pytestmark = pytest.mark.autograder


def told(*sources):
    """What each of these given cells rests on, where `softmax` and `attention` are the exercises."""
    cells = [Cell("demo", source, {}, 0) for source in sources]
    found = rests_on([Cell("check", "check(softmax)", {}, 0), *cells], ["softmax", "attention"])
    assert set(found) <= set(map(fingerprint, sources))
    return [found.get(fingerprint(source), []) for source in sources]


def test_a_cell_rests_on_what_it_calls_and_on_what_others_made_with_it():
    assert told("x = 1", "a = softmax(x)", "b = attention(a)", "print(x)", "print(b)") == [
        [], ["softmax"], ["softmax", "attention"], [], ["softmax", "attention"],
    ]  # fmt: skip


def test_what_comes_after_a_call_is_not_made_without_it():
    assert told("x = 1\na = softmax(x)\ny = 2", "print(x)", "print(y)", "y = 3", "print( y)") == [
        ["softmax"], [], ["softmax"], [], [],
    ]  # fmt: skip


def test_what_is_changed_in_place_rests_on_what_it_was_changed_by():
    made = "losses, slopes, shares = [], {}, {}\nfor i in range(3):\n"
    cells = (f"{made}    losses.append(softmax(i))\n    slopes[i] = 1\n    shares[0].extend([i])", "losses[-1]")
    assert told(*cells, "slopes[0]", "shares[0]", "losses[0]") == [["softmax"]] * 5


def test_functions_rest_on_what_they_call_and_their_own_names_on_nothing():
    layer = "def layer(x):\n    a = softmax(x)\n    return [a for x in a]"
    assert told(layer, "y = layer(3)", "def other(a, layer):\n    return a + layer(1)", "print(a, x)") == [
        ["softmax"], ["softmax"], [], [],
    ]  # fmt: skip
