"""Control a headless Chromium over its DevTools protocol (https://chromedevtools.github.io/devtools-protocol)."""

import json
import os
import subprocess
import tempfile
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import websocket

from tests.browsers.tab import Tab
from tests.patience import SECONDS

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ),
    *("--remote-debugging-port=0", "--remote-allow-origins=*"),
    "--js-flags=--liftoff-only",  # optimizing Python's WebAssembly takes a third of the time in which Python starts
]

# The keys that write no character, and Enter.
CODES = {
    **{"Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36},
    **{"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40},
}

# Keep the machine's rules, for example about which font is a serif, but replace its fonts; see fonts.conf(5).
FONT_CONFIGURATION = """<fontconfig>
<include ignore_missing="yes">/etc/fonts/conf.d</include>
<dir>{fonts}</dir>
<cachedir>{cache}</cachedir>
</fontconfig>"""

# For each style of text, add a paragraph with one span for each character that the page writes in this style.
# Leave formulas out: MathJax writes a character that its own fonts lack as an mjx-utext, which a test can look for.
SPECIMENS = """(() => {
  const characters = {};
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (element.closest("mjx-container, math, script, style, noscript")) continue;
    const {fontFamily, fontWeight, fontStyle} = getComputedStyle(element);
    const style = JSON.stringify({fontFamily, fontWeight, fontStyle});
    characters[style] ??= new Set();
    for (const character of texts.currentNode.data) if (character.trim()) characters[style].add(character);
  }
  for (const [style, used] of Object.entries(characters)) {
    const paragraph = document.body.appendChild(document.createElement("p"));
    Object.assign(paragraph.style, JSON.parse(style));
    paragraph.className = "specimen";
    for (const character of used) paragraph.appendChild(document.createElement("span")).textContent = character;
  }
  return document.fonts.ready.then(() => Object.keys(characters).length);
})()"""


class Browser(Tab):
    """One tab. Use it as a context manager: `with Browser("chromium") as browser: ...`.

    Args:
        program: name or path of a Chromium.
        fonts: a folder of fonts that replace all fonts installed on the machine.
    """

    def __init__(self, program, fonts=None):
        super().__init__()
        self._program, self._fonts = program, fonts
        self._document = self._left = None  # the page, and the one before it, whose last requests may come late

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command = [self._program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=self._environment())
        address = next(line for line in self._process.stderr if "DevTools listening on" in line).split("ws://")[1]
        with urllib.request.urlopen(f"http://{address.split('/')[0]}/json") as tabs:
            tab = next(tab for tab in json.load(tabs) if tab["type"] == "page")
        self._socket = websocket.create_connection(tab["webSocketDebuggerUrl"], timeout=SECONDS)
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        return self

    def _environment(self):
        if self._fonts is None:
            return None
        config = Path(self._profile.name, "fonts.conf")
        config.write_text(FONT_CONFIGURATION.format(fonts=self._fonts, cache=f"{self._profile.name}/fontconfig"))
        return {**os.environ, "FONTCONFIG_FILE": str(config)}

    def __exit__(self, *error):
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=SECONDS)
        self._process.stderr.close()
        self._profile.cleanup()

    def resize(self, width):
        """Give the window a width. A window narrower than 600 pixels emulates a phone."""
        phone = width < 600
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=phone)

    def go(self, url):
        """Navigate, and return when the new document is there.

        Chromium answers the command earlier. Until the event, an expression may be evaluated in the old document.
        """
        loader = self.send("Page.navigate", url=url).get("loaderId")  # None for another place in the same document
        if loader:
            self._left, self._document = self._document, loader
        while loader and loader not in [event["frame"]["loaderId"] for event in self.events("Page.frameNavigated")]:
            self._receive()

    @contextmanager
    def tab_behind(self, url):
        """Open a page in a second tab, which stays in the background, and close it after the `with` block."""
        target = self.send("Target.createTarget", url=url, background=True)["targetId"]
        try:
            yield
        finally:
            self.send("Target.closeTarget", targetId=target)

    def requested_urls(self):
        """Return the URLs that the browser has requested since the page was opened, except for the page before it."""
        sent = self.events("Network.requestWillBeSent")
        return [event["request"]["url"] for event in sent if event["loaderId"] != self._left]

    def prefer(self, dark):
        """Set the colour scheme that the reader prefers, also for the page that is open."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def complaints(self):
        """Return what the browser has written to its console since the page was opened."""
        return [event["entry"]["text"] for event in self.events("Log.entryAdded")]

    def exceptions(self):
        """Return the exceptions that no script has caught since the page was opened."""
        thrown = [event["exceptionDetails"] for event in self.events("Runtime.exceptionThrown")]
        return [details.get("exception", {}).get("description", details["text"]) for details in thrown]

    def evaluate(self, expression):
        """Return the value of a JavaScript expression. If it is a promise, wait for it."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def text_in_fonts_of_the_machine(self):
        """Return the characters that the page does not write in its own fonts: font of the machine -> characters.

        This adds paragraphs to the page, so call it last.
        """
        styles = self.evaluate(SPECIMENS)
        for domain in ("DOM", "CSS"):
            self.send(f"{domain}.enable")
        page = self.send("DOM.getDocument", depth=0)["root"]["nodeId"]
        paragraphs = self._nodes(page, ".specimen")
        assert len(paragraphs) == styles > 0
        foreign = {}
        for paragraph in paragraphs:
            if self._fonts_of_the_machine(paragraph):
                for span in self._nodes(paragraph, "span"):
                    character = self.send("DOM.describeNode", nodeId=span, depth=1)["node"]["children"][0]["nodeValue"]
                    for font in self._fonts_of_the_machine(span):
                        foreign[font] = foreign.get(font, "") + character
        return foreign

    def _nodes(self, node, selector):
        return self.send("DOM.querySelectorAll", nodeId=node, selector=selector)["nodeIds"]

    def _fonts_of_the_machine(self, node):
        fonts = self.send("CSS.getPlatformFontsForNode", nodeId=node)["fonts"]
        return [font["familyName"] for font in fonts if not font["isCustomFont"]]

    def press(self, key, shift=False, control=False, alt=False):
        """Press and release a key, given by name ("Enter") or as a character, on the element that has the focus."""
        code = CODES.get(key) or (ord(key.upper()) if key.isalnum() or key == " " else 0)
        text = "" if key in CODES or control or alt else key
        text = "\r" if key == "Enter" else text
        more = {"key": key, "windowsVirtualKeyCode": code, "modifiers": alt + 2 * control + 8 * shift}
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, text=text, **more)

    def type(self, text):
        """Insert text at the focus, as from a keyboard."""
        self.send("Input.insertText", text=text)

    @contextmanager
    def before_each_page(self, script):
        """Run a script in each page that is opened within this context, before the page's own scripts."""
        added = self.send("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        try:
            yield
        finally:
            self.send("Page.removeScriptToEvaluateOnNewDocument", identifier=added)
