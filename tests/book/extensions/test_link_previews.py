"""What a page says of itself where it is linked, the book's emblem, and the page for addresses that lead nowhere."""

import re
from urllib.parse import urljoin

import pytest
import yaml
from bs4 import BeautifulSoup

from book import emblem
from tests.book.conftest import ROOT, jupyter_book, page

pytestmark = pytest.mark.book

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
HOME = "https://example.org/book/"
PAGES = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]


def head(path):
    text, end, _ = path.read_text(encoding="utf-8").partition("</head>")  # to parse all of a page takes a second
    return BeautifulSoup(text + end, "lxml").head


def said(head, name):
    return [meta["content"] for meta in head.find_all("meta") if name in (meta.get("name"), meta.get("property"))]


def test_every_page_has_a_sentence_of_its_own(html):
    found = {}
    for name in PAGES:
        its = head(html / f"{name}.html")
        (found[name],) = said(its, "description")
        assert said(its, "og:description") == [found[name]]
        (title,) = said(its, "og:title")
        assert title in its.title.string
        assert not said(its, "og:image") and not its.find("base")  # it has no address yet
    assert len(set(found.values())) == len(PAGES)
    assert not {name: text for name, text in found.items() if not re.fullmatch(r"[A-Z].{40,155}\.", text)}


def test_a_book_with_an_address_names_its_card_and_finds_home_from_anywhere(little_book):
    page(little_book)
    chapter = little_book / "chapters" / "01_attention.md"
    text = chapter.read_text(encoding="utf-8")
    sentence = 'myst:\n  html_meta:\n    description: "What \\"it\\" is."\n'
    chapter.write_text(text.replace("\n---\n", f"\n{sentence}---\n", 1), encoding="utf-8")
    config = little_book / "_config.yml"
    text = config.read_text(encoding="utf-8")
    assert 'baseurl: ""' in text
    config.write_text(text.replace('baseurl: ""', f"baseurl: {HOME.rstrip('/')}"), encoding="utf-8")
    built = jupyter_book(little_book)
    assert built.returncode == 0, built.stderr
    html = little_book / "_build" / "html"

    its = head(html / "chapters" / "01_attention.html")
    assert said(its, "description") == said(its, "og:description") == ['What "it" is.']
    assert said(its, "og:title") == ["A page"] and said(its, "og:type") == ["website"]
    assert said(its, "og:url") == ["https://example.org/book/chapters/01_attention.html"]
    (image,) = said(its, "og:image")
    assert image.startswith(HOME) and (html / image.removeprefix(HOME)).exists()
    assert said(its, "og:image:alt") and said(its, "twitter:card") == ["summary_large_image"]

    lost = BeautifulSoup((html / "404.html").read_text(encoding="utf-8"), "lxml")
    tags = [tag for tag in lost.find_all(True) if tag.get("href") or tag.get("src")]
    assert tags[0].name == "base"
    addresses = {urljoin(tags[0]["href"], tag.get("href") or tag["src"]) for tag in tags}
    own = {re.split("[?#]", address.removeprefix(HOME))[0] for address in addresses if address.startswith(HOME)}
    assert {"chapters/01_attention.html", "search.html", "_static/house.css", "searchindex.js"} <= own
    assert not {name for name in own if not (html / name).is_file()}


def test_the_page_for_lost_readers_says_where_to_go(html):
    lost = BeautifulSoup((html / "404.html").read_text(encoding="utf-8"), "lxml")
    assert lost.article.h1.get_text() == "There is no page here"
    assert [link["href"] for link in lost.article.find_all("a")] == ["chapters/index.html", "search.html"]


def test_the_emblem_is_drawn_by_its_program(html):
    assert (emblem.STATIC / "icon.svg").read_text(encoding="utf-8") == emblem.icon()
    assert (emblem.STATIC / "card.png").read_bytes() == emblem.card()
    for name in PAGES:
        (icon,) = head(html / f"{name}.html").find_all("link", rel="icon")
        assert (html / name).parent.joinpath(icon["href"]).resolve() == (html / "_static" / "icon.svg").resolve()
