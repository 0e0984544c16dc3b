"""A reader of a page in the browser, and what they write."""

import json
from types import SimpleNamespace

import pytest

RIGHT = """def softmax(scores):
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)
"""
PARTS = ("mark", "status", "output")
# For tests that take long, since Python is started anew, and in which nothing is a browser's own affair.
only_in_chromium = pytest.mark.parametrize("browser", ["chromium"], indirect=True)
# For a test that a quick run tries in Firefox too.
quick_in_both = pytest.mark.parametrize("browser", ["chromium", "firefox"], indirect=True)


class Page:
    """A chapter in the browser, and what a reader does there."""

    def __init__(self, browser, site, chapter="01_attention"):
        self.browser, self.site, self.chapter = browser, site, chapter

    def open(self, **options):
        self.browser.open(f"{self.site}/chapters/{self.chapter}.html", **options)
        self.browser.wait("document.documentElement.classList.contains('live-on')")

    def ask(self, name, what):
        return self.browser.evaluate(f"(box => {what})(document.getElementById('live-{name}'))")

    def write(self, name, source):
        typed = f"document.execCommand('insertText', false, {json.dumps(source)})"
        self.ask(name, f"{{const field = box.querySelector('textarea'); field.focus(); field.select(); {typed}}}")

    def press(self, name, button):
        self.ask(name, f"[...box.querySelectorAll('button')].find(b => b.textContent === {button!r}).click()")

    def run(self, name, source=None):
        """What is said of an answer: passed, told beside the button, and shown below."""
        if source is not None:
            self.write(name, source)
        self.press(name, "Run & check")
        return self.finish(name)

    def finish(self, name):
        self.browser.wait(f"document.querySelector('#live-{name} .live-run').ariaDisabled === 'false'", 120)
        mark, told, shown = (self.ask(name, f"box.querySelector('.live-{part}').innerText") for part in PARTS)
        return SimpleNamespace(passes=mark == "✓ passes", told=told, shown=shown)

    @property
    def progress(self):
        return self.browser.evaluate("document.querySelector('.live-progress').textContent")
