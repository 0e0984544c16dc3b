"""Cells of the book, changed and run on the page, in a real browser, with the security policy that the book states."""

import json

import pytest

from tests.book.live.reader import RIGHT, only_in_chromium

pytestmark = pytest.mark.book

PRINTS, DRAWS, NEEDS_SOFTMAX, TORCH = "cell-4", "cell-2", "cell-10", "cell-14"
CHANGED = "JSON.stringify(bookStorage.read('cells 01_attention'))"
TWO_FOR_TORCH = f"""
import(new URL("given_cell.js", document.querySelector("script[src$='start.js']").src)).then((module) => {{
  const page = {{ reasons: new Set() }}, cell = document.getElementById("{TORCH}").cloneNode(true);
  cell.querySelector(".live-try").remove();
  const cells = [cell, cell.cloneNode(true)];
  cells.forEach((cell) => new module.GivenCell(cell, {{ lacks: "PyTorch does not run." }}, page));
  return cells.map((cell) => cell.querySelector(".live-try")?.textContent);
}})"""
# Record the kinds of the worker's messages.
LISTEN = """window.kinds = [];
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => kinds.push(data.kind));
  }
};"""


class Tries:
    """The cells of a page, and the actions of a reader with them."""

    def __init__(self, page):
        self.page, self.browser = page, page.browser

    def ask(self, cell, what):
        return self.browser.evaluate(f"(cell => {what})(document.getElementById('{cell}'))")

    def press(self, cell, button):
        self.ask(cell, f"[...cell.querySelectorAll('button')].find(b => b.textContent === {button!r}).click()")

    def seen(self, cell):
        """Return the texts of a cell's visible buttons."""
        visible = "[...cell.querySelectorAll('button')].filter(b => b.offsetParent && !b.closest('.highlight'))"
        return self.ask(cell, f"{visible}.map(b => b.textContent)")

    def write(self, cell, old, new):
        source = self.page.source(cell)
        assert old in source
        self.page.write(cell, source.replace(old, new))

    def run(self, cell):
        """Run a cell, and return the status beside the button and the output."""
        self.press(cell, "Run")
        return self.finish(cell)

    def finish(self, cell):
        self.browser.wait(f"document.querySelector('#live-{cell} .live-run').ariaDisabled === 'false'")
        return [self.ask(cell, f"cell.querySelector('.live-{part}').innerText") for part in ("status", "output")]

    def still(self, cell):
        """Return the output that the book shows for a cell."""
        return self.ask(cell, "cell.querySelector('.cell_output:not(.live-output)').innerHTML")


@pytest.fixture
def tries(page):
    return Tries(page)


@pytest.fixture
def tries_with_own_python(page_with_own_python):
    """The cells of a page for a test of what Python loads."""
    page_with_own_python.browser.evaluate(LISTEN)
    return Tries(page_with_own_python)


def test_a_cell_can_be_changed_run_and_restored(tries, browser):
    still = tries.still(PRINTS)
    assert "0.73" in still and tries.seen(PRINTS) == ["Try it"]
    tries.press(PRINTS, "Try it")
    assert tries.page.is_in_editor
    assert tries.seen(PRINTS) == ["Run", "Close"] and tries.still(PRINTS) == still
    browser.press("Enter", shift=True)
    status, printed = tries.finish(PRINTS)
    assert status == "Done." and "Tom: 4.11, weight 0.73" in printed
    assert "0.73" not in tries.still(PRINTS), "the new output must replace the book's"
    assert browser.evaluate(CHANGED) == "{}", "nothing is kept that was not changed"

    tries.write(PRINTS, "np.array([1.0, 1.0])", "np.array([0.0, 0.0])")
    assert "Tom: 1.00, weight 0.33" in tries.run(PRINTS)[1]
    assert "np.array([0.0, 0.0])" in browser.evaluate(CHANGED)
    # The cells below use the change.
    tries.press("cell-6", "Try it")
    assert "AssertionError" in tries.run("cell-6")[1]
    tries.write(PRINTS, "query =", "query +=")
    status, _ = tries.run("cell-6")
    assert status.startswith("NameError")
    assert "A cell above that you have changed raises an error" in tries.finish("cell-6")[1]

    tries.press(PRINTS, "Reset")
    assert tries.still(PRINTS) == still and tries.finish(PRINTS) == ["The book’s cell is back.", ""]
    assert browser.evaluate("document.activeElement.textContent") == "Bring back what I wrote"
    assert tries.run("cell-6") == ["The cell ran, and printed nothing.", ""]
    tries.press(PRINTS, "Bring back what I wrote")
    tries.page.open()
    assert "query +=" in tries.page.source(PRINTS)
    assert "You have changed this cell." in tries.ask(PRINTS, "cell.querySelector('.live-status').textContent")
    tries.press(PRINTS, "Reset")
    tries.press(PRINTS, "Close")
    assert browser.evaluate("document.activeElement.textContent") == "Try it" and tries.seen(PRINTS) == ["Try it"]
    assert browser.complaints() == [] and browser.exceptions() == []


@pytest.mark.thorough("another package, which loads as NumPy does")
@only_in_chromium
def test_a_figure_is_drawn_again_and_only_then_matplotlib_is_loaded(tries_with_own_python, browser):
    tries = tries_with_own_python
    config = "JSON.parse(document.getElementById('live-exercises').textContent)"
    folder = "new URL('pyodide/', document.querySelector('script[src$=\"start.js\"]').src).pathname"
    wheel = browser.evaluate(f"{folder} + {config}.drawing.find(name => name.startsWith('matplotlib'))")
    numpy = browser.evaluate(f"{folder} + {config}.python.find(name => name.startsWith('numpy'))")
    kept = "caches.match('{}').then(response => !!response)"

    tries.press(PRINTS, "Try it")
    assert "0.73" in tries.run(PRINTS)[1], "below a figure, whose names it uses"
    assert "loading" not in browser.evaluate("kinds")
    browser.wait(kept.format(numpy))
    assert not browser.evaluate(kept.format(wheel))

    still = tries.still(DRAWS)
    tries.press(DRAWS, "Try it")
    assert tries.run(DRAWS) == ["Done.", ""]
    assert browser.evaluate("kinds").count("loading") == 1
    label = "cell.querySelector('figure [role=img]').getAttribute('aria-label')"
    assert tries.ask(DRAWS, label).startswith("Three small maps of the same keys")
    size = "cell.querySelector('figure svg').outerHTML.length"
    assert tries.ask(DRAWS, "cell.querySelectorAll('figure svg').length") == 3
    caption = "cell.querySelector('figcaption').textContent"
    assert "Three queries and the same three keys." in tries.ask(DRAWS, caption)
    before = tries.ask(DRAWS, size)
    tries.write(DRAWS, "panels(3, height=2.3)", "panels(3, height=4)")
    tries.run(DRAWS)
    assert tries.ask(DRAWS, size) != before
    browser.wait(kept.format(wheel))

    tries.write(DRAWS, "figures.show(", "figures.show_me(")
    assert "AttributeError" in tries.run(DRAWS)[1] and tries.ask(DRAWS, "cell.querySelector('figure').hidden")
    tries.press(DRAWS, "Reset")
    assert tries.still(DRAWS) == still
    assert browser.complaints() == [] and browser.exceptions() == []


@only_in_chromium
def test_a_cell_waits_for_an_exercise_that_the_reader_has_not_solved(tries, browser):
    note = "cell.querySelector('.live-note').textContent"
    assert tries.ask(NEEDS_SOFTMAX, note) == "waits for softmax: solve it above"
    link = tries.ask(NEEDS_SOFTMAX, "cell.querySelector('.live-note a').hash")
    assert link == "#live-softmax"
    still = tries.still(NEEDS_SOFTMAX)
    tries.press(NEEDS_SOFTMAX, "Try it")
    assert tries.run(NEEDS_SOFTMAX) == ["This cell waits for softmax, which is not written yet.", ""]
    assert tries.still(NEEDS_SOFTMAX) == still

    assert tries.page.run("softmax", RIGHT).passes
    assert tries.ask(NEEDS_SOFTMAX, note) == ""
    assert "each row adds up to [1. 1. 1. 1.]" in tries.run(NEEDS_SOFTMAX)[1]
    assert tries.ask(TORCH, note).startswith("PyTorch does not run in the browser") and tries.seen(TORCH) == []
    assert browser.evaluate(TWO_FOR_TORCH) == ["PyTorch does not run.", None], "a page shows the reason once"
    tries.page.chapter = "02_backward"
    tries.page.open()
    config = "JSON.parse(document.getElementById('live-exercises').textContent)"
    assert browser.evaluate(f"{config}.earlier[0].chapter") == "01_attention"

    tries.page.chapter = "01_attention"
    tries.page.open()
    tries.press(PRINTS, "Try it")
    tries.page.write(PRINTS, "while True: pass")
    tries.press(PRINTS, "Run")
    browser.wait(f"!document.querySelector('#live-{PRINTS} .live-bar button:nth-child(2)').hidden")
    tries.press(PRINTS, "Stop")
    assert tries.finish(PRINTS) == ["Stopped.", "Stopped. The next run starts Python again."]


@pytest.mark.thorough("the page with closed cells is tested on a phone")
def test_a_page_with_open_cells_fits_a_phone(page, browser):
    page.open(width=390, dark=True)
    browser.evaluate("document.querySelectorAll('.live-try button').forEach(button => button.click())")
    for dark in (True, False):
        browser.prefer(dark)
        browser.wait(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
        browser.evaluate("new Promise(requestAnimationFrame).then(() => 1)")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    assert browser.evaluate("document.querySelectorAll('.live:not([hidden]) .live-editor').length") > 12
    names = browser.evaluate("[...document.querySelectorAll('.live-try button')].map(b => b.ariaLabel)")
    assert len(set(names)) == len(names) and all(name.startswith("Try it") for name in names)


def test_pages_and_scripts_load_nothing_from_other_machines(book):
    html = (book / "_build" / "html" / "chapters" / "01_attention.html").read_text()
    config = json.loads(html.partition('id="live-exercises">')[2].partition("</script>")[0])
    assert not any("://" in name for name in [*config["python"], *config["drawing"]])
    (folder,) = (book / "_build" / "html" / "_static" / "live").glob("*/pyodide")
    assert {*config["python"], *config["drawing"]} == {file.name for file in folder.iterdir()}


REACHES = """import js
names = ["caches", "indexedDB", "Worker", "SharedWorker"]
print("reaches", [name for name in names if hasattr(js, name)])
"""


PASTED = """class Pasted:
    def _repr_html_(self):
        return '''<img src="none.png" onerror="reached.push('image')"><svg onload="reached.push('svg')"></svg>
                  <iframe srcdoc="<script>parent.reached.push('frame')</script>"></iframe>
                  <iframe src="javascript:parent.reached.push('address')"></iframe>
                  <object data="javascript:parent.reached.push('object')"></object>
                  <a id="pasted" href=" java&#10;Script:reached.push('link')">x</a>
                  <svg><a href="#"><animate attributeName="href" values="javascript:reached.push('animation')"/>
                  <text id="drawn">y</text></a></svg><base href="https://example.org/">'''
Pasted()
"""


def test_no_script_runs_in_html_that_code_shows(tries, browser):
    """The page can do more than the worker in which code runs: read and change all that the reader has stored."""
    browser.evaluate("window.reached = []")
    tries.press(PRINTS, "Try it")
    tries.page.write(PRINTS, PASTED)
    assert tries.run(PRINTS)[0] == "Done."
    harmful = f"#{PRINTS} :is(img[src], iframe, object, [href*=Script])"
    assert browser.evaluate(f"document.querySelectorAll('{harmful}').length") == 0
    browser.evaluate("[...document.querySelectorAll('.live-output a')].find(a => a.textContent === 'x').click()")
    assert browser.evaluate("document.baseURI.startsWith(location.origin)"), "the base of the chapter's links"
    browser.evaluate("new Promise((then) => setTimeout(() => then(1), 100))")  # a script in a link runs in a later task
    assert browser.evaluate("reached") == []


def test_code_cannot_change_what_the_page_loads_next_time(tries):
    """Pasted Python could write a script into the service worker's cache, which then ran on the next visit."""
    tries.press(PRINTS, "Try it")
    tries.page.write(PRINTS, REACHES)
    assert "reaches []" in tries.run(PRINTS)[1]


TRAINS = """import time

def train_step(params, step):
    time.sleep(0.1)

for step in range(1, 1001):
    train_step({}, step)
"""


@only_in_chromium
def test_a_running_cell_shows_its_time_and_the_step_of_its_training(tries, browser):
    tries.press(PRINTS, "Try it")
    tries.page.write(PRINTS, TRAINS)
    tries.press(PRINTS, "Run")
    time = f"document.querySelector('#live-{PRINTS} .live-time').textContent"
    browser.wait(f"/^\\d+ s, step \\d+$/.test({time})")
    tries.press(PRINTS, "Stop")
    assert tries.finish(PRINTS)[0] == "Stopped."
    assert browser.evaluate(time) == ""


@pytest.mark.thorough("a reader who stops a run ends it in the same way")
def test_a_worker_that_fails_during_a_run_ends_the_run(tries, browser):
    tries.press(PRINTS, "Try it")
    tries.page.write(PRINTS, "while True: pass")
    tries.press(PRINTS, "Run")
    browser.wait(f"document.querySelector('#live-{PRINTS} .live-status').textContent === 'Running …'")
    module = "new URL('python.js', document.querySelector('script[src$=\"start.js\"]').src)"
    browser.evaluate(f"import({module}).then(({{ python }}) => python.worker.onerror({{ message: 'out of memory' }}))")
    assert tries.finish(PRINTS) == ["Python has stopped.", "Python has stopped: out of memory"]
