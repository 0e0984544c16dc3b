"""One build of the book, which all tests of the book share, and little books for single tests."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from book.extensions.build_record import is_current
from tests.book.build_server import forked_build
from tests.notebook_page import FRONT_MATTER

ROOT = Path(__file__).resolve().parents[2]
CELL = """```{{code-cell}} python
{code}
```
"""


def jupyter_book(folder, *options):
    """Run `jupyter-book build .` in a folder and return the finished process.

    A fork of one process builds, because starting the command takes longer than building a little book.
    """
    return forked_build(folder, *options)


def build_book(folder, *options):
    """Build a book, which must succeed, and return the finished process."""
    built = jupyter_book(folder, *options)
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-8000:]
    return built


def jupyter_book_command(folder, *options):
    """Run the command itself and return the finished process. It may take as long as a busy machine needs."""
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", ".", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")


@pytest.fixture(scope="session")
def html(made_once):
    """Return the folder of the built book. The build is in the repository, so only pages that changed are built."""

    def build(folder):
        (folder / "output").write_text(build_unless_current(ROOT))

    output = (made_once("book", build) / "output").read_text()
    assert output.startswith("0\n"), output
    return ROOT / "_build" / "html"


def build_unless_current(root, build=jupyter_book_command):
    """Build a book, unless `make` has just built it from the same sources. Return the status and the output."""
    if is_current(root):
        return "0\n"
    built = build(root)
    return f"{built.returncode}\n{built.stdout[-4000:]}{built.stderr[-8000:]}"


@cache
def parsed(path):
    """Return a parsed page of the built book. Parsing a chapter takes a second, so the result is cached."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")


@pytest.fixture
def opened(html, browser):
    """Return opened(chapter), which opens a chapter and returns the tab.

    If the tab shows the chapter already, it stays as the last test left it.
    """

    def opened(chapter):
        url = (html / "chapters" / f"{chapter}.html").as_uri()
        if browser.evaluate("location.href") != url:
            browser.send("Emulation.setFocusEmulationEnabled", enabled=True)
            browser.open(url)
        return browser

    return opened


@pytest.fixture(scope="session")
def laid_out(html, browser):
    """Return laid_out(page, width, dark), which opens a page and returns the URLs that it has requested.

    If the page is already open at this width, only the colour scheme changes. All of the page is laid out, even what is
    far below the window.
    """
    last = {}

    def laid_out(page, width, dark=False):
        url = (html / f"{page}.html").as_uri()
        if last.get("page") != page or browser.evaluate("[location.href, innerWidth].join()") != f"{url},{width}":
            last.update(page=page, requested=browser.open(url, width=width, dark=dark))
            browser.lay_out()
        browser.prefer(dark)
        browser.wait(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
        return last["requested"]

    return laid_out


@pytest.fixture
def little_book(tmp_path):
    """Return the folder of a book of one page with our configuration.

    Write its page with `page`, and build it with `jupyter_book`.
    """
    return make_little_book(tmp_path)


def make_little_book(folder, **others):
    """Write a book without its page into a folder, and return the folder. others: name -> text of its other pages."""
    for name in ("book", "_config.yml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    for name in ("chapters", "solutions", "autograder"):
        (folder / name).mkdir()
    (folder / "chapters" / "references.bib").write_text("")
    (folder / "_toc.yml").write_text(contents("01_attention", others))
    for name, text in others.items():
        (folder / "chapters" / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def contents(root, others=()):
    """Return the _toc.yml of a book with these pages in chapters/."""
    files = "".join(f"- file: chapters/{name}\n" for name in others)
    return f"format: jb-book\nroot: chapters/{root}\n" + (f"chapters:\n{files}" if files else "")


def page(folder, code=None, text=""):
    """Write the page of a little book: a title, a cell with the code if there is any, and the text.

    A page without a cell needs no kernel, whose start takes as long as the rest of the build.
    """
    source = [f"{FRONT_MATTER}\n# A page", CELL.format(code=code), text] if code else ["# A page", text]
    (folder / "chapters" / "01_attention.md").write_text("\n\n".join(source), encoding="utf-8")


def built_page(folder):
    """Return the HTML of the page."""
    return (folder / "_build" / "html" / "chapters" / "01_attention.html").read_text(encoding="utf-8")
