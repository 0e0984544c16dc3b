"""A book with the exercises of two chapters and some other cells, and a server with the policy that the book states."""

import re
import shutil
from contextlib import ExitStack
from functools import cache

import pytest
import yaml

from autograder.chapter import myst
from autograder.chapter.chapter import PARTS, text_of
from autograder.layout import exercise_names
from book.live import assets
from book.serve import serving
from tests.book.conftest import ROOT, build_book, make_little_book
from tests.book.live.lasting_python import ADDRESS, NO_WORKER, WORKER, WithSecondTab
from tests.book.live.reader import LITTLE_MEMORY, Page
from tests.choosing import thinned

CHAPTERS = ("01_attention", "02_backward")
N_EXERCISES = sum(len(exercise_names(chapter)) for chapter in CHAPTERS)
# The small book keeps the cells of chapter 1 above this text.
TRIED_UP_TO = "stacked_keys ="
KEPT = ("exercise", "dropdown", "code-cell")
# Chapter 1 of the small book ends with these, for `test_opening`, and a cell that pages cannot run.
FOLDED = """
## Folds

:::{derivation} softmax
The shift cancels.
:::

```{code-cell} python
:tags: [hide-cell]
:opens_with: softmax

print("the answer")
```

```{code-cell} python
:tags: [hide-input]
:opens_with: attention_weights

print("shown")
```

```{code-cell} python
:tags: [skip-execution]

import torch
```
"""
REPORT_TO = "https://form.example/new?title={subject}&text={body}"
ROLE = re.compile(r"\{[\w:]+\}`([^<`]*?)\s*(?:<[^>]*>)?`")


def exercises_alone(name):
    """Return a chapter without its text: the setup, the exercises with their hints, and the cells to try."""
    text = text_of(name)
    lines = text.split("\n")
    last = text[: text.find(TRIED_UP_TO)].count("\n")
    kept = [text[: text.index("\n---", 4) + 5]]
    for token in myst.blocks(text):
        directive = myst.directive(token)
        wanted = directive and set(PARTS) & set(directive.options.get("tags", ()))
        wanted = wanted or (directive and token.map[1] < last)
        if token.type == "heading_open":
            kept.append(lines[token.map[0]])
        elif directive and directive.name in KEPT and (directive.name != "code-cell" or wanted):
            kept.append("\n".join(lines[token.map[0] : token.map[1]]))
    return ROLE.sub(r"\1", "\n\n".join(kept))


def front_page():
    """Return the front page down to its exercise and the link to chapter 1."""
    text = (ROOT / "chapters" / "index.md").read_text(encoding="utf-8")
    return text.partition("\nYou may have")[0] + "\n"


def configure(folder, change):
    """Let `change` edit a book's configuration, a dict."""
    file = folder / "_config.yml"
    config = yaml.safe_load(file.read_text(encoding="utf-8"))
    change(config)
    file.write_text(yaml.safe_dump(config), encoding="utf-8")


def write_book(folder, chapters=CHAPTERS, execute=True):
    """Write the sources of a book of some chapters into a folder, and return the folder.

    execute: whether the build runs the cells, which takes longer than the rest of it.
    """
    make_little_book(folder)
    if not execute:
        configure(folder, lambda config: config["execute"].update(execute_notebooks="off"))
    for empty in ("autograder", "solutions"):  # so that Python imports the repository's own packages
        (folder / empty).rmdir()
    for name in ("figures.py", "learnt_map.py", "model_map.py", "parity.py"):
        shutil.copy(ROOT / "chapters" / name, folder / "chapters" / name)
    for name in chapters:
        (folder / "chapters" / f"{name}.md").write_text(exercises_alone(name), encoding="utf-8")
    (folder / "chapters" / "index.md").write_text(front_page(), encoding="utf-8")
    shutil.copy(ROOT / "chapters" / "progress.md", folder / "chapters")
    toc = [
        "format: jb-book\nroot: chapters/index\nchapters:",
        *(f"- file: chapters/{name}" for name in (*chapters, "progress")),
    ]
    (folder / "_toc.yml").write_text("\n".join(toc) + "\n")
    return folder


@pytest.fixture(scope="session")
def python_for_pages():
    """Return the third-party files that the pages need. Skip, with a reason, if they are unavailable."""
    try:
        return assets.files()
    except assets.AssetsUnavailable as error:
        pytest.skip(f"NO PYTHON FOR THE PAGES: exercises in pages were not tested, {error}")


@pytest.fixture(scope="session")
def book(python_for_pages, made_once):
    """Return the folder of a built book with the exercises of two chapters. Tests must not change it."""

    def make(folder):
        write_book(folder)
        with (folder / "chapters" / "01_attention.md").open("a", encoding="utf-8") as file:
            file.write(FOLDED)
        configure(folder, lambda config: config["sphinx"]["config"].update(report_to=REPORT_TO))
        build_book(folder)

    return made_once("book of exercises", make)


@pytest.fixture(scope="session")
def site(book):
    with serving(book / "_build" / "html", WithSecondTab) as address:
        yield address


@pytest.fixture(scope="session", params=thinned(["chromium", "firefox"], ["chromium"], "the same in a second browser"))
def browser(request):
    """Return a tab of each browser in turn.

    `only_in_chromium` restricts a test to Chromium.
    """
    # The fixture of the same name in the folder above would get the parameter, and start anew for tests without it.
    return request.getfixturevalue({"chromium": "chromium_browser", "firefox": "firefox"}[request.param])


NEW_READER = "try { localStorage.clear() } catch {};"  # about:blank has no storage


@pytest.fixture(scope="session")
def open_second_tab(browser):
    """Return open_second_tab(site), which opens the tab that runs Python for the pages of a site, unless it is open."""
    with ExitStack() as tabs:
        yield cache(lambda site: tabs.enter_context(browser.tab_behind(site + ADDRESS)))


@pytest.fixture
def lasting_python(browser, site, open_second_tab):
    """Let the pages of a test use the Python that another test has started. Request it before the page."""
    open_second_tab(site)
    with browser.before_each_page(WORKER):
        yield


def opened_by_new_reader(browser, site, chapter="01_attention", **options):
    """Open a chapter for a reader who has not opened the book before, and return its page."""
    page = Page(browser, site, chapter)
    with browser.before_each_page(NEW_READER):
        page.open(**options)
    return page


@pytest.fixture
def page(browser, site, lasting_python):
    return opened_by_new_reader(browser, site)


@pytest.fixture
def page_on_a_phone(browser, site, lasting_python):
    return opened_by_new_reader(browser, site, width=390)


@pytest.fixture
def without_python(browser):
    """Keep Python from starting in the pages of a test that runs no code. Request it before the page."""
    with browser.before_each_page(NO_WORKER):
        yield


@pytest.fixture
def page_with_own_python(browser, site):
    """Return a page for a test of how Python starts."""
    return opened_by_new_reader(browser, site)


@pytest.fixture
def page_with_textareas(browser, site, lasting_python):
    """Return a page on which no textarea becomes a CodeMirror."""
    with browser.before_each_page(LITTLE_MEMORY):
        yield opened_by_new_reader(browser, site)
