"""The book's own fonts: a page is the same on every machine, whatever fonts are installed there."""

import re
import shutil
from contextlib import ExitStack
from pathlib import Path

import matplotlib
import pytest

from tests.browsers.devtools import Browser

pytestmark = pytest.mark.book

# Two machines that have no font in common, made of what matplotlib ships.
MACHINES = {"DejaVu": ["DejaVu*.ttf"], "STIX and Computer Modern": ["STIXGeneral*.ttf", "cm*.ttf"]}

GENERIC = """["serif", "sans-serif", "monospace"].map(family => {
  const span = document.body.appendChild(document.createElement("span"));
  Object.assign(span.style, {fontFamily: family, position: "absolute"});
  span.textContent = "Handgloves";
  const width = span.getBoundingClientRect().width;
  span.remove();
  return width;
})"""

PLACES = """[...document.querySelectorAll("h1, h2, p, li, td, th, a, code, pre, summary, mjx-container, svg text")]
  .map(element => [element, element.getBoundingClientRect()])
  .map(([element, box]) => [element.textContent.slice(0, 20), box.x, box.y, box.width, box.height].join(" "))"""


@pytest.fixture(scope="module")
def machines(chromium, tmp_path_factory):
    """A browser on each of the machines."""
    with ExitStack() as open_browsers:
        browsers = []
        for patterns in MACHINES.values():
            folder = tmp_path_factory.mktemp("fonts")
            for pattern in patterns:
                for font in Path(matplotlib.get_data_path(), "fonts", "ttf").glob(pattern):
                    shutil.copy(font, folder)
            browsers.append(open_browsers.enter_context(Browser(chromium, fonts=folder)))
        yield browsers


@pytest.mark.parametrize("page", ["02_backward", "exercises"])
def test_a_page_is_the_same_to_the_pixel_on_machines_with_other_fonts(html, machines, page):
    for browser in machines:
        browser.open((html / "chapters" / f"{page}.html").as_uri(), width=390)
    ours, theirs = (browser.evaluate(GENERIC) for browser in machines)
    assert all(a != b for a, b in zip(ours, theirs, strict=True)), "these machines have the same fonts"
    ours, theirs = (browser.evaluate(PLACES) for browser in machines)
    assert len(ours) > 200
    assert ours == theirs


def test_the_fonts_are_in_the_style_sheet_itself(html):
    """No text waits for a second file: none is shown in another font first, or nothing in its place."""
    sheet = (html / "_static" / "fonts" / "fonts.css").read_text(encoding="utf-8")
    families = re.findall(r'@font-face {[^}]*font-family: "([^"]*)"', sheet)
    assert set(families) == {"House Serif", "House Sans", "House Mono"}
    sources = re.findall(r"src: url\(\"([^\"]{0,25})", sheet)
    assert sources == ["data:font/woff2;base64,d0"] * len(families)  # "d0" is how "wOF2" begins


def test_each_font_s_licence_stands_beside_it(html):
    licences = [path.read_text(encoding="utf-8") for path in (html / "_static" / "fonts").glob("*-OFL.txt")]
    assert len(licences) == 3
    assert all("SIL OPEN FONT LICENSE Version 1.1" in licence and "Adobe" in licence for licence in licences)
