"""Run jobs in the worker of a page, to compare Python in the browser with Python on this machine."""

import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

from book.live import assets
from book.live.built_files import IN_PAGE, python_files
from book.serve import serving

PAGE = """<!DOCTYPE html><title>Jobs</title><script type="module">
const worker = new Worker("worker.js", { type: "module" });
worker.onmessage = ({ data }) => { window[data.kind] = data; };
const address = (path) => new URL(path, location.href).href;
const [assets, chapter, ...drivers] = PATHS.map(address);
worker.postMessage({ kind: "start", assets, chapter, data: {}, drivers });
window.ask = (job, tried) => { delete window.done; worker.postMessage({ id: 1, job, tried }); };
</script>"""
DRIVERS = ("own_solutions.py", "exercise_run.py", "rest.py", "pyodide/rest.json", "steps.py")  # as in python.js


@contextmanager
def worker(browser, files, own=None, tried=False):
    """Yield a function that gives a job to the worker of a page, and returns the answer.

    Args:
        browser: a tests.browsers.devtools.Browser.
        files: the zip file that the worker unpacks.
        own: name of a driver, a Python file that the worker runs -> content that replaces it.
        tried: whether the jobs are cells to try, and not exercises.
    """
    paths = json.dumps(["pyodide/", "files.zip", *DRIVERS])
    contents = {file.name: file.read_bytes() for file in (IN_PAGE / "worker.js", *IN_PAGE.glob("*.py"))}
    contents |= {"index.html": PAGE.replace("PATHS", paths).encode(), "files.zip": files, **(own or {})}
    contents |= {f"pyodide/{file}": data for file, data in python_files(assets.files()).items()}

    def wait(kind):
        browser.wait(f"window.{kind} || window.broken", seconds=600)
        broken = browser.evaluate("window.broken?.text")
        assert broken is None, broken

    def ask(job):
        browser.evaluate(f"ask({json.dumps(job)}, {json.dumps(tried)})")
        wait("done")
        return browser.evaluate("window.done.answer")

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pyodide").mkdir()
        for path, data in contents.items():
            Path(folder, path).write_bytes(data)
        with serving(Path(folder)) as address:
            browser.open(f"{address}/index.html")
            wait("ready")
            yield ask
