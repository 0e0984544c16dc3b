"""The previews of links to a page, the book's icon, and the page for addresses that do not exist."""

import re
from urllib.parse import urljoin

import pytest
import yaml
from bs4 import BeautifulSoup

from book import emblem
from tests.book.conftest import ROOT, build_book, page

pytestmark = pytest.mark.book

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
HOME = "https://example.org/book/"
PAGES = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]


def head(path):
    text, end, _ = path.read_text(encoding="utf-8").partition("</head>")  # parsing a whole page takes a second
    return BeautifulSoup(text + end, "lxml").head


def content(head, name):
    return [meta["content"] for meta in head.find_all("meta") if name in (meta.get("name"), meta.get("property"))]


def test_every_page_has_a_description_of_its_own(html):
    descriptions = {}
    for name in PAGES:
        page_head = head(html / f"{name}.html")
        (descriptions[name],) = content(page_head, "description")
        assert content(page_head, "og:description") == [descriptions[name]]
        (title,) = content(page_head, "og:title")
        assert title in page_head.title.string
        assert not content(page_head, "og:image") and not page_head.find("base")  # the book has no address yet
    assert len(set(descriptions.values())) == len(PAGES)
    assert not {name: text for name, text in descriptions.items() if not re.fullmatch(r"[A-Z].{40,155}\.", text)}


def test_a_book_with_an_address_links_its_preview_image_and_its_pages_absolutely(little_book):
    page(little_book)
    chapter = little_book / "chapters" / "01_attention.md"
    text = chapter.read_text(encoding="utf-8")
    sentence = 'myst:\n  html_meta:\n    description: "What \\"it\\" is."\n'
    chapter.write_text(f"---\n{sentence}---\n\n{text}", encoding="utf-8")
    config = little_book / "_config.yml"
    text = config.read_text(encoding="utf-8")
    assert 'baseurl: ""' in text
    config.write_text(text.replace('baseurl: ""', f"baseurl: {HOME.rstrip('/')}"), encoding="utf-8")
    build_book(little_book)
    html = little_book / "_build" / "html"

    page_head = head(html / "chapters" / "01_attention.html")
    assert content(page_head, "description") == content(page_head, "og:description") == ['What "it" is.']
    assert content(page_head, "og:title") == ["A page"] and content(page_head, "og:type") == ["website"]
    assert content(page_head, "og:site_name") == ["The Transformer by Hand"]
    assert content(page_head, "og:url") == ["https://example.org/book/chapters/01_attention.html"]
    (image,) = content(page_head, "og:image")
    assert image.startswith(HOME) and (html / image.removeprefix(HOME)).exists()
    assert content(page_head, "og:image:alt") and content(page_head, "twitter:card") == ["summary_large_image"]

    lost = BeautifulSoup((html / "404.html").read_text(encoding="utf-8"), "lxml")
    tags = [tag for tag in lost.find_all(True) if tag.get("href") or tag.get("src")]
    assert tags[0].name == "base"
    addresses = {urljoin(tags[0]["href"], tag.get("href") or tag["src"]) for tag in tags}
    own = {re.split("[?#]", address.removeprefix(HOME))[0] for address in addresses if address.startswith(HOME)}
    assert {"chapters/01_attention.html", "search.html", "_static/house.css", "_static/icons.css"} <= own
    assert not {name for name in own if not (html / name).is_file()}


def test_the_page_for_missing_addresses_links_to_the_book(html):
    lost = BeautifulSoup((html / "404.html").read_text(encoding="utf-8"), "lxml")
    assert lost.article.h1.get_text() == "There is no page here"
    assert [link["href"] for link in lost.article.find_all("a")] == ["chapters/index.html", "search.html"]


def test_the_icon_is_what_its_program_draws(html):
    assert (emblem.STATIC / "icon.svg").read_text(encoding="utf-8") == emblem.icon()
    assert (emblem.STATIC / "card.png").read_bytes() == emblem.card()
    for name in PAGES:
        (icon,) = head(html / f"{name}.html").find_all("link", rel="icon")
        assert (html / name).parent.joinpath(icon["href"]).resolve() == (html / "_static" / "icon.svg").resolve()
