"""The exercises that a given cell needs."""

import pytest

from autograder.chapter.chapter import Cell
from autograder.release.cell_needs import exercises_needed
from check.bundle_data import source_digest

pytestmark = pytest.mark.release


def needed_by(*sources):
    """Return the exercises that each of these given cells needs; the exercises are `softmax` and `attention`."""
    cells = [Cell("demo", source, {}, 0) for source in sources]
    needed = exercises_needed([Cell("check", "check(softmax)", {}, 0), *cells], ["softmax", "attention"])
    assert set(needed) <= set(map(source_digest, sources))
    return [needed.get(source_digest(source), []) for source in sources]


def test_a_cell_needs_what_it_calls_and_what_its_inputs_were_made_with():
    assert needed_by("x = 1", "a = softmax(x)", "b = attention(a)", "print(x)", "print(b)") == [
        [], ["softmax"], ["softmax", "attention"], [], ["softmax", "attention"],
    ]  # fmt: skip


def test_names_bound_after_a_call_need_the_called_exercise():
    assert needed_by("x = 1\na = softmax(x)\ny = 2", "print(x)", "print(y)", "y = 3", "print( y)") == [
        ["softmax"], [], ["softmax"], [], [],
    ]  # fmt: skip


def test_an_object_changed_in_place_needs_what_changed_it():
    loop = "losses, slopes, shares = [], {}, {}\nfor i in range(3):\n"
    cells = (f"{loop}    losses.append(softmax(i))\n    slopes[i] = 1\n    shares[0].extend([i])", "losses[-1]")
    assert needed_by(*cells, "slopes[0]", "shares[0]", "losses[0]") == [["softmax"]] * 5


def test_a_function_needs_what_it_calls_but_its_local_names_need_nothing():
    layer = "def layer(x):\n    a = softmax(x)\n    return [a for x in a]"
    assert needed_by(layer, "y = layer(3)", "def other(a, layer):\n    return a + layer(1)", "print(a, x)") == [
        ["softmax"], ["softmax"], [], [],
    ]  # fmt: skip


def test_a_name_that_a_statement_binds_before_it_reads_it_needs_nothing_from_cells_above():
    above = "rows = softmax(1)"
    loop = "for name, rows in logs:\n    seen = rows['step']\n    print(rows, seen)"
    assert needed_by(above, "seen = rows", loop, "show = lambda: rows") == [["softmax"], ["softmax"], [], []]
    assert needed_by(above, "print(rows)\n", "for row in rows:\n    rows = row") == [["softmax"]] * 3


def test_a_call_of_a_module_s_function_does_not_change_the_module():
    cells = ("import numpy as np", "np.save(file, softmax(1))", "np.zeros(3)", "found.append(softmax(1))", "found")
    assert needed_by(*cells) == [[], ["softmax"], [], ["softmax"], ["softmax"]]
