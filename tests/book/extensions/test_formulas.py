"""Formulas are set in advance: a page needs no MathJax, keeps MathML for screen readers, and copies TeX."""

import json

import lxml.html
import pytest

from book.formulas import stored, words
from book.formulas.make import formulas_in, formulas_of_book, mathjax_config
from book.formulas.stored import Formula
from tests.book.conftest import ROOT, build_book, built_page, jupyter_book, page

pytestmark = pytest.mark.book

MATHJAX = "tex-mml-chtml.js"
STORED = Formula(r"d_k", display=False)
CHANGED = Formula(r"a + b \\ &= c < d_{17}", display=True)
# Copy the contents of an element as a browser does, and return what lands in the clipboard.
COPY = """((element, end) => {
  const selection = getSelection();
  selection.removeAllRanges();
  const range = document.createRange();
  range.setStart(element, 0);
  range.setEndAfter(end ?? element.lastChild);
  selection.addRange(range);
  const clipboardData = new DataTransfer();
  document.dispatchEvent(new ClipboardEvent("copy", {clipboardData, bubbles: true, cancelable: true}));
  return {text: clipboardData.getData("text/plain"), html: clipboardData.getData("text/html")};
})"""

# The lines of formulas that may break: [the room, the width of the parts side by side, the number of lines].
LINES = """[...document.querySelectorAll("article [breaks]")].filter(line => line.checkVisibility()).map(line => {
  const parts = [...line.querySelectorAll(":scope > mjx-part")].map(part => part.getBoundingClientRect());
  const room = line.closest("mjx-container").getBoundingClientRect().right - parts[0].left;
  const rows = parts.filter((part, place) => place && part.left <= parts[place - 1].left).length + 1;
  return [room, parts.reduce((sum, part) => sum + part.width, 0), rows];
})"""


@pytest.fixture(scope="module")
def formulas():
    return stored.load(stored.recipe(mathjax_config()))


def test_the_stored_formulas_were_made_as_they_would_be_now(formulas):
    assert formulas, "`make formulas` has to run after a change of the renderer, its packages or MathJax's settings"


def test_the_stored_formulas_are_those_of_the_book(html, formulas):
    used = formulas_of_book(html)
    assert sorted(used - set(formulas)) == [], "`make formulas` stores them"
    assert sorted(set(formulas) - used) == [], "`make formulas` drops them"


NAMED = "//math[ancestor::summary or ancestor::a or ancestor::legend or ancestor::h1 or ancestor::h2 or ancestor::h3]"


def test_a_formula_in_a_name_has_words_on_every_page(html):
    """A browser reads no MathML for the name of a link, a heading, a question or a choice."""
    pages = {path.name: lxml.html.parse(path).xpath(NAMED) for path in html.rglob("*.html")}
    assert sum(map(len, pages.values())) > 50
    nameless = [
        (name, math.text_content()) for name, maths in pages.items() for math in maths if not math.get("aria-label")
    ]
    assert nameless == []


ROOT_OF_D = "<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>"
POWER = "<msup><mn>10</mn><mrow><mo>−</mo><mn>5</mn></mrow></msup>"


@pytest.mark.parametrize(
    "mathml, label",
    [
        ("<mn>8</mn><mi>a</mi>", "8 a"),
        (f"{ROOT_OF_D}<mo>&lt;</mo><mn>1</mn>", "the square root of d sub k &lt; 1"),
        ("<msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt>", "the square root of a + b"),
        (f"<mo>−</mo>{POWER}", "minus 10 to the power minus 5"),
    ],
)
def test_a_formula_is_read_in_words(mathml, label):
    namespace = 'xmlns="http://www.w3.org/1998/Math/MathML"'
    assert (
        words.named(f"<math {namespace}>{mathml}</math>") == f'<math aria-label="{label}" {namespace}>{mathml}</math>'
    )


def test_no_page_loads_mathjax(html):
    loading = [path.name for path in html.rglob("*.html") if MATHJAX in path.read_text(encoding="utf-8")]
    assert loading == []


def test_a_line_of_a_formula_breaks_only_where_it_does_not_fit(laid_out, browser):
    laid_out("chapters/02_backward", 1280)
    wide = browser.evaluate(LINES)
    assert len(wide) > 15 and all(rows == 1 for room, width, rows in wide if width < room)
    laid_out("chapters/02_backward", 390)
    narrow = browser.evaluate(LINES)
    assert any(rows > 1 for *_, rows in narrow) and all(rows == 1 for room, width, rows in narrow if width < room)


def test_node_and_the_page_have_the_same_mathjax():
    version = json.loads((stored.FOLDER / "package.json").read_text())["dependencies"]["mathjax-full"]
    script = (ROOT / "book" / "static" / "mathjax" / MATHJAX).read_text(encoding="utf-8")
    assert f'VERSION="{version}"' in script
    lock = json.loads((stored.FOLDER / "package-lock.json").read_text())["packages"]
    addresses = [package.get("resolved", "https://registry.npmjs.org/") for package in lock.values()]
    assert all(address.startswith("https://registry.npmjs.org/") for address in addresses)


def test_a_page_with_stored_formulas_contains_them(little_book):
    page(little_book, text=f"Divide by ${STORED.tex}$.")
    built = jupyter_book(little_book)
    assert built.returncode == 0 and "make formulas" not in built.stderr
    html = built_page(little_book)
    assert f'<mjx-container data-tex="{STORED.tex}"' in html
    assert "<mjx-assistive-mml" in html and "<msub><mi>d</mi><mi>k</mi></msub>" in html
    assert "formulas.css" in html and MATHJAX not in html


def test_a_page_with_another_formula_loads_mathjax_and_the_build_says_so(little_book, browser):
    page(little_book, text=f"Divide by ${STORED.tex}$.\n\n$$\n{CHANGED.tex}\n$$ (label)\n")
    built = build_book(little_book, "--quiet")
    assert "not stored: 01_attention. To store them, run `make formulas`" in built.stderr
    file = little_book / "_build" / "html" / "chapters" / "01_attention.html"
    split = Formula(f"\\begin{{split}}\n{CHANGED.tex}\n\\end{{split}}", display=True)  # Sphinx adds `split`
    assert set(formulas_in(file)) == {STORED, split}
    browser.open(file.as_uri())
    assert browser.evaluate("document.querySelectorAll('.math > mjx-container').length") == 2
    assert browser.evaluate("document.querySelectorAll('mjx-merror').length") == 0


def test_formulas_of_another_recipe_are_ignored(tmp_path):
    file = tmp_path / "stored.json.gz"
    stored.save("one recipe", {STORED: "<mjx-container></mjx-container>"}, file)
    assert stored.load("one recipe", file) == {STORED: "<mjx-container></mjx-container>"}
    assert stored.load("another recipe", file) == {}
    config = mathjax_config()
    macros = config | {"tex": {"macros": {"R": r"\mathbb{R}"}}}
    assert stored.recipe(config) != stored.recipe(macros)


def test_the_same_formulas_give_the_same_file(tmp_path):
    files = [tmp_path / "a.gz", tmp_path / "b.gz"]
    orders = [[STORED, CHANGED], [CHANGED, STORED]]
    for file, order in zip(files, orders, strict=True):
        stored.save("recipe", dict.fromkeys(order, "html"), file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_formula_is_copied_as_tex(little_book, browser):
    page(little_book, text=f"Divide by ${STORED.tex}$, twice.\n\n## Next\n")
    jupyter_book(little_book)
    browser.open((little_book / "_build" / "html" / "chapters" / "01_attention.html").as_uri())
    paragraph = "document.querySelector('p:has(mjx-container)')"
    copied = browser.evaluate(f"{COPY}({paragraph})")
    assert copied["text"].strip() == "Divide by $d_k$, twice."
    assert "<msub><mi>d</mi><mi>k</mi></msub>" in copied["html"] and "mjx-" not in copied["html"]
    # A selection that ends inside a formula copies the whole formula; the browser copies one without formulas itself.
    inside = browser.evaluate(f"{COPY}({paragraph}, document.querySelector('mjx-c'))")
    assert inside["text"].strip() == "Divide by $d_k$"
    assert browser.evaluate(f"{COPY}(document.querySelector('h1'))")["text"] == ""


def test_the_search_reads_the_tex_of_a_stored_formula(html, browser, formulas):
    browser.open((html / "search.html").as_uri())
    tall = Formula(r"\sqrt{d}", display=False)
    shown = {formula: stored.typeset(r"\(x\)", formulas[STORED], formula.tex) for formula in (STORED, tall)}
    text = "".join(f'<p>By <span class="math">{html}</span>.</p> ' for html in shown.values())
    assert browser.evaluate(f"Search.htmlToText({json.dumps(f'<article>{text}</article>')}, '')") == "By d_k. By …."
