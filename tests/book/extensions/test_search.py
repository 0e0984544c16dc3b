"""The search of the book: a page with the query as its title comes first, and excerpts contain no TeX."""

import json

import pytest

from tests.book.conftest import jupyter_book, page

pytestmark = pytest.mark.book

RESULTS = "[...document.querySelectorAll('#search-results li a')].map(link => link.getAttribute('href'))"


@pytest.mark.parametrize(
    "query, first",
    [
        ("causal mask", "chapters/03_masking.html#the-causal-mask"),
        ("label smoothing", "chapters/09_training.html"),
        ("gradients", "chapters/symbols.html#gradients"),
        ("broadcasting", "chapters/glossary.html#term-broadcasting"),
    ],
)
def test_the_page_with_the_query_as_its_title_comes_first(html, browser, query, first):
    browser.open(f"{(html / 'search.html').as_uri()}?q={query.replace(' ', '+')}")
    browser.wait("document.querySelector('#search-results .search-summary').textContent")
    assert browser.evaluate(RESULTS)[0] == first


PAGE = r"""<body><main role="main"><nav>Contents</nav><article><section id="a.b">
<h1>Title<a class="headerlink">#</a></h1>
<p>Divide by <span class="unbroken">(<span class="math">\(d_k\)</span>)</span>, or
<span class="math">\(\sqrt{d}\)</span>.
<svg><title>drawn</title></svg></p> <div class="math">\[Q K^\top\]</div></section></article>
<div class="term-definitions">A definition</div></main>"""


@pytest.mark.parametrize("anchor", ["", "#a.b"])
def test_an_excerpt_is_the_article_without_tex(html, browser, anchor):
    browser.open((html / "search.html").as_uri())
    text = browser.evaluate(f"Search.htmlToText({json.dumps(PAGE)}, {json.dumps(anchor)})")
    assert text == "Title Divide by (d_k), or …. …"


def test_no_page_of_the_book_shows_tex_in_an_excerpt(html, browser):
    browser.open((html / "search.html").as_uri())
    page = (html / "chapters" / "03_masking.html").read_text(encoding="utf-8")
    text = browser.evaluate(f"Search.htmlToText({json.dumps(page)}, '#the-causal-mask')")
    assert text.startswith("3.6. The causal mask") and "\\" not in text.replace("\\n", "")


def test_a_second_build_keeps_all_terms(little_book):
    page(little_book)
    toc = (
        "format: jb-book\nroot: chapters/01_attention\nchapters:\n  - file: chapters/words\n  - file: chapters/other\n"
    )
    (little_book / "_toc.yml").write_text(toc)
    (little_book / "chapters" / "words.md").write_text("# Words\n\n:::{glossary}\nwidget\n  A thing.\n:::\n")
    for text in ("First.", "Second."):
        (little_book / "chapters" / "other.md").write_text(f"# Other\n\n{text}\n")
        built = jupyter_book(little_book)
        assert built.returncode == 0, built.stderr
        index = (little_book / "_build" / "html" / "searchindex.js").read_text(encoding="utf-8")
        assert json.loads(index[index.index("{") : index.rindex("}") + 1])["indexentries"].keys() == {"widget"}
