"""Run the course's own server, whose first page is formgrader."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress

from autograder.layout import REPO
from tests.patience import SECONDS

BASE = "/services/default_course/"


class CourseServer:
    """A running server. address: that of its pages, which end with a slash."""

    def __init__(self, port):
        self.address = f"http://127.0.0.1:{port}{BASE}"

    def __call__(self, path, body=None):
        """Return the address and the text of a page. With a body, send the body as formgrader's own pages do."""
        headers = {"Authorization": "token key", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        method = None if body is None else "PUT"
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=SECONDS) as page:
            return page.url.partition(BASE)[2], page.read().decode()


@contextmanager
def running(course, folder):
    """Yield the server of a course, which keeps its own files in a folder."""
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.base_url={BASE}"]
    settings = {
        "JUPYTER_CONFIG_PATH": str(REPO / "autograder/hub/deploy/formgrader"),
        "JUPYTER_RUNTIME_DIR": str(folder),
    }
    process = subprocess.Popen(
        [*command, "--port=0", "--IdentityProvider.token=key"], cwd=course, env={**os.environ, **settings}
    )
    try:
        yield _started(process, folder / f"jpserver-{process.pid}.json")
    finally:
        process.terminate()
        process.wait(60)


def _started(process, about):
    """Return the server of a process as soon as it answers. about: the file in which it tells its port."""
    while process.poll() is None:
        with suppress(FileNotFoundError, json.JSONDecodeError, urllib.error.URLError):
            server = CourseServer(json.loads(about.read_text(encoding="utf-8"))["port"])
            server("api")
            return server
        time.sleep(0.1)
    raise RuntimeError(f"the server ended with {process.returncode}")
