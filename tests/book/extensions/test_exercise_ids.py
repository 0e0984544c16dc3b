"""No id occurs twice on a page with several exercises, and each exercise can be linked to."""

import pytest
from bs4 import BeautifulSoup

from tests.book.conftest import build_book, built_page, make_little_book, page

pytestmark = pytest.mark.book

TEXT = """
(exercise-one)=
:::{exercise} One
Add up.
:::

(exercise-two)=
:::{exercise} Two
Multiply.
:::
"""


def test_no_id_occurs_twice(tmp_path):
    folder = make_little_book(tmp_path)
    page(folder, text=TEXT)
    build_book(folder)
    html = BeautifulSoup(built_page(folder), "lxml")
    ids = [element["id"] for element in html.select("article [id]")]
    assert len(ids) == len(set(ids)) and {"exercise-one", "exercise-two"} <= set(ids)
    assert [text.get_text(strip=True) for text in html.select(".exercise section")] == ["Add up.", "Multiply."]
