"""A reader who solves exercises on a page in the browser."""

import json
from types import SimpleNamespace

import pytest

RIGHT = """def softmax(scores):
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)
"""
PARTS = ("mark", "status", "output")
EDITOR = "#live-{} :is(textarea, .cm-content)"  # selector of the element in which the reader of an exercise writes
# Makes the editors of a page stay textareas.
LITTLE_MEMORY = "Object.defineProperty(Navigator.prototype, 'deviceMemory', { get: () => 1, configurable: true });"
# Replaces the whole text of an editor, as the reader does: in CodeMirror with Ctrl+A and a paste.
REPLACE = """(field, text) => {
  field.focus();
  if (field.matches("textarea")) {
    field.select();
    document.execCommand("insertText", false, text);
    return;
  }
  const happens = { bubbles: true, cancelable: true };
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "a", keyCode: 65, ctrlKey: true, ...happens }));
  const paste = Object.assign(new Event("paste", happens), { clipboardData: new DataTransfer() });
  paste.clipboardData.setData("text/plain", text);
  field.dispatchEvent(paste);
}"""
SOURCE = """import(new URL("cell.js", document.querySelector("script[src$='start.js']").src)).then(
  ({ cells }) => [...cells].find(({ box }) => box.id === "live-%s").editor.source)"""
# For slow tests, which start Python again, of code that does not depend on the browser.
only_in_chromium = pytest.mark.parametrize("browser", ["chromium"], indirect=True)


class Page:
    """A chapter in the browser, and the actions of its reader."""

    def __init__(self, browser, site, chapter="01_attention"):
        self.browser, self.site, self.chapter = browser, site, chapter

    def open(self, **options):
        self.browser.open(f"{self.site}/chapters/{self.chapter}.html", **options)
        self.browser.wait("document.documentElement.classList.contains('live-on')")

    def ask(self, name, what):
        """Return the value of a JavaScript expression about `box`, the element of an exercise."""
        return self.browser.evaluate(f"(box => {what})(document.getElementById('live-{name}'))")

    def write(self, name, source):
        self.browser.evaluate(f"({REPLACE})(document.querySelector('{EDITOR.format(name)}'), {json.dumps(source)})")

    def source(self, name):
        """Return the text in an editor."""
        return self.browser.evaluate(SOURCE % name)

    def focus(self, name):
        self.browser.evaluate(f"document.querySelector('{EDITOR.format(name)}').focus()")

    @property
    def is_in_editor(self):
        """Whether an editor has the focus."""
        return self.browser.evaluate("document.activeElement.matches('.live-editor *')")

    def press(self, name, button):
        self.ask(name, f"[...box.querySelectorAll('button')].find(b => b.textContent === {button!r}).click()")

    def run(self, name, source=None):
        """Run an answer. Return whether it passes, the status beside the button, and the text shown below."""
        if source is not None:
            self.write(name, source)
        self.press(name, "Run & check")
        return self.finish(name)

    def finish(self, name):
        self.browser.wait(f"document.querySelector('#live-{name} .live-run').ariaDisabled === 'false'")
        mark, status, shown = (self.ask(name, f"box.querySelector('.live-{part}').innerText") for part in PARTS)
        return SimpleNamespace(passes=mark == "✓ passes", status=status, shown=shown)

    @property
    def progress(self):
        return self.browser.evaluate("document.querySelector('.live-progress').textContent")
