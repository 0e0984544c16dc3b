"""The book's own fonts: a page looks the same on every machine, whichever fonts are installed."""

import re
import shutil
from contextlib import ExitStack
from pathlib import Path

import matplotlib
import pytest

from book.serve import serving
from tests.browsers.devtools import Browser
from tests.choosing import thinned

pytestmark = pytest.mark.book

# Two machines without a common font, with fonts that matplotlib ships.
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
    """Return a browser for each of the machines."""
    with ExitStack() as open_browsers:
        browsers = []
        for patterns in MACHINES.values():
            folder = tmp_path_factory.mktemp("fonts")
            for pattern in patterns:
                for font in Path(matplotlib.get_data_path(), "fonts", "ttf").glob(pattern):
                    shutil.copy(font, folder)
            browsers.append(open_browsers.enter_context(Browser(chromium, fonts=folder)))
        yield browsers


@pytest.mark.parametrize("page", thinned(["02_backward", "exercises"], ["exercises"], "the same for a longer page"))
def test_a_page_has_the_same_pixels_on_machines_with_other_fonts(html, machines, page):
    for browser in machines:
        browser.open((html / "chapters" / f"{page}.html").as_uri(), width=390)
        browser.lay_out()
    ours, theirs = (browser.evaluate(GENERIC) for browser in machines)
    assert all(a != b for a, b in zip(ours, theirs, strict=True)), "these machines have the same fonts"
    ours, theirs = (browser.evaluate(PLACES) for browser in machines)
    assert len(ours) > 200
    assert ours == theirs


def test_the_style_sheet_contains_the_fonts(html):
    """A font in a file of its own would load later, and until then text would be missing or in another font."""
    sheet = (html / "_static" / "fonts" / "fonts.css").read_text(encoding="utf-8")
    faces = [face for face in sheet.split("@font-face")[1:] if "-rare.woff2" not in face]
    families = {re.search(r'font-family: "([^"]*)"', face)[1] for face in faces}
    assert families == {"House Serif", "House Sans", "House Mono", "House Icons"}
    sources = {re.search(r"src: url\(\"([^\"]{0,25})", face)[1] for face in faces}
    assert sources == {"data:font/woff2;base64,d0"}  # "wOF2" in base64 begins with "d0"


def test_a_rare_letter_is_loaded_when_a_reader_writes_it(html, browser):
    loaded = "[...document.fonts].filter(face => face.unicodeRange.includes(',') && face.status === 'loaded').length"
    with serving(html) as site:
        browser.open(f"{site}/chapters/bibliography.html")  # with names from many languages
        browser.lay_out()
        assert browser.evaluate(f"document.fonts.ready.then(() => {loaded})") == 0
        browser.evaluate("""document.fonts.load("1em 'House Serif'", "ő").then(() => 1)""")
        assert browser.evaluate(loaded) == 1


def test_each_font_has_its_licence_in_its_folder(html):
    licences = [path.read_text(encoding="utf-8") for path in (html / "_static" / "fonts").glob("*-OFL.txt")]
    assert len(licences) == 4
    assert all("SIL OPEN FONT LICENSE Version 1.1" in " ".join(licence.split()) for licence in licences)
    assert [any(owner in licence for owner in ("Adobe", "Fonticons")) for licence in licences] == [True] * 4
