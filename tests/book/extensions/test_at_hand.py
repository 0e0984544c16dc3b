"""The line with the signatures of earlier functions stands above an exercise's hints, on its page."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from autograder.chapter.chapter import read_chapter
from book.extensions.at_hand import add_lines

pytestmark = pytest.mark.book


def page_with(name):
    """A page with an exercise's text, a hint and its stub."""
    page = new_document("page")
    stub = nodes.container(cell_metadata={"tags": ["exercise"]})
    source = read_chapter("01_attention").stubs[name]
    stub += nodes.literal_block(source, source)
    page += [nodes.paragraph(text="The exercise."), nodes.container(design_component="dropdown"), stub]
    return page


def with_lines(name, docname="chapters/01_attention"):
    page = page_with(name)
    add_lines(SimpleNamespace(env=SimpleNamespace(docname=docname)), page)
    return page.children


def test_the_line_stands_between_the_text_and_the_hints():
    text, line, hint, _ = with_lines("attention")
    assert line.astext() == "You can call attention_weights(queries, keys) (above)."
    assert [code.astext() for code in line.findall(nodes.literal)] == ["attention_weights(queries, keys)"]
    assert text.astext() == "The exercise." and hint["design_component"] == "dropdown"


def test_an_exercise_that_calls_nothing_and_a_page_that_is_no_chapter_get_none():
    assert len(with_lines("softmax")) == 3
    assert len(with_lines("attention", docname="chapters/authors")) == 3
