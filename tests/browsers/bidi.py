"""Control a headless Firefox over WebDriver BiDi (https://w3c.github.io/webdriver-bidi)."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import websocket

from tests.browsers.tab import Tab
from tests.patience import SECONDS

PROGRAMS = ("firefox-esr", "firefox")
# A proxy that does not exist keeps Firefox from reaching other machines. We switch off the preferences that Firefox
# recommends for remote control: some of them let a page from the disk do what it may not do for readers.
PREFERENCES = {
    "remote.prefs.recommended": False,
    "network.proxy.type": 1,
    "network.proxy.socks": "127.0.0.1",
    "network.proxy.socks_port": 9,
    "network.proxy.socks_remote_dns": True,
    "network.proxy.failover_direct": False,
    # Requests that Firefox would send to other machines by itself.
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "app.normandy.enabled": False,
    "app.update.auto": False,
    "browser.newtabpage.activity-stream.testing.shouldInitializeFeeds": False,
    "browser.region.network.url": "",
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.update.enabled": False,
    "identity.fxaccounts.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "telemetry.fog.test.localhost_port": -1,
    # Ask nothing at the start. Scroll bars take no room, as on a phone.
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "ui.useOverlayScrollbars": 1,
}
ENVIRONMENT = {**os.environ, "MOZ_REMOTE_SETTINGS_DEVTOOLS": "1"}  # otherwise Firefox ignores services.settings.server
SCHEME = "Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', {})"
# The code points of the keys: https://w3c.github.io/webdriver/#keyboard-actions
KEYS = {
    **{"Backspace": "\ue003", "Tab": "\ue004", "Enter": "\ue006", "Escape": "\ue00c"},
    **{"Shift": "\ue008", "Control": "\ue009", "Alt": "\ue00a"},
    **{"End": "\ue010", "Home": "\ue011"},
    **{"ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015"},
}


def find_firefox():
    """Return the path of a Firefox, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Firefox(Tab):
    """One tab of Firefox. Use it as a context manager: `with Firefox("firefox-esr") as browser: ...`.

    Args:
        program: name or path of a Firefox.
    """

    def __init__(self, program):
        super().__init__()
        self._program = program

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()]
        Path(self._profile.name, "user.js").write_text("".join(lines))
        # System access allows us to change a preference later. BiDi has no command for the colour scheme.
        flags = ["--headless", "--no-remote", "--remote-debugging-port=0", "--remote-allow-system-access"]
        command = [self._program, *flags, "--profile", self._profile.name]
        log = Path(self._profile.name, "log")  # a file, because a pipe would fill up
        with log.open("w") as file:
            self._process = subprocess.Popen(command, stdout=file, stderr=file, env=ENVIRONMENT)
        while not (listens := re.search(r"BiDi listening on (\S+)\n", log.read_text())):
            assert self._process.poll() is None, log.read_text()
            time.sleep(0.05)
        self._socket = websocket.create_connection(f"{listens[1]}/session", timeout=SECONDS, suppress_origin=True)
        self.send("session.new", capabilities={})
        self._tab = self.send("browsingContext.getTree")["contexts"][0]["context"]
        events = ["log.entryAdded", "network.beforeRequestSent"]
        self.send("session.subscribe", events=events, contexts=[self._tab])
        self._window = self.send("browsingContext.getTree", **{"moz:scope": "chrome"})["contexts"][0]["context"]
        return self

    def __exit__(self, *error):
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=SECONDS)
        self._profile.cleanup()

    def resize(self, width):
        """Give the page a width."""
        self.send("browsingContext.setViewport", context=self._tab, viewport={"width": width, "height": 844})

    def prefer(self, dark):
        """Set the colour scheme that the reader prefers, also for the page that is open."""
        self._evaluate(self._window, SCHEME.format(0 if dark else 1))

    def go(self, url):
        self.send("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    @contextmanager
    def tab_behind(self, url):
        """Open a page in a second tab, which stays in the background, and close it after the `with` block."""
        tab = self.send("browsingContext.create", type="tab", background=True)["context"]
        self.send("browsingContext.navigate", context=tab, url=url, wait="complete")
        try:
            yield
        finally:
            self.send("browsingContext.close", context=tab)

    def requested_urls(self):
        """Return the URLs that the browser has requested since the page was opened."""
        return [event["request"]["url"] for event in self.events("network.beforeRequestSent")]

    def complaints(self):
        """Return the warnings in the browser's console since the page was opened."""
        return self._logged("warn", "info")

    def exceptions(self):
        """Return the exceptions that no script has caught, and what else the browser logs as an error."""
        return self._logged("error")

    def _logged(self, *levels):
        entries = [entry for entry in self.events("log.entryAdded") if entry["type"] == "javascript"]
        return [entry["text"] for entry in entries if entry["level"] in levels]

    def evaluate(self, expression):
        """Return the value of a JavaScript expression. If it is a promise, wait for it."""
        return self._evaluate(self._tab, expression)

    def _evaluate(self, context, expression):
        target = {"context": context}
        answer = self.send("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert answer["type"] == "success", answer["exceptionDetails"]
        return plain(answer["result"])

    def press(self, key, shift=False, control=False, alt=False):
        """Press and release a key, given by name ("Enter") or as a character, on the element that has the focus."""
        held = {"Shift": shift, "Control": control, "Alt": alt}
        keys = [*(KEYS[name] for name, is_held in held.items() if is_held), KEYS.get(key, key)]
        self._act([("keyDown", key) for key in keys] + [("keyUp", key) for key in reversed(keys)])

    def type(self, text):
        """Type text at the focus, key by key."""
        self._act([(kind, character) for character in text for kind in ("keyDown", "keyUp")])

    def _act(self, strokes):
        actions = [{"type": kind, "value": key} for kind, key in strokes]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        self.send("input.performActions", context=self._tab, actions=[keyboard])

    @contextmanager
    def before_each_page(self, script):
        """Run a script in each page that is opened within this context, before the page's own scripts."""
        added = self.send("script.addPreloadScript", functionDeclaration=f"() => {{ {script} }}")["script"]
        try:
            yield
        finally:
            self.send("script.removePreloadScript", script=added)


def plain(remote):
    """Return the Python value of a value in BiDi's format; None if JSON has no such value, as for an element."""
    kind, value = remote["type"], remote.get("value")
    if kind == "array":
        return [plain(item) for item in value]
    if kind == "object":
        return {name: plain(item) for name, item in value or ()}
    return value if kind in ("string", "number", "boolean") else None
