"""Sphinx extension: the book as an EPUB, made by `make epub`.

Sphinx's own builder does nearly all of the work. This module makes its pages suit e-readers, as EPUB 3 requires:
formulas are MathML, which readers set in their own fonts; no page has a script or a form; there is one style sheet; and
the list of files says which pages contain MathML or SVG.
"""

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from lxml import etree
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.builders.epub3 import Epub3Builder
from sphinx.config import Config
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

HERE = Path(__file__).parent
STYLE, COVER = HERE / "epub.css", HERE / "cover.png"
XHTML, MATHML = "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML"
NAMESPACES = {"x": XHTML, "m": MATHML}
CONTROLS = "//x:input | //x:textarea | //x:button | //*[contains(@class, 'sd-summary-state-marker')]"
LOCAL = re.compile(r"^([^:#]+)\.html\b")
ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot);)\w+;")  # XML knows these four, HTML two thousand
# HTML allows these two and XML does not. Cells and extensions may write them.
NEVER_CLOSED = re.compile(r"<(br|hr|img|input|wbr)\b([^<>]*?)/?>")
WITHOUT_VALUE = re.compile(r"(<details\b[^<>]*? open)(?=[ >])")
BREAK = re.compile(r"\s*(?:\\quad\s*)?\\allowbreak\s*")
PROPERTIES = {"mathml": "<math ", "svg": "<svg "}

TO_MATHML = LatexToMathML(xml_namespace=True, fancy_error=False)
logger = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------------------ builder


class Epub(Epub3Builder):
    """Sphinx's builder, with pages and a list of files that satisfy EPUB 3."""

    math_renderer_name = "mathml"

    def init(self) -> None:
        super().init()
        self.app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))

    def init_css_files(self) -> None:
        self._css_files = []
        super().add_css_file(STYLE.name)

    def add_css_file(self, filename: str, **attributes: Any) -> None:
        """Ignore the style sheets of extensions, which are for browsers."""

    def copy_static_files(self) -> None:
        static = Path(self.outdir, "_static")
        static.mkdir(exist_ok=True)
        for file in (STYLE, COVER):
            shutil.copy(file, static)

    def get_toc(self) -> None:
        """Collect chapters, and below each its sections, which Jupyter Book's own tables of contents leave out."""
        super().get_toc()
        self.refnodes = [line for chapter in self.refnodes for line in self._with_sections(chapter)]

    def _with_sections(self, chapter: dict[str, Any]) -> Iterator[dict[str, Any]]:
        docname = chapter["refuri"].removesuffix(self.out_suffix)
        numbers = self.env.toc_secnumbers.get(docname, {})
        (item,) = self.env.tocs[docname].children
        sections = [part for below in item.children[1:] for part in below.children]
        for level, part in [(1, item), *((2, section) for section in sections)]:
            for title in list(part.findall(nodes.reference))[:1]:
                number = "".join(f"{number}." for number in numbers.get(title["anchorname"], ()))
                text = html.escape(f"{number} {title.astext()}".strip())
                yield {"level": level, "refuri": chapter["refuri"] + title["anchorname"], "text": text}

    def toc_metadata(self, level: int, navpoints: list[Any]) -> dict[str, Any]:
        """Correct the older table of contents, for which Sphinx uses the name of the book's identifier as its value."""
        return super().toc_metadata(level, navpoints) | {"uid": self.config.epub_identifier}

    def handle_page(self, pagename: str, *arguments: Any, **named: Any) -> None:
        super().handle_page(pagename, *arguments, **named)
        page = Path(self.get_outfilename(pagename))
        page.write_text(as_xml(page.read_text(encoding="utf-8")), encoding="utf-8")

    def build_content(self) -> None:
        """List the files that the pages need, with the cover once, and mark pages that contain MathML or SVG."""
        Path(self.outdir, self.coverpage_name).unlink(missing_ok=True)  # or Sphinx lists an earlier build's too
        for file in Path(self.outdir, "_static").iterdir():
            if file.name not in (STYLE.name, COVER.name):
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        super().build_content()
        package = Path(self.outdir, "content.opf")
        tree = etree.parse(package)
        for item in tree.iterfind("{*}manifest/{*}item"):
            file = Path(self.outdir, item.get("href"))
            if file.name == COVER.name:
                item.set("properties", "cover-image")
            elif file.suffix == self.out_suffix and "properties" not in item.attrib:
                text = file.read_text(encoding="utf-8")
                if properties := [name for name, tag in PROPERTIES.items() if tag in text]:
                    item.set("properties", " ".join(properties))
        tree.write(package, encoding="utf-8", xml_declaration=True)


# ------------------------------------------------------------------------------------------------ pages


def as_xml(page: str) -> str:
    """Return a page as XML for EPUB 3: without buttons and fields, and with links to its other pages.

    Raises lxml.etree.XMLSyntaxError if the page cannot be read as XML.
    """
    page = NEVER_CLOSED.sub(r"<\1\2/>", ENTITY.sub(lambda entity: html.unescape(entity[0]), page))
    page = WITHOUT_VALUE.sub(r'\1=""', page)
    tree = etree.fromstring(page.encode())
    for element in tree.xpath(CONTROLS, namespaces=NAMESPACES):
        element.getparent().remove(element)
    for element in tree.xpath("//x:label | //x:summary/x:p", namespaces=NAMESPACES):
        element.tag = f"{{{XHTML}}}span"
        element.attrib.pop("for", None)
    for link in tree.xpath("//x:a[@href]", namespaces=NAMESPACES):  # the HTML that cells show links to .html pages
        link.set("href", LOCAL.sub(r"\1.xhtml", link.get("href")))
    for element in tree.xpath("//m:*[not(self::m:math or self::m:mstyle)]", namespaces=NAMESPACES):
        _move_style_around(element)
    return etree.tostring(tree, encoding="unicode", doctype="<!DOCTYPE html>")


def _move_style_around(element: Any) -> None:
    """Move style attributes from an element to an mstyle around it.

    MathML Core allows these attributes on any element. MathML 3, which EPUB requires, allows them on mstyle.
    """
    moved = ("scriptlevel",) if element.tag == f"{{{MATHML}}}mtable" else ("displaystyle", "scriptlevel")
    if attributes := {name: element.attrib.pop(name) for name in moved if name in element.attrib}:
        style = etree.Element(f"{{{MATHML}}}mstyle", attributes)
        element.getparent().replace(element, style)
        style.append(element)


# ------------------------------------------------------------------------------------------------ formulas


def with_rows(tex: str) -> str:
    """Return the TeX of a formula with a new row for each break that it allows, since e-readers do not break MathML."""
    if r"\allowbreak" not in tex:
        return tex
    broken = BREAK.sub(lambda _: r" \\ & \quad ", tex)
    return broken if r"\begin{aligned}" in tex else rf"\begin{{aligned}} & {broken} \end{{aligned}}"


def mathml(node: nodes.math | nodes.math_block, displaystyle: bool) -> str:
    """Return the MathML of a formula. If the converter does not know a command, warn, which fails the build."""
    try:
        return TO_MATHML.convert_with_local_state(with_rows(node.astext()), displaystyle=displaystyle)
    except LatexError as problem:
        logger.warning("no MathML for %r: %s", node.astext(), problem, location=node, type="epub")
        return ""


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(mathml(node, displaystyle=False))
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})</span>')
    self.body.append(mathml(node, displaystyle=True) + "</div>\n")
    raise nodes.SkipNode


# ------------------------------------------------------------------------------------------------ Sphinx


def name_cover(app: Sphinx, config: Config) -> None:
    """Set the cover for every builder, because Sphinx reads all pages again when the value changes.

    The value is a tuple, which `_config.yml` cannot express.
    """
    config.epub_cover = (f"_static/{COVER.name}", "epub-cover.html")


def setup(app: Sphinx) -> None:
    app.setup_extension("sphinx.builders.epub3")
    app.add_builder(Epub, override=True)
    app.connect("config-inited", name_cover)
