"""The built pages as files: links work, pictures have texts, and nothing is loaded from other machines."""

from functools import cache
from urllib.parse import unquote, urlsplit

import lxml.html
import pytest
import yaml

from autograder.release.bundle import tutor_files
from book.extensions.failing import external_assets
from tests.book.conftest import ROOT

pytestmark = pytest.mark.book


@pytest.fixture(scope="session")
def pages(html):
    """Return path -> root element, for every HTML page."""
    paths = [path.resolve() for path in sorted(html.rglob("*.html")) if "_static" not in path.parts]
    return {path: root(path) for path in paths}


@cache
def root(path):
    """Return the root element of a page. lxml parses it much faster than BeautifulSoup."""
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    return lxml.html.document_fromstring(path.read_bytes(), parser=parser)


@cache
def targets(path):
    return set(root(path).xpath("//@id"))


def test_internal_links_and_anchors_work(pages, html):
    broken = []
    for path, page in pages.items():
        for link in page.xpath(
            "//a[not(ancestor::nav[contains(@class, 'live-links')])]/@href"
        ):  # these links lead to editors, which scripts make
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            anchor = unquote(address.fragment)
            exists = target.is_file() and target.is_relative_to(html.resolve())
            if not exists or (anchor and anchor not in targets(target)):
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_every_picture_has_an_alternative_text(pages):
    silent = [
        f"{path.name}: {lxml.html.tostring(tag)[:120]}"
        for path, page in pages.items()
        for tag in page.xpath("//img | //svg[@role='img']")
        if not (tag.get("alt") or tag.get("aria-label") or tag.get("aria-hidden") == "true")
    ]
    assert silent == []


def test_every_figure_is_drawn_inline(pages):
    drawn = [tag.tag for page in pages.values() for tag in page.find_class("figure-drawing")]
    assert "svg" in drawn
    assert not any(cell.xpath(".//img") for page in pages.values() for cell in page.find_class("cell_output"))


def test_nothing_is_loaded_from_another_machine(html):
    fetched = {
        path.name: external_assets(path.read_text(encoding="utf-8"))
        for path in [*html.rglob("*.html"), *html.rglob("*.css")]
    }
    assert {name: urls for name, urls in fetched.items() if urls} == {}
    assert not any("thebe" in path.read_text(encoding="utf-8").lower() for path in html.rglob("*.html"))


def test_no_source_is_published(html):
    assert not (html / "_sources").exists()
    sources = {path for path in html.rglob("*") if path.suffix in (".md", ".ipynb", ".py")}
    sources -= {html / name for name in tutor_files()}  # for coding agents
    # The folder with the code and the downloads of live pages is left out, because the gate checks it.
    assert [path for path in sources if not {"mathjax", "live"} & set(path.parts)] == []


def test_the_front_page_names_all_chapters_and_links_the_existing_ones(pages, html):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    numbered = [file for file in files if file.rpartition("/")[2][:2].isdigit()]
    front = pages[(html / f"{toc['root']}.html").resolve()]
    table = front.xpath("//article//table")[0]
    linked = [links[0] for row in table.xpath(".//tbody/tr") if (links := row.xpath(".//a/@href"))]
    assert linked == [file.rpartition("/")[2] + ".html" for file in numbered]


def test_a_page_has_one_title_and_a_language(pages):
    for path, page in pages.items():
        if path.parent.name == "chapters":
            assert len(page.xpath("//article//h1")) == 1, path.name
            assert page.get("lang") == "en"


def test_the_output_of_a_cell_is_one_box(pages):
    for path, page in pages.items():
        for cell in page.find_class("cell_output"):
            assert len(cell.find_class("stream")) <= 1, f"{path.name}: {cell.text_content()[:120]}"
