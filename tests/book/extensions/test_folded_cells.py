"""The line of a folded cell names what the cell contains."""

import pytest
from docutils import nodes

from book.extensions import folded_cells

pytestmark = pytest.mark.book


def named(code, output=False, hide_mode="input", **metadata):
    """Return a folded cell's line, and whether it is small."""
    cell = nodes.container(
        nb_element="cell_code", hide_mode=hide_mode, cell_metadata=metadata, prompt_show="Show code cell {type}"
    )
    cell += nodes.container("", nodes.literal_block(code, code), nb_element="cell_code_source")
    if output:
        cell += nodes.container(nb_element="cell_code_output")
    document = nodes.document(None, None)
    document += cell
    folded_cells.name_cells(None, document)
    return cell["prompt_show"], "shows-nothing" in cell["classes"]


def test_a_cell_that_only_asserts_is_a_small_tick():
    assert named("x = 1\nassert x == 1") == (folded_cells.PROOF, True)
    assert named("for x in (1, 2):\n    assert x", hide_mode="all") == (folded_cells.PROOF, True)


def test_a_tick_says_that_its_cell_also_defines_functions():
    assert named("def f():\n    return 1\n\n\nassert f()") == (folded_cells.PROOF_USED, True)
    assert named("for x in (1, 2):\n    def f():\n        return x\n    assert f()") == (folded_cells.PROOF, True)


def test_a_cell_that_only_defines_is_small():
    assert named("def f():\n    '''Never assert.'''") == (folded_cells.DEFINITIONS, True)


def test_a_cell_is_named_after_what_it_shows():
    assert named("assert True\nprint(1)", output=True) == (folded_cells.OUTPUT, False)
    figure = {"figure": {"caption": "Attention."}}
    assert named("draw()", output=True, mystnb=figure) == (folded_cells.FIGURE, False)


def test_a_cell_that_waits_for_an_exercise_or_folds_its_output_keeps_its_line():
    assert named("assert f", opens_with="softmax") == ("Show code cell {type}", False)
    assert named("assert f", hide_mode="output") == ("Show code cell {type}", False)
