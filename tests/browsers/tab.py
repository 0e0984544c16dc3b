"""Control a tab of a browser with JSON over a websocket: what Chromium and Firefox have in common."""

import json
import time
from contextlib import suppress

from tests.patience import SECONDS

# The style sheet off_screen.css lets the browser skip what is outside the window.
LAY_OUT_EVERYTHING = """(async () => {
  const style = document.createElement("style");
  style.textContent = "* {content-visibility: visible !important}";
  document.head.append(style);
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
})()"""
# Around the element, the browser replaces estimated heights by measured ones in the frames after the scrolling.
SCROLL_TO = """(async element => {{
  const y = () => Math.round(element.getBoundingClientRect().y);
  let before, now, goal;
  do {{ // again, if these frames have moved the element
    element.scrollIntoView({{block: "center", behavior: "instant"}});
    goal = now = y();
    for (let still = 0; still < 3; still = now === before ? still + 1 : 0) {{
      await new Promise(requestAnimationFrame);
      [before, now] = [now, y()];
    }}
  }} while (now !== goal);
}})({element})"""
TYPESET = "Promise.resolve(window.MathJax?.startup.promise).then(() => document.fonts.ready).then(() => 1)"


class Navigated(AssertionError):
    """The page gave way to another one before it answered."""


class Tab:
    """One tab.

    A subclass for each browser opens the socket and defines `evaluate`, `go`, `resize`, `prefer` and `requested_urls`.
    """

    _socket = None

    def __init__(self):
        self._sent = 0
        self._events = []

    def send(self, method, **parameters):
        """Send a command and return its result. Keep the events that arrive before the result."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": parameters}))
        while (message := self._receive()).get("id") != self._sent:
            pass
        if "navigated" in str(message.get("error")):
            raise Navigated(message)
        assert "error" not in message, message
        return message["result"]

    def _receive(self):
        """Return the next message of the browser. Keep it if it is an event."""
        message = json.loads(self._socket.recv())
        if "id" not in message:
            self._events.append(message)
        return message

    def events(self, method):
        """Return the parameters of all events of one kind since the page was opened."""
        return [event["params"] for event in self._events if event["method"] == method]

    def open(self, url, width=1280, dark=False):
        """Open a page in a window of this width, wait until it is laid out, and return the URLs that it requested."""
        self._events.clear()
        self.resize(width)
        self.prefer(dark)
        self.go(url)
        self.wait("document.readyState === 'complete'")
        self.wait("!window.MathJax || !!(MathJax.startup && MathJax.startup.promise)")
        self.evaluate(TYPESET)
        return self.requested_urls()

    def lay_out(self):
        """Lay out all of the page, also what is far outside of the window."""
        self.evaluate(LAY_OUT_EVERYTHING)

    def scroll_to(self, element):
        """Scroll to an element, given by a JavaScript expression, and wait until it stands still."""
        self.evaluate(SCROLL_TO.format(element=element))

    def wait(self, condition, seconds=SECONDS):
        """Wait until a JavaScript condition holds, in this page or in one that it opens."""

        def holds():
            with suppress(Navigated):
                return self.evaluate(condition)

        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"still not true: {condition}"
            time.sleep(0.05)
