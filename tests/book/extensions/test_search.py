"""The search of the book: the section that explains the query comes first, and excerpts contain no TeX."""

import json

import pytest

from tests.book.conftest import build_book, jupyter_book, page

pytestmark = pytest.mark.book

LAYER_NORM = "05_residual#layer-normalisation"
ROTARY = "06_position#rotary-positions"
ROOT = "01_attention#why-divide-by-the-square-root-of-the-key-width"
CACHE = "08_model#remember-the-keys-and-values"
SAMPLING = "10_project#temperature-and-top-p"
SCHEDULE = "09_training#the-learning-rate-schedule"
FIRST = {
    "softmax": "01_attention#from-scores-to-weights-the-softmax",
    "backprop": "02_backward",
    "backpropagation": "02_backward",
    "back propagation": "02_backward",
    "normalization": LAYER_NORM,
    "normalisation": LAYER_NORM,
    "layernorm": LAYER_NORM,
    "layer norm": LAYER_NORM,
    "layer normalization": LAYER_NORM,
    "RMS norm": "05_residual#rmsnorm-yours-to-derive",
    "cross attention": "07_cross",
    "cross-attention": "07_cross",
    "crossattention": "07_cross",
    "encoder-decoder attention": "07_cross",
    "multihead attention": "04_multihead",
    "RoPE": ROTARY,
    "rotary embeddings": ROTARY,
    "KV cache": CACHE,
    "key-value caching": CACHE,
    "flash attention": "since_then#flashattention",
    "FlashAttention": "since_then#flashattention",
    "sqrt": ROOT,
    "square root": ROOT,
    "softmax temperature": SAMPLING,
    "nucleus sampling": SAMPLING,
    "lr schedule": SCHEDULE,
    "warmup": SCHEDULE,
    "positional encoding": "06_position",
    "position embedding": "06_position",
    "grouped query attention": "since_then#grouped-queries",
    "SwiGLU": "since_then#a-gate-in-the-feed-forward",
    "causal mask": "03_masking#the-causal-mask",
    "look-ahead mask": "03_masking#the-causal-mask",
    "beam search": "08_model#several-hopeful-beginnings",
    "label smoothing": "09_training#softer-labels",
    "KL divergence": "09_training#kullback-and-leibler",
    "gradient checking": "02_backward#measuring-a-gradient",
    "weight tying": "08_model#one-table-in-three-roles",
    "dropout": "05_residual#dropout",
    "broadcasting": "glossary#term-broadcasting",
}
RESULTS = "[...document.querySelectorAll('#search-results li a')].map(link => link.getAttribute('href'))"
# The results of Sphinx's search for each query, with the best first, as "page#anchor".
FOUND = """({}).map(query => Search._performSearch(...Search._parseQuery(query)).reverse()
    .map(([page, , anchor]) => page.replace("chapters/", "") + anchor))"""


@pytest.fixture(scope="module")
def found(html, browser):
    """Return found(queries), which returns the places that the search finds for each query."""
    browser.open((html / "search.html").as_uri())
    return lambda queries: browser.evaluate(FOUND.format(json.dumps(list(queries))))


def test_the_section_that_explains_a_query_comes_first(found):
    assert len(FIRST) == 40
    places = dict(zip(FIRST, found(FIRST), strict=True))
    assert {query: places[query][:1] for query in FIRST} == {query: [place] for query, place in FIRST.items()}


def test_sections_come_before_pages_that_only_contain_the_words(found):
    (places,) = found(["optimizer"])
    is_section = ["#" in place for place in places]
    assert places[:2] == ["09_training#adam", "12_dictionary#the-optimiser"]
    assert is_section == sorted(is_section, reverse=True) and not is_section[-1]


def test_the_search_page_shows_each_place_once_and_the_best_first(html, browser):
    browser.open(f"{(html / 'search.html').as_uri()}?q=key-value+cache")
    browser.wait("document.querySelector('#search-results .search-summary').textContent.includes('found')")
    results = browser.evaluate(RESULTS)
    assert results[0] == "chapters/08_model.html#remember-the-keys-and-values"
    assert len(results) == len(set(results)) > 3


def test_a_name_for_a_section_that_does_not_exist_fails_the_build(little_book):
    page(little_book, text="## A section\n\nText.")
    names = little_book / "chapters" / "search_names.yml"
    names.write_text("01_attention: [page]\n01_attention#a-section: [part]\n")
    build_book(little_book)
    names.write_text("01_attention#a-chapter: [part]\n")
    built = jupyter_book(little_book)
    assert built.returncode != 0
    assert "names a section that does not exist: chapters/01_attention#a-chapter" in built.stderr


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
        build_book(little_book)
        index = (little_book / "_build" / "html" / "searchindex.js").read_text(encoding="utf-8")
        assert json.loads(index[index.index("{") : index.rindex("}") + 1])["indexentries"].keys() == {"widget"}
