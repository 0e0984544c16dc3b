"""What one does with a tab of any browser, that is told what to do by JSON over a websocket."""

import json
import time

SET = "window.MathJax ? MathJax.startup.promise.then(() => document.fonts.ready).then(() => 1) : 1"


class Tab:
    """One tab, whose socket a browser has made; `evaluate`, `go`, `resize`, `prefer` and `asked` are the browser's."""

    _socket = None

    def __init__(self):
        self._sent = 0
        self._events = []

    def send(self, method, **parameters):
        """Send a command, keep the events that arrive meanwhile, return the command's result."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": parameters}))
        while (message := self._receive()).get("id") != self._sent:
            pass
        assert "error" not in message, message
        return message["result"]

    def _receive(self):
        """Return the next message of the browser. Keep it if it is an event."""
        message = json.loads(self._socket.recv())
        if "id" not in message:
            self._events.append(message)
        return message

    def heard(self, method):
        """What the events of one kind have told since the page was opened."""
        return [event["params"] for event in self._events if event["method"] == method]

    def open(self, url, width=1280, dark=False):
        """Open a page in a window `width` wide and wait until it stands; returns the addresses it asked for."""
        self._events.clear()
        self.resize(width)
        self.prefer(dark)
        self.go(url)
        self.wait("document.readyState === 'complete'")
        self.wait("!window.MathJax || !!(MathJax.startup && MathJax.startup.promise)")
        self.evaluate(SET)
        return self.asked()

    def wait(self, condition, seconds=30):
        """Wait until a JavaScript condition holds."""
        deadline = time.monotonic() + seconds
        while not self.evaluate(condition):
            assert time.monotonic() < deadline, f"still not true: {condition}"
            time.sleep(0.05)
