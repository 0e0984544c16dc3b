"""An explorer in the source of a page: invisible without its script, and an error if its name is unknown."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import directives

from autograder.chapter.plain_markdown import DIRECTIVES
from book.extensions import explorers

pytestmark = pytest.mark.book


def test_without_a_script_in_an_epub_and_in_a_notebook_an_explorer_shows_nothing(html):
    page = (html / "chapters" / "01_attention.html").read_text(encoding="utf-8")
    assert '<div class="explorer" data-explorer="query" hidden>' in page and "explore-query.js" in page
    assert "explore" not in (html / "chapters" / "04_multihead.html").read_text(encoding="utf-8")
    assert DIRECTIVES["explorer"](None, None) == ""
    with pytest.raises(nodes.SkipNode):
        explorers.visit_html(SimpleNamespace(builder=SimpleNamespace(name="epub")), None)


def test_an_unknown_name_is_an_error():
    directives.register_directive("explorer", explorers.Explorer)
    page = publish_doctree(".. explorer:: nobody", settings_overrides={"report_level": 5})
    assert "there is no explorer 'nobody'" in page.astext()
