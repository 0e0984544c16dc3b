"""The bibliography: its labels are those in the text, it is sorted by them, and it is a list for screen readers."""

import re

import pytest
from bs4 import BeautifulSoup
from pybtex.database import parse_string

from autograder.chapter.targets import add_year_letters, citation, read_works
from tests.book.conftest import ROOT, build_book, built_page, page

pytestmark = pytest.mark.book

WORK = "@misc{{{key}, author = {{{author}}}, title = {{{title}}}, year = {{{year}}}}}\n"
WORKS = "".join(
    WORK.format(key=key, author=author, title=title, year=year)
    for key, author, title, year in [
        ("zoo", "Zoo, Ada", "A", 2001),
        ("muller", r"M{\"u}ller, Eva and Mumm, Jo", "B", 2019),
        ("three", "Ant, Ada and Bee, Bo and Cow, Cy", "D", 2023),
        ("again", "Ant, Ada and Dog, Di and Elk, Ed", "C", 2023),
        ("later", "Ant, Ada and Bee, Bo and Cow, Cy", "E", 2024),
        ("muster", "Muster, Max", "F", 1999),
    ]
)
AS_CITED = {
    "three": ("Ant et al.", "2023a"),
    "again": ("Ant et al.", "2023b"),
    "later": ("Ant et al.", "2024"),
    "muller": ("Müller and Mumm", "2019"),
    "muster": ("Muster", "1999"),
    "zoo": ("Zoo", "2001"),
}


def test_works_with_the_same_label_get_letters_in_the_order_of_the_file():
    works = parse_string(WORKS, "bibtex")
    for _ in range(2):  # the second time changes nothing
        add_year_letters(works)
        assert {key: citation(work) for key, work in works.entries.items()} == AS_CITED


def test_a_work_is_labelled_and_sorted_as_it_is_cited(little_book):
    (little_book / "chapters" / "references.bib").write_text(WORKS, encoding="utf-8")
    keys = ",".join(AS_CITED)
    page(little_book, text=f"{{cite:p}}`{keys}`\n\n:::{{bibliography}}\n:::")
    build_book(little_book)
    article = BeautifulSoup(built_page(little_book), "lxml").find("article")
    labels = [f"{authors}, {year}" for authors, year in AS_CITED.values()]
    (citation,) = article.find_all(class_="bibtex-citation")
    assert [link.get_text() for link in citation.find_all("a")] == labels
    (works,) = article.find_all("ul", class_="works")
    assert {child.name for child in works.find_all(recursive=False)} == {"li"}
    assert not article.find_all(role=["list", "doc-biblioentry"])
    assert [re.sub(r"[\[\]]", "", label.get_text()) for label in works.find_all(class_="label")] == labels
    assert [link["href"] for link in citation.find_all("a")] == [f"#{work['id']}" for work in works.find_all("li")]


def test_every_work_in_the_bibliography_is_cited():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "chapters").glob("*.md"))
    named = {key.strip() for keys in re.findall(r"\{cite[^}]*\}`([^`]+)`", pages) for key in keys.split(",")}
    assert set(read_works(ROOT / "chapters" / "references.bib").entries) == named
