"""The build fails if a page loads something from another machine."""

import pytest

from book.extensions.failing import external_assets
from tests.book.conftest import jupyter_book, page

pytestmark = pytest.mark.book


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ("<script async src=//cdn.example/x.js>", ["//cdn.example/x.js"]),
        ('<link href="http://a.example/s.css" rel="stylesheet">', ["http://a.example/s.css"]),
        ("@import 'https://fonts.example/f';", ["https://fonts.example/f"]),
        ("src: url(https://fonts.example/f.woff)", ["https://fonts.example/f.woff"]),
        ('<img alt="" src="https://a.example/i.png">', ["https://a.example/i.png"]),
        ('<a href="https://arxiv.org/abs/1706.03762">the paper</a>', []),
        ('<link rel="next" href="guide.html"><img src="data:image/png;base64,AA==">', []),
    ],
)
def test_the_urls_that_a_browser_would_load_are_listed(text, urls):
    assert external_assets(text) == urls


def test_an_external_picture_fails_the_build(little_book):
    page(little_book, text='<img alt="a" src="https://a.example/i.png">')
    built = jupyter_book(little_book)
    assert built.returncode != 0 and "https://a.example/i.png from another machine" in built.stderr
