"""A headless Chromium, told what to do over its DevTools protocol (https://chromedevtools.github.io/devtools-protocol)."""

import json
import subprocess
import tempfile
import time
import urllib.request

import websocket

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND"),
    *("--remote-debugging-port=0", "--remote-allow-origins=*"),
]


class Browser:
    """One tab. Use it as a context manager: `with Browser("chromium") as browser: ...`."""

    def __init__(self, program):
        self._program = program

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command = [self._program, *FLAGS, f"--user-data-dir={self._profile.name}"]
        self._process = subprocess.Popen([*command, "about:blank"], stderr=subprocess.PIPE, text=True)
        address = next(line for line in self._process.stderr if "DevTools listening on" in line).split("ws://")[1]
        with urllib.request.urlopen(f"http://{address.split('/')[0]}/json") as tabs:
            tab = next(tab for tab in json.load(tabs) if tab["type"] == "page")
        self._socket = websocket.create_connection(tab["webSocketDebuggerUrl"], timeout=60)
        self._sent = 0
        self._events = []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(self, *error):
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=20)
        self._process.stderr.close()
        self._profile.cleanup()

    def send(self, method, **parameters):
        """Send a command, keep the events that arrive meanwhile, return the command's result."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._sent:
                assert "error" not in message, message
                return message["result"]
            self._events.append(message)

    def open(self, url, width=1280, dark=False):
        """Open a page in a window `width` wide and wait until it stands; returns the addresses it asked for."""
        self._events.clear()
        phone = width < 600
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")
        self.wait("!window.MathJax || !!(MathJax.startup && MathJax.startup.promise)")
        self.evaluate("window.MathJax ? MathJax.startup.promise.then(() => document.fonts.ready).then(() => 1) : 1")
        events = [event["params"] for event in self._events if event["method"] == "Network.requestWillBeSent"]
        return [event["request"]["url"] for event in events]

    def complaints(self):
        """What the browser has written into its console since the page was opened."""
        return [event["params"]["entry"]["text"] for event in self._events if event["method"] == "Log.entryAdded"]

    def evaluate(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition, seconds=30):
        """Wait until a JavaScript condition holds."""
        deadline = time.monotonic() + seconds
        while not self.evaluate(condition):
            assert time.monotonic() < deadline, f"still not true: {condition}"
            time.sleep(0.05)
