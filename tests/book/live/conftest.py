"""A book of two chapters' exercises, and of some other cells, and a server with the policy that the book names."""

import re
import shutil

import pytest

from autograder.chapter import myst
from autograder.chapter.chapter import PARTS, text_of
from book.live import assets
from book.serve import serving
from tests.book.conftest import ROOT, jupyter_book, make_little_book
from tests.book.live.reader import Page
from tests.choosing import thinned

CHAPTERS = ("01_attention", "02_backward")
TRIED_UP_TO = "stacked_keys ="  # the cells of chapter 1 above this one, and those that import PyTorch
KEPT = ("exercise", "dropdown", "code-cell")
ROLE = re.compile(r"\{[\w:]+\}`([^<`]*?)\s*(?:<[^>]*>)?`")


def exercises_alone(name):
    """A chapter without its text: the setup, each exercise with its hints, and the first cells of chapter 1."""
    text = text_of(name)
    lines = text.split("\n")
    last = text[: text.find(TRIED_UP_TO)].count("\n")
    kept = [text[: text.index("\n---", 4) + 5]]
    for token in myst.blocks(text):
        found = myst.directive(token)
        its_part = found and set(PARTS) & set(found.options.get("tags", ()))
        its_part = its_part or (found and (token.map[1] < last or "import torch" in token.content))
        if token.type == "heading_open":
            kept.append(lines[token.map[0]])
        elif found and found.name in KEPT and (found.name != "code-cell" or its_part):
            kept.append("\n".join(lines[token.map[0] : token.map[1]]))
    return ROLE.sub(r"\1", "\n\n".join(kept))


def write_book(folder):
    """Put the sources of the book into a folder; returns the folder."""
    make_little_book(folder)
    for empty in ("autograder", "solutions"):  # the house's own are to be imported
        (folder / empty).rmdir()
    for name in ("figures.py", "model_map.py"):
        shutil.copy(ROOT / "chapters" / name, folder / "chapters" / name)
    for name in CHAPTERS:
        (folder / "chapters" / f"{name}.md").write_text(exercises_alone(name), encoding="utf-8")
    first, *others = CHAPTERS
    toc = [f"format: jb-book\nroot: chapters/{first}\nchapters:", *(f"- file: chapters/{name}" for name in others)]
    (folder / "_toc.yml").write_text("\n".join(toc) + "\n")
    return folder


@pytest.fixture(scope="session")
def python_for_pages():
    """The files of others that the pages need; skipped, loudly, where they cannot be had."""
    try:
        return assets.files()
    except assets.AssetsUnavailable as error:
        pytest.skip(f"NO PYTHON FOR THE PAGES: exercises in pages were not tried, {error}")


@pytest.fixture(scope="session")
def book(python_for_pages, tmp_path_factory):
    """The folder of a built book with the exercises of two chapters."""
    folder = write_book(tmp_path_factory.mktemp("live"))
    built = jupyter_book(folder)
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-8000:]
    return folder


@pytest.fixture(scope="session")
def site(book):
    with serving(book / "_build" / "html") as address:
        yield address


@pytest.fixture(scope="session", params=thinned(["chromium", "firefox"], ["chromium"], "the same in a second browser"))
def browser(request):
    """A tab of each browser in turn; `only_in_chromium` keeps a test to one, `quick_in_both` runs it in both anyway."""
    return request.getfixturevalue({"chromium": "browser", "firefox": "firefox"}[request.param])


@pytest.fixture
def page(browser, site):
    page = Page(browser, site)
    with browser.before_each_page("try { localStorage.clear() } catch {}"):  # about:blank has none
        page.open()
    return page
