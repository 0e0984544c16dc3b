"""A formula stays on one line with the punctuation that touches it."""

import re

import pytest

from tests.book.conftest import build_book, built_page, page

pytestmark = pytest.mark.book

X, Y, Z = "x_{901}", "y_{901}", "z_{901}"  # formulas that the book has not stored, so that pages contain their TeX


def test_a_formula_keeps_the_punctuation_that_touches_it(little_book):
    page(little_book, text=f"A formula (${X}$), and ${Y}$ without.")
    build_book(little_book)
    x, y = (rf'<span class="math notranslate nohighlight">\({name}\)</span>' for name in (X, Y))
    assert f'A formula <span class="unbroken">({x}),</span> and {y} without.' in built_page(little_book)


def test_equal_texts_keep_a_full_stop_each(little_book):
    page(little_book, text=f"First ${X}$, then *one*, then ${Y}$, then *two*. So ${Z}$. Or ${Z}$.")
    build_book(little_book)
    (paragraph,) = re.findall(r"<p>First.*?</p>", built_page(little_book))
    assert (
        re.sub(r"<.*?>", "", paragraph) == rf"First \({X}\), then one, then \({Y}\), then two. So \({Z}\). Or \({Z}\)."
    )
