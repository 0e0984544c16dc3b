"""Sphinx extension: the book as an EPUB, `jupyter-book build . --builder custom --custom-builder epub`, or `make epub`.

Sphinx's own builder does nearly all of it. What stands here makes its pages such as an e-reader can show them: formulas
are MathML, which readers set in their own fonts, no page has a script or a form, there is one style sheet, and the list
of files says which of them hold MathML and SVG, as EPUB 3 asks.
"""

import html
import re
import shutil
from pathlib import Path

from docutils import nodes
from lxml import etree
from math_core import LatexError, LatexToMathML
from sphinx.builders.epub3 import Epub3Builder
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

HERE = Path(__file__).parent
STYLE, COVER = HERE / "epub.css", HERE / "cover.png"
XHTML, MATHML = "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML"
NAMESPACES = {"x": XHTML, "m": MATHML}
NOT_IN_A_BOOK = "//x:input | //x:textarea | //x:button | //*[contains(@class, 'sd-summary-state-marker')]"
LOCAL = re.compile(r"^([^:#]+)\.html\b")
ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot);)\w+;")  # XML knows these four, HTML two thousand
# What HTML allows and XML does not; cells and extensions may write it.
NEVER_CLOSED = re.compile(r"<(br|hr|img|input|wbr)\b([^<>]*?)/?>")
WITHOUT_VALUE = re.compile(r"(<details\b[^<>]*? open)(?=[ >])")
PROPERTIES = {"mathml": "<math ", "svg": "<svg "}

TO_MATHML = LatexToMathML(xml_namespace=True, fancy_error=False)
logger = logging.getLogger(__name__)


class Epub(Epub3Builder):
    """Sphinx's builder, and what its pages and its list of files lack."""

    def init(self):
        super().init()
        self.app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))

    math_renderer_name = "mathml"

    def init_css_files(self):
        self._css_files = []
        super().add_css_file(STYLE.name)

    def add_css_file(self, filename, **attributes):
        """An extension's style sheet is for a browser: it is left out."""

    def copy_static_files(self):
        static = Path(self.outdir, "_static")
        static.mkdir(exist_ok=True)
        for file in (STYLE, COVER):
            shutil.copy(file, static)

    def get_toc(self):
        """Chapters, and below each its sections, which Jupyter Book's own tables of contents leave out."""
        super().get_toc()
        self.refnodes = [line for chapter in self.refnodes for line in self._with_sections(chapter)]

    def _with_sections(self, chapter):
        docname = chapter["refuri"].removesuffix(self.out_suffix)
        numbers = self.env.toc_secnumbers.get(docname, {})
        (item,) = self.env.tocs[docname].children
        sections = [part for below in item.children[1:] for part in below.children]
        for level, part in [(1, item), *((2, section) for section in sections)]:
            for title in list(part.findall(nodes.reference))[:1]:
                number = "".join(f"{each}." for each in numbers.get(title["anchorname"], ()))
                text = html.escape(f"{number} {title.astext()}".strip())
                yield {"level": level, "refuri": chapter["refuri"] + title["anchorname"], "text": text}

    def toc_metadata(self, level, navpoints):
        """Sphinx gives the older table of contents the name of the book's identifier in place of the identifier."""
        return super().toc_metadata(level, navpoints) | {"uid": self.config.epub_identifier}

    def handle_page(self, pagename, *arguments, **more):
        super().handle_page(pagename, *arguments, **more)
        page = Path(self.get_outfilename(pagename))
        page.write_text(strict(page.read_text(encoding="utf-8")), encoding="utf-8")

    def build_content(self):
        """List what the pages need, the cover once, and say of each file what is in it beside XHTML."""
        Path(self.outdir, self.coverpage_name).unlink(missing_ok=True)  # an earlier build's would be a second one
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
                if found := [name for name, tag in PROPERTIES.items() if tag in text]:
                    item.set("properties", " ".join(found))
        tree.write(package, encoding="utf-8", xml_declaration=True)


def strict(page):
    """A page as EPUB 3 wants it: XML, with nothing to press or to write into, each id once, and links to its like.

    Raises:
        lxml.etree.XMLSyntaxError: the page cannot be read as XML.
    """
    page = NEVER_CLOSED.sub(r"<\1\2/>", ENTITY.sub(lambda entity: html.unescape(entity[0]), page))
    page = WITHOUT_VALUE.sub(r'\1=""', page)
    tree, ids = etree.fromstring(page.encode()), set()
    for element in tree.xpath(NOT_IN_A_BOOK, namespaces=NAMESPACES):
        element.getparent().remove(element)
    for element in tree.xpath("//x:label | //x:summary/x:p", namespaces=NAMESPACES):
        element.tag = f"{{{XHTML}}}span"
        element.attrib.pop("for", None)
    for element in tree.xpath("//*[@id]"):
        if element.get("id") in ids:  # sphinx-exercise gives the content of all exercises one id
            del element.attrib["id"]
        ids.add(element.get("id"))
    for link in tree.xpath("//x:a[@href]", namespaces=NAMESPACES):  # cells show HTML that links to pages of the web
        link.set("href", LOCAL.sub(r"\1.xhtml", link.get("href")))
    for element in tree.xpath("//m:*[not(self::m:math or self::m:mstyle)]", namespaces=NAMESPACES):
        _style_around(element)
    return etree.tostring(tree, encoding="unicode", doctype="<!DOCTYPE html>")


def _style_around(element):
    """In MathML Core any element may have these attributes; in MathML 3, which EPUB asks for, an mstyle around it."""
    moved = ("scriptlevel",) if element.tag == f"{{{MATHML}}}mtable" else ("displaystyle", "scriptlevel")
    if found := {name: element.attrib.pop(name) for name in moved if name in element.attrib}:
        style = etree.Element(f"{{{MATHML}}}mstyle", found)
        element.getparent().replace(element, style)
        style.append(element)


def mathml(node, displaystyle):
    """The MathML of a formula; a warning, and so an error, where the converter does not know a command."""
    try:
        return TO_MATHML.convert_with_local_state(node.astext(), displaystyle=displaystyle)
    except LatexError as problem:
        logger.warning("no MathML for %r: %s", node.astext(), problem, location=node, type="epub")
        return ""


def visit_math(self, node):
    self.body.append(mathml(node, displaystyle=False))
    raise nodes.SkipNode


def visit_math_block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})</span>')
    self.body.append(mathml(node, displaystyle=True) + "</div>\n")
    raise nodes.SkipNode


def name_cover(app, config):
    """For every builder, since Sphinx reads all pages again when such a value changes; YAML knows no tuple."""
    config.epub_cover = (f"_static/{COVER.name}", "epub-cover.html")


def setup(app):
    app.setup_extension("sphinx.builders.epub3")
    app.add_builder(Epub, override=True)
    app.connect("config-inited", name_cover)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
