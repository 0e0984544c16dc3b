"""A derivation or a cell that waits for an exercise: the build names an exercise that the page does not check."""

import io

import pytest
from docutils import nodes
from sphinx.application import Sphinx

pytestmark = pytest.mark.book

PAGE = """
A page
======

.. derivation:: {name}

   Words.

.. code::

   x

check(softmax)
check(attention)
"""


def warnings_of(folder, name, cell_waits_for=""):
    """Return what a build says about a page with a derivation, and a code cell if it waits for an exercise."""
    folder.joinpath("index.rst").write_text(PAGE.format(name=name), encoding="utf-8")
    said = io.StringIO()
    extensions = ["sphinx_design", "book.extensions.derivations"]
    places = (folder / part for part in ("out", "doctrees"))
    app = Sphinx(folder, None, *places, "dummy", confoverrides={"extensions": extensions}, status=None, warning=said)

    def add_cell(app, doctree):
        if cell_waits_for:
            doctree += nodes.container(cell_metadata={"opens_with": cell_waits_for})

    app.connect("doctree-read", add_cell, priority=1)
    app.build()
    return said.getvalue()


def test_exercises_of_the_page_are_known(tmp_path):
    assert "a fold waits" not in warnings_of(tmp_path, "softmax", cell_waits_for="attention")


def test_a_derivation_with_an_unknown_name_is_named_with_its_page_and_line(tmp_path):
    said = warnings_of(tmp_path, "sofmax")
    assert "index.rst:5: WARNING: a fold waits for the exercise 'sofmax', which this page does not check" in said
    assert "The page checks softmax and attention." in said


def test_a_cell_with_an_unknown_name_is_named(tmp_path):
    assert "the exercise 'atention', which this page" in warnings_of(tmp_path, "softmax", cell_waits_for="atention")
