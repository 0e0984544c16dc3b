"""Make one PDF of the built book: `python -m book.forms.pdf _build/html _build/transformer-by-hand.pdf`, or `make pdf`.

The articles of all pages become one page of HTML. Each id begins with the name of the page that it comes from, so that
links between pages lead to places within this page. Chromium prints it after MathJax has set the formulas. Only then do
we know on which page a section is, so we print the contents again with page numbers, lay these numbers over the first
print, and add bookmarks.

The PDF has tags, by which screen readers find its headings, lists, tables and links. They triple its size. The page
numbers over the contents have none: a link leads to its place without them.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from lxml import html
from lxml.html.builder import CLASS, DIV, H1, NAV, SPAN, A, P
from pypdf import PdfReader, PdfWriter
from pypdf.generic import Destination, Fit, NameObject, TextStringObject

ROOT = Path(__file__).resolve().parents[2]
STYLE = Path(__file__).with_name("pdf.css")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NO_BROWSER = (
    "Chromium prints the PDF, and it is not installed. Install it (`apt-get install chromium` on Debian and Ubuntu)\n"
    f"or Google Chrome. One of these commands must be on the PATH: {', '.join(BROWSERS)}."
)
# The page is our own and loads nothing from another machine, and Chromium's sandbox does not work as root.
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--no-pdf-header-footer"),
    "--virtual-time-budget=5000",  # milliseconds that Chromium waits for scripts and fonts when nothing else happens
]
HEAD = (
    "//link[@rel='stylesheet'] | //script[contains(@src, 'mathjax/') or contains(., 'window.MathJax')"
    " or contains(@src, 'questions_on_paper')]"
)
PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title></title>
{head}<script>addEventListener("load", () => Promise.resolve(window.MathJax?.startup.promise)
  .then(() => document.fonts.ready).then(() => {{ document.title = {title}; }}));</script></head>
<body class="{kind}"><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
{body}</div></div></main></body></html>"""
NUMBERS_ALONE = "numbers-alone"  # class of the second print
RUNNING_TITLE = '@page {name} {{ @bottom-left {{ content: {title}; }} }} [id="{id}"] {{ page: {name}; }}\n'

Element = Any  # an lxml element or document: lxml has no types
Pages = dict[Path, Element]


def find_browser() -> str | None:
    """Return the path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


# ------------------------------------------------------------------------------------------------ one page of HTML


def read_pages(folder: Path) -> Pages:
    """Return path -> lxml document of the pages of a built book, in the order of its navigation."""
    links = _parse(folder / "search.html").xpath("//nav[contains(@class, 'bd-docs-nav')]//li/a/@href")
    return {path: _parse(path) for path in [(folder / link).resolve() for link in links]}


def _parse(path: Path) -> Element:
    return html.parse(path, html.HTMLParser(encoding="utf-8"))


def article(path: Path, document: Element, names: dict[Path, str]) -> Element:
    """Return the article of a page, with ids and links that are right when all articles are on one page.

    document: its lxml document, which changes. names: path of each page -> the id of its article, with which its other
    ids begin.
    """
    (article,) = document.xpath("//article")
    article.set("id", names[path])
    for superfluous in article.xpath(".//a[contains(@class, 'headerlink')] | .//div[@class='term-definitions']"):
        superfluous.drop_tree()
    for element in article.xpath(".//*[@id][not(ancestor-or-self::svg)]"):
        element.set("id", f"{names[path]}--{element.get('id')}")
    for element in article.xpath(".//*[@src] | .//a[@href]"):
        attribute = "href" if element.tag == "a" else "src"
        address, _, fragment = element.get(attribute).partition("#")
        target = (path.parent / address).resolve() if address else path
        if target in names:
            element.set(attribute, f"#{names[target]}" + (f"--{fragment}" if fragment else ""))
        elif ":" not in address:
            element.set(attribute, target.as_uri())
    return article


def head(pages: Pages, articles: Iterable[Element]) -> str:
    """Return the head: the pages' style sheets and MathJax, our own style, and each article's title for the footer."""
    elements: dict[str | None, Element] = {}
    # The page with the most style sheets has them in the right order.
    for path, document in sorted(pages.items(), key=lambda page: -len(page[1].xpath("//link[@rel='stylesheet']"))):
        for element in document.xpath(HEAD):
            attribute = "href" if element.tag == "link" else "src"
            if address := element.get(attribute):
                element.set(attribute, (path.parent / address.partition("?")[0]).resolve().as_uri())
            elements.setdefault(element.get(attribute), element)
    style = STYLE.read_text(encoding="utf-8")
    for number, article in enumerate(articles):
        title = json.dumps(_plain(article.find(".//h1")), ensure_ascii=False)
        style += RUNNING_TITLE.format(name=f"p{number}", id=article.get("id"), title=title)
    loaded = "".join(html.tostring(element, encoding="unicode") for element in elements.values())
    return f"{loaded}<style>{style}</style>"


def _plain(heading: Element) -> str:
    """Return the text of a heading without marks for formulas, which bookmarks and footers cannot show."""
    return re.sub(r"\\[()]", "", " ".join(heading.text_content().split()))


def cover(title: str, author: str, start: Element) -> Element:
    """Return the first page: title, author, and the lead and first figure of the book's first article."""
    lead = start.xpath("string(.//*[contains(@class, 'lead')])").strip()
    figures = map(deepcopy, start.xpath("(.//*[@class = 'figure-drawing'])[1]"))
    return DIV(CLASS("cover"), P(CLASS("title"), title), P(lead), *figures, P(CLASS("author"), author))


def headings(articles: Iterable[Element]) -> list[tuple[Element, str]]:
    """Return (element, id) of the titles of all chapters and sections, in order."""
    return [(title, title.getparent().get("id")) for article in articles for title in article.xpath(".//h1 | .//h2")]


def contents(articles: Iterable[Element], numbers: dict[str, int]) -> Element:
    """Return the table of contents, with a page number for each id in `numbers`."""
    lines = []
    for heading, place in headings(articles):
        title, number = deepcopy(heading), SPAN(CLASS("number"), str(numbers.get(place, "")))
        title.tag, title.tail = "span", None
        lines.append(A(CLASS(f"to-{heading.tag}"), title, SPAN(CLASS("leader")), number, href=f"#{place}"))
    return NAV(CLASS("bd-article contents"), H1("Contents"), *lines)


# ------------------------------------------------------------------------------------------------ PDF


def add_bookmarks(
    writer: PdfWriter, articles: Iterable[Element], places: dict[str, Destination], numbers: dict[str, int]
) -> None:
    """Give the PDF a bookmark for each chapter, and below it for each of its sections.

    places, numbers: id -> destination, page number.
    """
    chapter = None
    for heading, name in headings(articles):
        page, fit = writer.pages[numbers[name] - 1], Fit.xyz(places[name].left, places[name].top)
        parent = chapter if heading.tag == "h2" else None
        item = writer.add_outline_item(title=_plain(heading), page_number=page, parent=parent, fit=fit)
        chapter = item if heading.tag == "h1" else chapter


def print_page(program: str, path: Path, title: str, kind: str, head: str, parts: Iterable[Element]) -> PdfReader:
    """Print parts as one page of HTML, and return the PDF.

    Raises RuntimeError if Chromium failed, or it printed before MathJax had set all formulas.
    """
    body = "".join(html.tostring(part, encoding="unicode") for part in parts)
    page = PAGE.format(head=head, title=json.dumps(title), kind=kind, body=body)
    path.with_suffix(".html").write_text(page, encoding="utf-8")
    tags = ["--disable-pdf-tagging"] if kind == NUMBERS_ALONE else []
    command = [program, *FLAGS, *tags, f"--user-data-dir={path}", f"--print-to-pdf={path.with_suffix('.pdf')}"]
    done = subprocess.run([*command, path.with_suffix(".html").as_uri()], capture_output=True, text=True)
    if done.returncode or not path.with_suffix(".pdf").exists():
        raise RuntimeError(f"{program} printed no PDF:\n{done.stderr[-2000:]}")
    reader = PdfReader(path.with_suffix(".pdf"))
    if reader.metadata is None or reader.metadata.title != title:
        raise RuntimeError(f"{program} printed before MathJax had set all formulas")
    return reader


def make(program: str, folder: Path, pdf: Path, title: str, author: str) -> None:
    """Write the PDF of a built book. The cover and the PDF's metadata name the title and the author."""
    pages = read_pages(folder)
    names = {path: path.stem for path in pages}
    articles = [article(path, document, names) for path, document in pages.items()]
    top, first = head(pages, articles), cover(title, author, articles[0])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        whole = print_page(program, Path(work, "book"), title, "", top, [first, contents(articles, {}), *articles])
        places = {name.removeprefix("/"): place for name, place in whole.named_destinations.items()}
        numbers = {name: (whole.get_destination_page_number(place) or 0) + 1 for name, place in places.items()}
        numbered = [first, contents(articles, numbers)]
        stamps = print_page(program, Path(work, "numbers"), title, NUMBERS_ALONE, top, numbered)
        writer = PdfWriter(clone_from=whole)
        for page, stamp in zip(writer.pages, stamps.pages, strict=False):
            page.merge_page(stamp)
        add_bookmarks(writer, articles, places, numbers)
        writer.add_metadata({"/Title": title, "/Author": author})
        writer.root_object[NameObject("/Lang")] = TextStringObject("en")
        writer.write(pdf)


def main() -> None:
    if not (program := find_browser()):
        sys.exit(NO_BROWSER)
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    make(program, Path(sys.argv[1]).resolve(), Path(sys.argv[2]), config["title"], config["author"])


if __name__ == "__main__":
    main()
