"""The book's other forms: a printed page, the PDF, the EPUB; made from a small book, and opened."""

import re
import shutil
import subprocess
import zipfile
from posixpath import dirname, normpath

import pytest
from lxml import etree
from pypdf import PdfReader

from book.forms import pdf
from tests.book.conftest import jupyter_book, make_little_book, page

pytestmark = pytest.mark.book

TOC = """format: jb-book
root: chapters/01_attention
parts:
  - caption: More
    numbered: true
    chapters:
      - file: chapters/02_more
"""
WIDE = f"wide = '{' '.join(['word'] * 60)} the_end_of_a_wide_line'"
FIRST = """
A formula, $a_j = \\frac{e^{s_j}}{\\sum_m e^{s_m}}$, and a numbered one:

$$
\\begin{aligned}
a &= \\mathrm{softmax}(b) \\\\
  &< \\log c .
\\end{aligned}
$$ (the-formula)

:::{dropdown} A hint
What the dropdown hides.
:::

::::{question} Which of the two?
:kind: prediction

- [x] this

  It is the right answer's reason.
- [ ] that

  No, see {eq}`the-formula`.
::::

::::{question} In words?
:kind: words

:::{answer}
What the model answer says.
:::
::::

:::::{tab-set}
::::{tab-item} One
The first tab.
::::
::::{tab-item} Two
The second tab.
::::
:::::

<details open class="mistakes"><summary>Raw</summary>What a cell's own HTML folds.<br></details>

Read on in {doc}`the other page <02_more>`, or [elsewhere](https://example.org/elsewhere).
"""
# A cell and a picture that fit a page together, and a caption that does not fit it as well.
PICTURE = """
```{code-cell} python
---
tags: [hide-input]
mystnb:
  figure:
    caption: What the picture shows.{{MORE}}
---
class Picture:
    def _repr_html_(self):
        drawing = '<text x="9" y="99">The picture itself.</text><path d="M 0 0 H 400 V 200 H 0 Z" fill="none" />'
        svg = 'xmlns="http://www.w3.org/2000/svg" class="figure-drawing" viewBox="0 0 400 200"'
        return f'<svg {svg} style="width: 537px; max-width: 100%">{drawing}</svg>'


{{LINES}}
Picture()
```
"""
SECOND = """# Another page

## A section of it

Back to {eq}`the-formula`.
An address that is long: [https://example.org/{{ADDRESS}}](https://example.org/elsewhere).

## A table

{{ROWS}}
"""
HIDDEN = [
    "What the dropdown hides",
    "the right answer’s reason",
    "What the model answer says",
    "The second tab",
    "own HTML folds",
]


@pytest.fixture(scope="module")
def small_book(tmp_path_factory):
    """A built book of two pages."""
    folder = make_little_book(tmp_path_factory.mktemp("forms"))
    (folder / "_toc.yml").write_text(TOC)
    rows = "\n".join(f"| row {row} | {'a word ' * 200} its end {row} |" for row in range(9))
    second = SECOND.replace("{{ROWS}}", f"| a | b |\n| --- | --- |\n{rows}").replace("{{ADDRESS}}", "long" * 40)
    (folder / "chapters" / "02_more.md").write_text(second)
    picture = PICTURE.replace("{{LINES}}", "# a line of code\n" * 28).replace("{{MORE}}", " A word." * 200)
    page(folder, f"{WIDE}\nprint(wide)", FIRST + picture)
    built = jupyter_book(folder)
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def printed(small_book, chromium):
    pdf.make(chromium, small_book / "_build" / "html", small_book / "book.pdf", "A Title", "An Author")
    return PdfReader(small_book / "book.pdf")


@pytest.fixture(scope="module")
def epub(small_book):
    """The EPUB, opened: name -> bytes."""
    folder = small_book / "_build" / "epub"
    (folder / "_static").mkdir(parents=True)
    for left in ("index.html", "epub-cover.xhtml", "_static/left.css"):  # as an earlier build leaves it
        (folder / left).write_text("left")
    built = jupyter_book(small_book, "--builder", "custom", "--custom-builder", "epub")
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    with zipfile.ZipFile(folder / "transformer-by-hand.epub") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def words(text):
    return " ".join(text.split())


def test_the_pdf_says_what_it_is_and_numbers_its_pages(printed):
    assert (printed.metadata.title, printed.metadata.author) == ("A Title", "An Author")
    for number, each in enumerate(printed.pages[1:], start=2):
        assert words(each.extract_text()).startswith(str(number))  # what stands in the margins comes first


def test_the_pdf_has_bookmarks_and_contents_that_agree(printed):
    def flat(items):
        return [each for item in items for each in (flat(item) if isinstance(item, list) else [item])]

    bookmarks = {each.title: printed.get_destination_page_number(each) + 1 for each in flat(printed.outline)}
    assert list(bookmarks) == ["A page", "1. Another page", "1.1. A section of it", "1.2. A table"]
    assert [type(item) for item in printed.outline].count(list) == 1  # sections stand below their chapter
    for title, number in bookmarks.items():
        assert title in words(printed.pages[number - 1].extract_text())
    lines = [*bookmarks, *map(str, bookmarks.values())]  # the numbers were laid over it
    assert words(printed.pages[1].extract_text()) == "2 Contents " + " ".join(lines)


def test_every_link_of_the_pdf_leads_somewhere(printed):
    outside, inside = set(), set()
    for each in printed.pages:
        for link in (note.get_object() for note in each.get("/Annots", ())):
            if "/A" in link:
                outside.add(link["/A"]["/URI"])
            else:
                inside.add(link["/Dest"])
    assert outside == {"https://example.org/elsewhere"}
    assert inside <= set(printed.named_destinations)
    assert {"/02_more", "/01_attention--equation-the-formula"} <= inside


def test_the_pdf_shows_what_is_folded_and_cuts_nothing_off(printed):
    text = words(" ".join(each.extract_text() for each in printed.pages))
    assert [missing for missing in HIDDEN if missing not in text.replace("'", "’")] == []
    assert text.count("the_end_of_a_wide_line") == 2  # in the code and below it
    for each in printed.pages[2:]:
        right = []
        each.extract_text(visitor_text=lambda text, cm, tm, font, size: right.append(tm[4] * cm[0] + cm[4]))  # noqa: B023
        assert max(right) < float(each.mediabox.right) - 40  # of 57 points that the margin has
    assert "\\frac" not in text


def test_a_picture_stands_on_one_page_with_its_caption(printed):
    pages = [words(each.extract_text()) for each in printed.pages]
    (shown,) = [each for each in pages if "What the picture shows." in each]
    assert "The picture itself." in shown


def test_no_row_of_a_table_is_broken(printed):
    pages = [words(each.extract_text()) for each in printed.pages]
    assert any("row 0 " in each and "row 8 " not in each for each in pages)  # it is longer than a page
    for row in range(9):
        assert [bool(re.search(rf"row {row}\b.*its end {row}\b", each)) for each in pages].count(True) == 1, row


def test_a_page_that_is_read_in_the_dark_is_printed_light_with_its_number(small_book, browser):
    browser.open((small_book / "_build" / "html" / "chapters" / "02_more.html").as_uri(), dark=True)
    theme = "document.documentElement.dataset.theme"
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(theme) == "light"
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]  # or the reader would change their mind meanwhile
    browser.send("Emulation.setEmulatedMedia", media="print", features=dark)
    shown = words(browser.evaluate("document.body.innerText"))
    browser.send("Emulation.setEmulatedMedia", media="", features=dark)
    assert shown.startswith("1. Another page 1.1. A section of it Back to")
    assert "Search" not in shown and "Contents" not in shown
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    assert browser.evaluate(theme) == "dark"


def test_the_epub_lists_every_file_and_says_what_is_in_it(epub):
    assert list(epub)[0] == "mimetype" and epub["mimetype"].strip() == b"application/epub+zip"
    package = etree.fromstring(epub["content.opf"])
    items = {item.get("href"): item.get("properties") for item in package.iterfind(".//{*}item")}
    assert {*items, "mimetype", "content.opf", "META-INF/container.xml"} == set(epub)
    assert items["chapters/01_attention.xhtml"] == "mathml svg"
    assert {name for name in items if name.startswith("_static/")} == {"_static/cover.png", "_static/epub.css"}
    assert items["_static/cover.png"] == "cover-image"
    assert package.findtext(".//{*}title") == "The Transformer by Hand"


def test_every_page_of_the_epub_is_xml_without_scripts_whose_links_lead_somewhere(epub):
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


def test_no_line_of_the_epub_is_wider_than_a_small_reader(epub, browser, tmp_path):
    for name, content in epub.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    browser.open((tmp_path / "chapters" / "02_more.xhtml").as_uri(), width=600)
    assert browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_formulas_of_the_epub_are_mathml_and_answers_are_there(epub):
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


def test_epubcheck_finds_no_error(epub, small_book):
    if not (program := shutil.which("epubcheck")):
        pytest.skip("NO EPUBCHECK: the EPUB was not checked by it. Install it, `apt-get install epubcheck`, say.")
    book = small_book / "_build" / "epub" / "transformer-by-hand.epub"
    command = ["java", "-jar", program] if zipfile.is_zipfile(program) else [program]  # Debian's is a jar
    said = subprocess.run([*command, book], capture_output=True, text=True, timeout=300)
    assert said.returncode == 0, said.stdout + said.stderr
