"""The EPUB of a small book."""

import shutil
import subprocess
import zipfile
from posixpath import dirname, normpath

import pytest
from lxml import etree

from tests.book.conftest import build_book
from tests.book.forms.conftest import HIDDEN, words
from tests.patience import SECONDS

pytestmark = pytest.mark.book


@pytest.fixture(scope="module")
def epub(small_book):
    """Return the files of the EPUB: name -> bytes."""
    folder = small_book / "_build" / "epub"
    (folder / "_static").mkdir(parents=True)
    for name in ("index.html", "epub-cover.xhtml", "_static/left.css"):  # files that an earlier build leaves behind
        (folder / name).write_text("left")
    build_book(small_book, "--builder", "custom", "--custom-builder", "epub")
    with zipfile.ZipFile(folder / "transformer-by-hand.epub") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_epub_lists_every_file_with_its_type(epub):
    assert list(epub)[0] == "mimetype" and epub["mimetype"].strip() == b"application/epub+zip"
    package = etree.fromstring(epub["content.opf"])
    items = {item.get("href"): item.get("properties") for item in package.iterfind(".//{*}item")}
    assert {*items, "mimetype", "content.opf", "META-INF/container.xml"} == set(epub)
    assert items["chapters/01_attention.xhtml"] == "mathml svg"
    assert {name for name in items if name.startswith("_static/")} == {"_static/cover.png", "_static/epub.css"}
    assert items["_static/cover.png"] == "cover-image"
    assert package.findtext(".//{*}title") == "The Transformer by Hand"


def test_every_page_of_the_epub_is_xml_without_scripts_and_without_broken_links(epub):
    pages = {name: etree.fromstring(content) for name, content in epub.items() if name.endswith(".xhtml")}
    ids = {name: set(tree.xpath("//@id")) for name, tree in pages.items()}
    linked = 0
    for name, tree in pages.items():
        assert tree.xpath("//*[local-name() = 'script' or local-name() = 'input' or local-name() = 'textarea']") == []
        for link in tree.xpath("//@href | //@src"):
            address, _, fragment = link.partition("#")
            if ":" not in address:
                target = normpath(f"{dirname(name)}/{address}").lstrip("/") if address else name
                assert target in epub and (not fragment or fragment in ids[target]), (name, link)
                linked += 1
    assert linked > 10


def test_no_line_of_the_epub_is_wider_than_a_small_screen(epub, browser, tmp_path):
    for name, content in epub.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    browser.open((tmp_path / "chapters" / "02_more.xhtml").as_uri(), width=600)
    assert browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_epub_has_formulas_in_mathml_and_the_answers(epub):
    tree = etree.fromstring(epub["chapters/01_attention.xhtml"])
    formulas = tree.xpath("//*[local-name() = 'math']")
    assert len(formulas) == 2
    assert len(formulas[1].xpath(".//*[local-name() = 'mtr']")) == 2  # aligned is a table of two rows
    assert formulas[1].xpath(".//*[local-name() = 'mi' and . = 'softmax']")  # one word, not seven letters
    text = words(etree.tostring(tree, method="text", encoding="unicode"))
    assert [missing for missing in HIDDEN if missing not in text.replace("'", "’")] == []
    assert "\\" not in text


def test_the_contents_of_the_epub_have_chapters_and_sections(epub):
    titles = [words("".join(link.itertext())) for link in etree.fromstring(epub["nav.xhtml"]).iter("{*}a")]
    assert titles == ["A page", "1. Another page", "1.1. A section of it", "1.2. A table"]


@pytest.mark.thorough("checks again, in a minute and a half, that the files are listed, valid and linked")
def test_epubcheck_finds_no_error(epub, small_book):
    if not (program := shutil.which("epubcheck")):
        pytest.skip("NO EPUBCHECK: the EPUB was not checked by it. Install it: `apt-get install epubcheck`.")
    book = small_book / "_build" / "epub" / "transformer-by-hand.epub"
    command = ["java", "-jar", program] if zipfile.is_zipfile(program) else [program]  # Debian's program is a jar
    result = subprocess.run([*command, book], capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == 0, result.stdout + result.stderr
