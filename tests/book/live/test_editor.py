"""The editor of an exercise: CodeMirror, with the keys of a notebook, or a textarea where CodeMirror does not load."""

import pytest

from book.live.built_files import members
from book.serve import Handler, serving
from tests.book.live.conftest import NEW_READER
from tests.book.live.reader import EDITOR, RIGHT, Page, only_in_chromium
from tests.browsers.axe import violations
from tests.browsers.contrast import pale
from tests.choosing import thinned

pytestmark = pytest.mark.book

NAMED = {"Backspace", "Tab", "Enter", "Escape", "Home", "End", "ArrowUp", "ArrowDown"}
FIRST_SUGGESTION = "document.querySelector('.cm-tooltip-autocomplete li')?.textContent"
SLOW_MACHINE = "{ let late = 0; const now = Date.now; Date.now = () => now() + (late += 30); }"
A_MINUTE_LATER = "{ const now = Date.now; Date.now = () => now() + 60_000; }"
# From the last digit of a line's number to the code that scrolls below it.
GAP = """(() => {
  const gutter = document.querySelector("#live-softmax .cm-gutters");
  const digits = document.createRange();
  digits.selectNodeContents(gutter.querySelector(".cm-lineNumbers .cm-gutterElement:last-child"));
  return gutter.getBoundingClientRect().right - digits.getBoundingClientRect().right;
})()"""
ERROR_LINES = "[...document.querySelectorAll('.live-error-line')].map(line => line.textContent)"
# Text -> the keys that write it.
WRITTEN = {
    "def f(x):\n    return foo(\n        1\n    )": ["def f(x):", "Enter", "return foo(", "Enter", "1"],
    "if x:\n    return 3\ny": ["if x:", "Enter", "return 3", "Enter", "y"],
    "while x:\n    if y:\n        break  # why\n    z": [
        *("while x:", "Enter", "if y:", "Enter", "break  # why", "Enter", "z")
    ],
    "def f():\n    raise E(1)\nz": ["def f():", "Enter", "raise E(1", "End", "Enter", "z"],
    "def f():\n    return g(\n        1\n    )\nz": [
        *("def f():", "Enter", "return g(", "Enter", "1", "ArrowDown", "End", "Enter", "z")
    ],
    "def f():\n    if x: return 1\n    z": ["def f():", "Enter", "if x: return 1", "Enter", "z"],
    "def f():\n    pass_ = 1\n    z": ["def f():", "Enter", "pass_ = 1", "Enter", "z"],
    "if x:\n    y\nz": ["if x:", "Enter", "y", "Enter", "Backspace", "z"],
    "1   y": ["1", "Tab", "y"],
    "f(g[1])": ["f(g[1])"],
    "fx": ["f([", "Backspace", "Backspace", "x"],
    "s = 'a'": ["s = 'a'"],
    "a / b": ["a / b"],  # "/" is Sphinx's key for its search
}
OF_ALL_KINDS = '''import math
@decorated
def f(x: int = 3) -> str:  # a comment
    """A text."""
    return None if x >= 1.5 else f"{x!r}" + 'b'
class C(Base): pass
'''


class Writer:
    """An exercise with CodeMirror, and a reader who presses keys in it."""

    def __init__(self, page, name="softmax"):
        self.page, self.browser, self.name = page, page.browser, name
        box = f"document.querySelector('#live-{name}')"
        # Another editor may still scroll to its cursor.
        self.browser.wait(f"{box}.scrollIntoView({{ block: 'center' }}), !!{box}.querySelector('.cm-content')")

    def press(self, *keys, **held):
        """Press keys given by name, and the characters of other texts."""
        for key in keys:
            for stroke in [key] if key in NAMED else key:
                self.browser.press(stroke, **held)

    def write(self, *keys):
        """Write into the empty editor, and return the text."""
        self.page.write(self.name, "")
        self.press(*keys)
        return self.source

    @property
    def source(self):
        return self.page.source(self.name)

    def wait_for_suggestion(self, name):
        """Wait until the editor suggests this name first, and the reader has had time to see it."""
        self.browser.wait(f"{FIRST_SUGGESTION} === {name!r}")
        self.browser.evaluate(A_MINUTE_LATER)  # CodeMirror ignores keys in the first moment


@pytest.fixture
def writer(page):
    return Writer(page)


def tap(browser, element):
    """Touch the middle of an element, given by a JavaScript expression."""
    box = f"{element}.getBoundingClientRect()"
    x, y = browser.evaluate(f"(box => [box.x + box.width / 2, box.y + box.height / 2])({box})")
    browser.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    browser.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def is_focused(browser, text):
    return browser.evaluate("document.activeElement.textContent") == text


def test_codemirror_takes_over_what_the_reader_wrote_in_the_textarea(page, browser):
    field = f"document.querySelector('{EDITOR.format('softmax')}')"
    height = page.ask("softmax", "box.offsetHeight")
    browser.evaluate(f"{field}.focus({{ preventScroll: true }})")
    browser.evaluate(f"{field}.setRangeText('one = 1', 0, 13); {field}.dispatchEvent(new Event('input'))")
    browser.evaluate(f"{field}.setSelectionRange(2, 5)")
    written = page.source("softmax")
    assert not [url for url in browser.requested_urls() if "codemirror" in url], "no editor is near the screen yet"
    page.ask("softmax", "box.scrollIntoView()")
    browser.wait(f"{field}.matches('.cm-content')")
    assert written.startswith("one = 1") and page.source("softmax") == written
    assert page.is_in_editor and browser.evaluate("String(getSelection())") == "e ="
    assert page.ask("softmax", "box.offsetHeight") == height
    assert browser.complaints() == [] and browser.exceptions() == []


def test_keys_write_python(writer):
    assert {text: writer.write(*keys) for text, keys in WRITTEN.items()} == {text: text for text in WRITTEN}


@pytest.mark.thorough("the same keys on a slow machine")
@only_in_chromium
def test_a_line_after_return_is_indented_less_on_a_slow_machine(writer, browser):
    """CodeMirror parses for 20 milliseconds after a key, and leaves the rest for later."""
    browser.evaluate(SLOW_MACHINE)
    text = "if x:\n    return 3\ny"
    assert writer.write(*WRITTEN[text]) == text


def test_keys_change_lines(writer, browser):
    assert writer.write("1", "Enter", "2", "ArrowUp") == "1\n2"  # numbers, because nothing is suggested for them
    browser.press("/", control=True)
    assert writer.source == "# 1\n2"
    browser.press("/", control=True)
    browser.press("ArrowDown", alt=True)
    assert writer.source == "2\n1"
    browser.press("ArrowUp", alt=True)
    browser.press("a", control=True)
    browser.press("Tab")
    assert writer.source == "    1\n    2"
    browser.press("Tab", shift=True)
    assert writer.source == "1\n2"


@only_in_chromium
def test_a_finger_places_the_cursor_and_presses_a_button(writer, page, browser):
    writer.write("1", "Enter", "2")
    browser.evaluate("document.activeElement.blur()")
    tap(browser, "document.querySelector('#live-softmax .cm-line')")
    browser.wait("document.activeElement.matches('#live-softmax .cm-content')")
    browser.type("0")
    assert writer.source == "10\n2"
    tap(browser, "[...document.querySelectorAll('#live-softmax button')].find(b => b.textContent === 'Reset')")
    assert "NotImplementedError" in writer.source


def test_the_editor_suggests_names_and_tab_accepts_one(writer, page, browser):
    writer.write("np.swap")
    writer.wait_for_suggestion("swapaxes")
    writer.press("Enter")
    assert writer.source == "np.swap\n", "Enter begins a new line"
    writer.write("np.linalg.inv")
    writer.wait_for_suggestion("inv")
    writer.press("Tab", "(")
    assert writer.source == "np.linalg.inv()"

    page.write("softmax", RIGHT)
    weights = Writer(page, "attention_weights")
    weights.write("def f(longer):", "Enter", "lon")
    weights.wait_for_suggestion("longer")
    click = "new MouseEvent('mousedown', { bubbles: true })"
    browser.evaluate(f"document.querySelector('.cm-tooltip-autocomplete li').dispatchEvent({click})")
    assert weights.source == "def f(longer):\n    longer"
    weights.write("soft")
    weights.wait_for_suggestion("softmax")  # the name of an exercise above
    weights.write("'soft", "End", "; np.ma")  # within a text the editor suggests nothing
    weights.wait_for_suggestion("ma")


@pytest.mark.thorough("only another version of NumPy changes the names")
@only_in_chromium
def test_numpy_in_the_page_has_every_name_that_the_editor_suggests(page, writer):
    code = f"names = {members()!r}\n"
    code += "print([name for module in names for name in names[module] if not hasattr(eval(module), name)])"
    assert page.run("softmax", f"{code}\n{RIGHT}").shown.startswith("[]")


def test_a_failed_run_marks_the_line_of_the_error(writer, page, browser):
    raises = "def softmax(scores):\n    x = 1\n    return scores + unknown\n"
    assert "NameError" in page.run("softmax", raises).shown
    assert browser.evaluate(ERROR_LINES) == ["    return scores + unknown"]
    writer.press("x")
    assert browser.evaluate(ERROR_LINES) == []
    page.run("softmax", "\n\ndef softmax(scores:")
    assert browser.evaluate(ERROR_LINES) == ["def softmax(scores:"]
    page.run("softmax", RIGHT)
    assert browser.evaluate(ERROR_LINES) == []


@pytest.mark.thorough("the same in a textarea")
def test_a_textarea_marks_the_line_of_the_error_too(page_with_textareas, browser):
    page_with_textareas.run("softmax", "x = 1\ny = 1 / 0")
    assert browser.evaluate(ERROR_LINES) == ["y = 1 / 0\n"]
    page_with_textareas.write("softmax", "x = 1\ny = 1")
    assert browser.evaluate(ERROR_LINES) == []


def test_escape_and_tab_leave_the_editor(writer, page, browser):
    assert "Esc then Tab leaves" in page.ask("softmax", "box.querySelector('.live-keys').innerText")
    writer.write("x", "Escape")
    browser.evaluate(A_MINUTE_LATER)  # CodeMirror's own limit is two seconds
    browser.press("Tab")
    assert is_focused(browser, "Run & check")
    browser.press("Tab", shift=True)
    assert page.is_in_editor
    browser.press("Tab")
    assert page.is_in_editor and writer.source == "x   ", "Tab indents again"
    writer.press("np.swap")
    writer.wait_for_suggestion("swapaxes")
    writer.press("Escape", "Tab")
    assert is_focused(browser, "Run & check"), "Escape closes the suggestions, and Tab leaves"
    page.focus("softmax")
    writer.press("Escape")
    browser.press("Tab", shift=True)
    assert not page.is_in_editor and not is_focused(browser, "Run & check")


def test_shift_and_enter_run_the_code(writer, page, browser):
    writer.write("y = 1 / 0")
    browser.press("Enter", shift=True)
    assert "ZeroDivisionError" in page.finish("softmax").shown
    assert page.is_in_editor and writer.source == "y = 1 / 0"


def test_one_undo_takes_back_a_reset(writer, page, browser):
    writer.write("mine")
    page.press("softmax", "Reset")
    stub = writer.source
    assert "raise NotImplementedError" in stub
    page.focus("softmax")
    browser.press("z", control=True)
    assert writer.source == "mine"
    assert page.ask("softmax", "box.querySelector('.live-status').textContent") == ""
    page.open()
    assert page.source("softmax") == "mine", "the undo is stored"


def test_the_field_has_a_name_and_says_how_to_leave(writer, browser):
    field = f"document.querySelector('{EDITOR.format('softmax')}')"
    about = browser.evaluate(f"[{field}.role, {field}.ariaLabel, {field}.ariaMultiLine]")
    assert about == ["textbox", "Your softmax, in Python", "true"]
    described = f"document.getElementById({field}.getAttribute('aria-describedby')).textContent"
    assert "press Escape, then Tab" in browser.evaluate(described)


@pytest.mark.thorough("the name and the description of the field are tested by themselves")
def test_axe_finds_nothing_wrong_with_the_editor(writer, page, browser):
    before = violations(browser)
    writer.write("x = '" + 200 * "a", "End", "; np.swap")
    writer.wait_for_suggestion("swapaxes")
    assert violations(browser) == before
    browser.press("f", control=True)
    browser.wait("document.activeElement.matches('.cm-search input')")
    assert violations(browser) == before


@pytest.mark.parametrize("dark", thinned([False, True], [False], "the other colours"), ids=["light", "dark"])
def test_all_code_is_legible(writer, page, browser, dark):
    page.write("softmax", OF_ALL_KINDS)
    browser.prefer(dark)
    browser.wait(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
    classes = "[...document.querySelectorAll('#live-softmax .cm-line span')].map(token => token.className)"
    for kind in ("k", "kc", "s2", "c1", "nf", "mi", "o"):
        browser.wait(f"{classes}.includes('{kind}')")  # CodeMirror parses when the browser has time
    assert pale(browser, "#live-softmax .live-editor *, #live-softmax .live-keys") == []
    page.run("softmax", OF_ALL_KINDS)
    assert len(browser.evaluate(ERROR_LINES)) == 1
    assert pale(browser, "#live-softmax .live-editor *") == []


def test_a_long_line_scrolls_below_its_number_on_a_phone(page_on_a_phone, browser):
    page = page_on_a_phone
    Writer(page)
    page.write("softmax", "x = " + "'a very long line' + " * 30 + "''\ny")
    scroller = "document.querySelector('#live-softmax .cm-scroller')"
    number = "document.querySelectorAll('#live-softmax .cm-lineNumbers .cm-gutterElement')[2].getBoundingClientRect()"
    line = "document.querySelectorAll('#live-softmax .cm-line')[1].getBoundingClientRect()"
    left = browser.evaluate(f"{number}.left")
    browser.evaluate(f"{scroller}.scrollLeft = 500")
    browser.wait(f"{line}.left < 0")
    assert browser.evaluate(f"{number}.left") == left > 0
    assert browser.evaluate(GAP) >= 5, "the code touches the number"
    assert browser.evaluate(f"Math.abs({number}.top - {line}.top)") < 1
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390


class WithoutCodeMirror(Handler):
    """Serves the book without CodeMirror."""

    def do_GET(self):
        if self.path.endswith("/codemirror.js"):
            self.send_error(404)
        else:
            super().do_GET()


@pytest.mark.thorough("another reason to keep the textarea")
def test_without_codemirror_the_textarea_stays(browser, book):
    with serving(book / "_build" / "html", WithoutCodeMirror) as address:
        page = Page(browser, address)
        # The service worker of an earlier test would answer instead of the server.
        with browser.before_each_page("delete Navigator.prototype.serviceWorker;" + NEW_READER):
            page.open()
        page.ask("softmax", "box.scrollIntoView()")
        browser.wait("performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/codemirror.js'))")
        assert page.run("softmax", RIGHT).passes
        assert browser.evaluate("document.querySelectorAll('.cm-editor').length") == 0
        said = browser.evaluate("document.querySelector('#live-softmax').innerText")
        assert "error" not in said.lower()


def test_a_device_with_little_memory_does_not_load_codemirror(page_with_textareas, browser):
    page_with_textareas.ask("softmax", "box.scrollIntoView()")
    assert page_with_textareas.run("softmax", RIGHT).passes
    assert not [url for url in browser.requested_urls() if "codemirror" in url]
    assert browser.evaluate("document.querySelectorAll('.cm-editor').length") == 0
