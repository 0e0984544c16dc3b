"""The glossary: definitions next to the terms, the first use of each term, and no formulas."""

import re

import pytest
from bs4 import BeautifulSoup

from autograder.chapter.chapter import text_of
from autograder.layout import chapter_names
from tests.book.conftest import build_book, built_page, jupyter_book, make_little_book, page
from tests.choosing import thinned

pytestmark = pytest.mark.book

GLOSSARY = """# Glossary

:::{glossary}
batch
  Several *sequences*, see {term}`token`.

Saturate
  To become flat.{more}

token
  A word.
:::
"""
TEXT = """
A {{term}}`batch` of words. {padding}

## Later

Another {{term}}`batch`, {{term}}`saturated <Saturate>`.
"""
TERMS = "article a:has(> .std-term)"


def write(folder, more="", padding=""):
    (folder / "chapters" / "glossary.md").write_text(GLOSSARY.replace("{more}", more))
    page(folder, text=TEXT.format(padding=padding))


def glossary(folder):
    text = (folder / "_build" / "html" / "chapters" / "glossary.html").read_text(encoding="utf-8")
    return BeautifulSoup(text, "lxml").select_one("dl.glossary")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a built book: a page with terms, one without, a later one with a term again, and a glossary."""
    folder = make_little_book(
        tmp_path_factory.mktemp("glossary"),
        glossary=GLOSSARY,
        other="# Another page\n",
        later="# A later page\n\nOne more {term}`batch`.\n",
    )
    write(folder, padding="Much to read.\n\n" * 40)
    build_book(folder)
    return folder


def test_a_page_contains_the_definitions_of_its_own_terms_only(folder):
    boxes = BeautifulSoup(built_page(folder), "lxml").select(
        ".term-definitions[hidden] > .term-definition[role=tooltip]"
    )
    assert [box["id"] for box in boxes] == ["definition-term-batch", "definition-term-Saturate"]
    assert boxes[0].get_text(" ", strip=True) == "batch Several sequences , see token ."
    assert not boxes[0].select("a, [id]"), "a definition that appears and goes has nothing to click on"


def test_only_a_page_with_terms_loads_their_script(folder):
    other = (folder / "_build" / "html" / "chapters" / "other.html").read_text(encoding="utf-8")
    assert "glossary.js" in built_page(folder) and "glossary.css" in built_page(folder)
    assert "glossary.js" not in other and "glossary.css" not in other


def test_without_javascript_a_term_is_a_link_to_the_glossary(folder):
    link = BeautifulSoup(built_page(folder), "lxml").select_one("a:has(> .std-term)")
    assert link["href"] == "glossary.html#term-batch"
    assert glossary(folder).select_one("dt#term-batch")


def test_the_glossary_names_the_first_use_of_a_term(folder):
    definitions = [definition.get_text(" ", strip=True) for definition in glossary(folder).select("dd")]
    assert [re.search(r"First used in .*", text)[0] for text in definitions[:2]] == [
        "First used in A page .",
        "First used in Later .",
    ]
    assert "First used" not in definitions[2]
    assert glossary(folder).select("dd")[1].find_all("a")[-1]["href"] == "01_attention.html#later"


def test_a_change_of_the_glossary_or_of_a_page_updates_the_other(tmp_path):
    folder = make_little_book(tmp_path)
    pages = "chapters:\n- file: chapters/glossary\n- file: chapters/later\n"
    (folder / "_toc.yml").write_text(f"format: jb-book\nroot: chapters/01_attention\n{pages}")
    (folder / "chapters" / "later.md").write_text("# A later page\n\nIt {term}`saturates <Saturate>`.\n")
    write(folder)
    build_book(folder)
    (folder / "chapters" / "glossary.md").write_text(GLOSSARY.replace("{more}", " So it is."))
    build_book(folder)
    later = folder / "_build" / "html" / "chapters" / "later.html"  # Sphinx always writes the first page again
    assert "To become flat. So it is." in later.read_text(encoding="utf-8")
    page(folder, text=TEXT.format(padding="{term}`token`"))
    build_book(folder)
    assert "First used" in glossary(folder).select("dd")[2].get_text()
    page(folder, text="No terms.")
    build_book(folder)
    assert glossary(folder).get_text().count("First used") == 1


FORMULAS = thinned([" $x$", "\n\n  $$\n  x\n  $$"], [" $x$"], "the same for a displayed formula")


@pytest.mark.parametrize("formula", FORMULAS, ids=["in a line", "displayed"])
def test_a_formula_in_a_definition_fails_the_build(little_book, formula):
    (little_book / "_toc.yml").write_text(
        "format: jb-book\nroot: chapters/01_attention\nchapters:\n- file: chapters/glossary\n"
    )
    write(little_book, more=formula)
    built = jupyter_book(little_book)
    assert built.returncode != 0 and re.search(r"glossary.md:\d+: WARNING: a formula in a definition", built.stderr)


# In a browser.

SHOWN = (
    "[...document.querySelectorAll('.term-definition')].filter(box => box.checkVisibility()).map(box => box.id).join()"
)


@pytest.fixture
def tab(folder, browser):
    browser.send("Emulation.setFocusEmulationEnabled", enabled=True)
    browser.url = (folder / "_build" / "html" / "chapters" / "01_attention.html").as_uri()
    browser.open(browser.url)
    return browser


def term(browser, number):
    """Scroll to a term and return its middle on the screen."""
    link = f"document.querySelectorAll('{TERMS}')[{number}]"
    browser.scroll_to(link)
    return browser.evaluate(
        f"(r => ({{x: r.left + r.width / 2, y: r.top + r.height / 2}}))({link}.getClientRects()[0])"
    )


def shown(browser, name):
    browser.wait(f"{SHOWN} === '{name}'")


def test_a_definition_appears_with_the_focus_and_escape_hides_it(tab):
    assert tab.evaluate(SHOWN) == ""
    tab.evaluate(f"document.querySelector('{TERMS}').focus()")
    shown(tab, "definition-term-batch")
    assert tab.evaluate("document.activeElement.getAttribute('aria-describedby')") == "definition-term-batch"
    tab.press("Escape")
    shown(tab, "")
    tab.press("Tab")
    shown(tab, "definition-term-batch")  # the definition of the second term
    tab.press("Tab")
    shown(tab, "definition-term-Saturate")
    tab.evaluate("document.activeElement.blur()")
    shown(tab, "")


def test_a_definition_appears_under_the_mouse_and_stays_while_the_mouse_is_on_it(tab):
    position = term(tab, 2)
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", **position)
    shown(tab, "definition-term-Saturate")
    box = tab.evaluate(
        "(r => ({x: r.left + 9, y: r.top + 9}))(document.querySelector('.shown').getBoundingClientRect())"
    )
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", **box)
    tab.evaluate("new Promise(done => setTimeout(done, 400))")
    shown(tab, "definition-term-Saturate")
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    shown(tab, "")


def test_the_first_tap_shows_the_definition_and_the_second_opens_the_glossary(tab):
    tab.open(tab.url, width=390)
    tab.send("Emulation.setTouchEmulationEnabled", enabled=True)

    def tap(**position):
        tab.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[position])
        tab.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    try:
        tap(**term(tab, 2))
        shown(tab, "definition-term-Saturate")
        tap(x=5, y=400)
        shown(tab, "")
        tap(**term(tab, 2))
        shown(tab, "definition-term-Saturate")
        tap(**term(tab, 2))
        tab.wait("location.href.endsWith('glossary.html#term-Saturate')")
    finally:
        tab.send("Emulation.setTouchEmulationEnabled", enabled=False)


@pytest.mark.parametrize("width", thinned([390, 1280], [390], "another width"))
@pytest.mark.parametrize("number", thinned([0, 2], [2], "another term"))
def test_a_definition_is_next_to_its_term_and_inside_the_window(tab, width, number):
    tab.open(tab.url, width=width)
    term(tab, number)
    tab.evaluate(f"document.querySelectorAll('{TERMS}')[{number}].focus()")
    tab.wait(f"{SHOWN} !== ''")
    box = tab.evaluate("document.querySelector('.shown').getBoundingClientRect().toJSON()")
    link = tab.evaluate(f"document.querySelectorAll('{TERMS}')[{number}].getBoundingClientRect().toJSON()")
    assert box["left"] >= 0 and box["right"] <= width
    gap = max(box["top"] - link["bottom"], link["top"] - box["bottom"])
    assert 0 <= gap < 12
    assert box["top"] >= 0 and box["bottom"] <= 844
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", thinned([False, True], [True], "the other colours"), ids=["light", "dark"])
def test_a_definition_has_enough_contrast(tab, dark):
    tab.open(tab.url, dark=dark)
    tab.evaluate(f"document.querySelector('{TERMS}').focus()")
    shown(tab, "definition-term-batch")
    style = "getComputedStyle(document.querySelector('.shown'))"
    assert tab.evaluate(f"{style}.backgroundColor") == ("rgb(18, 18, 18)" if dark else "rgb(255, 255, 255)")
    assert tab.evaluate(f"{style}.color") == tab.evaluate("getComputedStyle(document.querySelector('main')).color")


# In the book.


@pytest.mark.parametrize("name", chapter_names())
def test_a_chapter_marks_a_term_once(name):
    marked = re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", text_of(name))
    assert len(marked) == len(set(map(str.lower, marked)))


def test_the_first_chapter_marks_the_terms_it_does_not_introduce():
    marked = re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", text_of("01_attention"))
    assert {"batch", "saturate", "softmax", "NaN", "rank", "expectation"} <= set(marked)
