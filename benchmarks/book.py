"""Measure how long `make`, `make check` and `make test` take, and what a page of the built book costs its reader.

    python benchmarks/book.py [--pages-only] [--no-test] [--page 05_residual ...] [--against FOLDER ...] [--runs 5]

The commands run one after another in a copy of the committed files with a new virtual environment, so your own
`_build` stays as it is. pip uses its cache. The script also lists the slowest tests.

Then it serves the book in _build/html on this machine, and opens pages in Chromium as on a slow phone: a processor four
times as slow, a network of 1.6 Mbit/s with a latency of 150 ms, and an empty cache. Each FOLDER is another built book,
for example that of an earlier commit; the books take turns. The script prints, for each page and book, the bytes of all
files that the page loads, raw and as a server would zip them, and the medians of the time until the first text, of the
time until the `load` event, and of the blocking time. Blocking time adds up what each task takes beyond 50 ms, until
the formulas are set. The benchmark asserts nothing.
"""

import argparse
import gzip
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tabulate import tabulate

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "_build" / "html"
# The file that each step of `make` writes last. The book is built in parallel with the last two steps.
STEPS = {
    "set up": ".venv/.done",
    "book": "_build/.done",
    "release": "course/release/.done",
    "example class": "example/summary.txt",
}
SLOWER = 4
NETWORK = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 90_000}  # ms, bytes/s
PATIENCE = 300  # seconds, for a machine that does other work
OBSERVE_TASKS = """
  window.tasks = [];
  new PerformanceObserver(list => tasks.push(...list.getEntries().map(task => task.duration)))
    .observe({type: "longtask"});
"""
TIMES = """new Promise(requestIdleCallback).then(() => ({
  text: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  load: performance.getEntriesByType("navigation")[0].loadEventEnd,
  blocking: tasks.reduce((sum, duration) => sum + duration - 50, 0),
}))"""


def copy_tracked_files(folder):
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)


def timed(folder, *command):
    """Run a command in a folder. Return the seconds it took and what it printed."""
    start = time.time()
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return time.time() - start, done.stdout


def files(urls, folder):
    """Return the files of a book that these URLs name, each once."""
    paths = {unquote(urlsplit(url).path).lstrip("/") for url in urls if url.startswith("http")}
    return [folder / path for path in sorted(paths) if (folder / path).is_file()]


def kilobytes(files):
    """Return the raw and the zipped size of files, in kB."""
    contents = [file.read_bytes() for file in files]
    return [round(sum(map(len, parts)) / 1000) for parts in (contents, [gzip.compress(part, 6) for part in contents])]


def measure(browser, address, folder, page):
    """Open a page and return [kB, kB zipped, seconds to text, to load, of blocking]."""
    from tests.browsers.tab import TYPESET

    browser.go(f"{address}/chapters/{page}.html")
    browser.wait("document.readyState === 'complete'", seconds=PATIENCE)
    browser.evaluate(TYPESET)
    times = browser.evaluate(TIMES)
    seconds = [times[name] / 1000 for name in ("text", "load", "blocking")]
    return [*kilobytes(files(browser.requested_urls(), folder)), *seconds]


def times_of_make(with_tests):
    """Return [command or test, seconds] of `make` and of what follows it, in a copy of the committed files."""
    with tempfile.TemporaryDirectory() as folder:
        copy_tracked_files(folder)
        start = time.time()
        fresh, _ = timed(folder, "make")
        rows = [["make", fresh]]
        rows += [[f"  {step} done after", Path(folder, file).stat().st_mtime - start] for step, file in STEPS.items()]
        rows.append(["make, nothing changed", timed(folder, "make")[0]])
        if with_tests:
            rows.append(["make check", timed(folder, "make", "check")[0]])
            seconds, output = timed(folder, "make", "test")
            slowest = re.findall(r"^([\d.]+)s (?:call|setup|teardown) +(\S+)", output, re.MULTILINE)
            rows += [["make test", seconds], *([f"  {name}", float(duration)] for duration, name in slowest)]
        return rows


def weights_of_pages(pages, books, runs):
    """Return [page, book, kB, kB zipped, seconds to text, to load, of blocking] of each page in each book."""
    from book.forms.pdf import find_browser
    from book.serve import serving
    from tests.browsers.devtools import Browser

    rows = []
    for page in pages:
        measured = {folder: [] for folder in books}
        for _ in range(runs):
            for folder in books:
                # A new browser has an empty cache and no compiled scripts.
                with serving(folder) as address, Browser(find_browser()) as browser:
                    browser.send("Emulation.setCPUThrottlingRate", rate=SLOWER)
                    browser.send("Network.emulateNetworkConditions", **NETWORK)
                    with browser.before_each_page(OBSERVE_TASKS):
                        measured[folder].append(measure(browser, address, folder, page))
        rows += [
            [page, folder, *map(statistics.median, zip(*times, strict=True))] for folder, times in measured.items()
        ]
    return rows


def main():
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages-only", action="store_true", help="leave out all commands")
    parser.add_argument("--no-test", action="store_true", help="leave out `make check` and `make test`")
    parser.add_argument("--page", action="append", help="a page's name, by default 01_attention and 05_residual")
    parser.add_argument(
        "--against", action="append", type=Path, default=[], help="the HTML folder of another built book"
    )
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if not options.pages_only:
        print(tabulate(times_of_make(not options.no_test), headers=["", "seconds"], floatfmt=".1f"))
    rows = weights_of_pages(options.page or ["01_attention", "05_residual"], [*options.against, BOOK], options.runs)
    print(
        tabulate(rows, headers=["page", "book", "kB", "kB zipped", "text, s", "load, s", "blocking, s"], floatfmt=".2f")
    )


if __name__ == "__main__":
    main()
