"""The built book as one PDF: `python -m book.forms.pdf _build/html _build/transformer-by-hand.pdf`, or `make pdf`.

The articles of all pages become one page of HTML, whose ids say which page they come from, so that links between pages
lead to places within it. Chromium prints that page, with the formulas that MathJax has set in it as on the screen. Only
then is it known which page a section is on: the page numbers of the contents are printed alone and laid over them, and
the bookmarks are added.

The PDF has no tags: they triple its size and its time, and the HTML and the EPUB are the better forms to listen to.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from copy import deepcopy
from pathlib import Path

import yaml
from lxml import html
from lxml.html.builder import CLASS, DIV, H1, NAV, SPAN, A, P
from pypdf import PdfReader, PdfWriter
from pypdf.generic import Fit

ROOT = Path(__file__).resolve().parents[2]
STYLE = Path(__file__).with_name("pdf.css")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NO_BROWSER = (
    "The PDF is printed by Chromium, and there is none here. Install it (`apt-get install chromium` on Debian and its\n"
    f"like), or Google Chrome. One of these commands must be on the PATH: {', '.join(BROWSERS)}."
)
# The page is our own and asks for nothing from elsewhere; as root no sandbox can be had.
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--no-pdf-header-footer", "--disable-pdf-tagging"),
    "--virtual-time-budget=5000",  # milliseconds that scripts and fonts are waited for once nothing moves any more
]
LOADED = "//link[@rel='stylesheet'] | //script[contains(@src, 'mathjax/') or contains(., 'window.MathJax')]"
PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title></title>
{head}<script>addEventListener("load", () => Promise.resolve(window.MathJax?.startup.promise)
  .then(() => document.fonts.ready).then(() => {{ document.title = {title}; }}));</script></head>
<body class="{kind}"><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
{body}</div></div></main></body></html>"""
RUNNING_TITLE = '@page {name} {{ @bottom-left {{ content: {title}; }} }} [id="{id}"] {{ page: {name}; }}\n'


def find_browser():
    """Path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def read_pages(folder):
    """Path -> lxml document of the pages of a built book, in its order, which is that of the navigation."""
    links = _parse(folder / "search.html").xpath("//nav[contains(@class, 'bd-docs-nav')]//li/a/@href")
    return {path: _parse(path) for path in [(folder / link).resolve() for link in links]}


def _parse(path):
    return html.parse(path, html.HTMLParser(encoding="utf-8"))


def article(path, document, names):
    """The article of a page, with ids and links that hold where all articles stand on one page.

    Args:
        path: Path of the page.
        document: its lxml document, which changes.
        names: Path of each page -> the id of its article, which the ids in it begin with.
    """
    (found,) = document.xpath("//article")
    found.set("id", names[path])
    for stray in found.xpath(".//a[contains(@class, 'headerlink')] | .//div[@class='term-definitions']"):
        stray.drop_tree()
    for element in found.xpath(".//*[@id][not(ancestor-or-self::svg)]"):
        element.set("id", f"{names[path]}--{element.get('id')}")
    for element in found.xpath(".//*[@src] | .//a[@href]"):
        attribute = "href" if element.tag == "a" else "src"
        address, _, fragment = element.get(attribute).partition("#")
        target = (path.parent / address).resolve() if address else path
        if target in names:
            element.set(attribute, f"#{names[target]}" + (f"--{fragment}" if fragment else ""))
        elif ":" not in address:
            element.set(attribute, target.as_uri())
    return found


def head(pages, articles):
    """Style sheets and MathJax as the pages have them, our own style, and each article's title for its pages' foot."""
    found = {}
    # The page with most style sheets has them in the right order.
    for path, document in sorted(pages.items(), key=lambda page: -len(page[1].xpath("//link[@rel='stylesheet']"))):
        for element in document.xpath(LOADED):
            attribute = "href" if element.tag == "link" else "src"
            if address := element.get(attribute):
                element.set(attribute, (path.parent / address.partition("?")[0]).resolve().as_uri())
            found.setdefault(element.get(attribute), element)
    style = STYLE.read_text(encoding="utf-8")
    for number, each in enumerate(articles):
        title = json.dumps(_plain(each.find(".//h1")), ensure_ascii=False)
        style += RUNNING_TITLE.format(name=f"p{number}", id=each.get("id"), title=title)
    return "".join(html.tostring(element, encoding="unicode") for element in found.values()) + f"<style>{style}</style>"


def _plain(heading):
    """The text of a heading, as far as text can say it: bookmarks and page margins have no formulas."""
    return re.sub(r"\\[()]", "", " ".join(heading.text_content().split()))


def cover(title, author, start):
    """The first page: title, author, and from the book's first article what the book is and its first picture."""
    words = start.xpath("string(.//*[contains(@class, 'lead')])").strip()
    pictures = map(deepcopy, start.xpath("(.//*[local-name() = 'svg'])[1]"))
    return DIV(CLASS("cover"), P(CLASS("title"), title), P(words), *pictures, P(CLASS("author"), author))


def headings(articles):
    """(Element, id) of the titles of all chapters and sections, in order."""
    return [(title, title.getparent().get("id")) for each in articles for title in each.xpath(".//h1 | .//h2")]


def contents(articles, numbers):
    """The contents, with the page number of each id that has one in `numbers`."""
    lines = []
    for heading, place in headings(articles):
        title, number = deepcopy(heading), SPAN(CLASS("number"), str(numbers.get(place, "")))
        title.tag, title.tail = "span", None
        lines.append(A(CLASS(f"to-{heading.tag}"), title, SPAN(CLASS("leader")), number, href=f"#{place}"))
    return NAV(CLASS("bd-article contents"), H1("Contents"), *lines)


def add_bookmarks(writer, articles, places, numbers):
    """Give a PdfWriter a bookmark for each chapter, and within it for its sections.

    Args:
        writer: PdfWriter of the whole book.
        articles: list of lxml elements.
        places, numbers: id -> Destination, page number.
    """
    chapter = None
    for heading, name in headings(articles):
        page, fit = writer.pages[numbers[name] - 1], Fit.xyz(places[name].left, places[name].top)
        parent = chapter if heading.tag == "h2" else None
        item = writer.add_outline_item(title=_plain(heading), page_number=page, parent=parent, fit=fit)
        chapter = item if heading.tag == "h1" else chapter


def print_page(program, path, title, kind, head, parts):
    """Print parts as one page of HTML; returns the PdfReader.

    Raises:
        RuntimeError: Chromium gave up, or the formulas were not finished when it printed.
    """
    body = "".join(html.tostring(part, encoding="unicode") for part in parts)
    page = PAGE.format(head=head, title=json.dumps(title), kind=kind, body=body)
    path.with_suffix(".html").write_text(page, encoding="utf-8")
    command = [program, *FLAGS, f"--user-data-dir={path}", f"--print-to-pdf={path.with_suffix('.pdf')}"]
    said = subprocess.run([*command, path.with_suffix(".html").as_uri()], capture_output=True, text=True)
    if said.returncode or not path.with_suffix(".pdf").exists():
        raise RuntimeError(f"{program} printed no PDF:\n{said.stderr[-2000:]}")
    reader = PdfReader(path.with_suffix(".pdf"))
    if reader.metadata.title != title:
        raise RuntimeError(f"{program} printed before all formulas were set")
    return reader


def make(program, folder, pdf, title, author):
    """Write the PDF of a built book.

    Args:
        program: path of a Chromium.
        folder: Path of the built HTML.
        pdf: Path of the PDF.
        title, author: str.
    """
    pages = read_pages(folder)
    names = {path: path.stem for path in pages}
    articles = [article(path, document, names) for path, document in pages.items()]
    top, first = head(pages, articles), cover(title, author, articles[0])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        whole = print_page(program, Path(work, "book"), title, "", top, [first, contents(articles, {}), *articles])
        places = {name.removeprefix("/"): place for name, place in whole.named_destinations.items()}
        numbers = {name: whole.get_destination_page_number(place) + 1 for name, place in places.items()}
        parts = [first, contents(articles, numbers)]
        stamps = print_page(program, Path(work, "numbers"), title, "numbers-alone", top, parts)
        writer = PdfWriter(clone_from=whole)
        for page, stamp in zip(writer.pages, stamps.pages, strict=False):
            page.merge_page(stamp)
        add_bookmarks(writer, articles, places, numbers)
        writer.add_metadata({"/Title": title, "/Author": author})
        writer.write(pdf)


if __name__ == "__main__":
    if not (found := find_browser()):
        sys.exit(NO_BROWSER)
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    make(found, Path(sys.argv[1]).resolve(), Path(sys.argv[2]), config["title"], config["author"])
