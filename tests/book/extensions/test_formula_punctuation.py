"""A formula stays on one line with the punctuation that touches it."""

import re

import pytest

from tests.book.conftest import built_page, jupyter_book, page

pytestmark = pytest.mark.book


def test_a_formula_keeps_the_punctuation_that_touches_it(little_book):
    page(little_book, text="A formula ($x$), and $y$ without.")
    assert jupyter_book(little_book).returncode == 0
    x, y = (rf'<span class="math notranslate nohighlight">\({name}\)</span>' for name in "xy")
    assert f'A formula <span class="unbroken">({x}),</span> and {y} without.' in built_page(little_book)


def test_equal_texts_keep_a_full_stop_each(little_book):
    page(little_book, text="First $x$, then *one*, then $y$, then *two*. So $z$. Or $z$.")
    assert jupyter_book(little_book).returncode == 0
    (paragraph,) = re.findall(r"<p>First.*?</p>", built_page(little_book))
    assert re.sub(r"<.*?>", "", paragraph) == r"First \(x\), then one, then \(y\), then two. So \(z\). Or \(z\)."
