"""One build of the book, shared by all tests of the book."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.book.build_server import forked_build
from tests.notebook_page import FRONT_MATTER

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = """{front_matter}
# A page

```{{code-cell}} python
{code}
```

{text}
"""


def jupyter_book(folder, *options):
    """What `jupyter-book build .` comes to in a folder; without its start, which takes longer than a little book."""
    return forked_build(folder, *options)


def jupyter_book_command(folder, *options):
    """What the command itself comes to, from its start."""
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", ".", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=900)


@pytest.fixture(scope="session")
def html(made_once):
    """The folder of the built book. The build is the author's own: a page that is up to date is not built again."""

    def build(folder):
        built = jupyter_book_command(ROOT)
        (folder / "said").write_text(f"{built.returncode}\n{built.stdout[-4000:]}{built.stderr[-8000:]}")

    said = (made_once("book", build) / "said").read_text()
    assert said.startswith("0\n"), said
    return ROOT / "_build" / "html"


@cache
def parsed(path):
    """A page of the built book; to parse a chapter takes a second."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")


@pytest.fixture
def opened(html, browser):
    """opened(chapter) -> the tab; where it shows the chapter already, things stand as the last test left them."""

    def opened(chapter):
        url = (html / "chapters" / f"{chapter}.html").as_uri()
        if browser.evaluate("location.href") != url:
            browser.send("Emulation.setFocusEmulationEnabled", enabled=True)
            browser.open(url)
        return browser

    return opened


@pytest.fixture(scope="session")
def standing(html, browser):
    """standing(page, width, dark) -> the addresses that a page has asked for; where it is open, the light changes."""
    last = {}

    def standing(page, width, dark=False):
        url = (html / f"{page}.html").as_uri()
        if last.get("page") != page or browser.evaluate("[location.href, innerWidth].join()") != f"{url},{width}":
            last.update(page=page, asked=browser.open(url, width=width, dark=dark))
        browser.prefer(dark)
        browser.wait(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
        return last["asked"]

    return standing


@pytest.fixture
def little_book(tmp_path):
    """A book of one page with the house's configuration; write it with `page`, build it with `jupyter_book`."""
    return make_little_book(tmp_path)


def make_little_book(folder):
    """Put all but the page into a folder; returns the folder."""
    for name in ("book", "_config.yml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    for name in ("chapters", "solutions", "autograder"):
        (folder / name).mkdir()
    (folder / "chapters" / "references.bib").write_text("")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: chapters/01_attention\n")
    return folder


def page(folder, code="print('here')", text=""):
    """Write the page: a title, one cell, and the text."""
    source = NOTEBOOK.format(front_matter=FRONT_MATTER, code=code, text=text)
    (folder / "chapters" / "01_attention.md").write_text(source, encoding="utf-8")


def built_page(folder):
    """The HTML of the page."""
    return (folder / "_build" / "html" / "chapters" / "01_attention.html").read_text(encoding="utf-8")
