"""Measure how much a page of the built book loads, and how long it blocks the reader's browser.

    python benchmarks/pages.py [--page 05_residual ...] [--against FOLDER ...] [--runs 5]

The benchmark serves the book in _build/html on this machine, and opens pages in Chromium with a processor four times as
slow and an empty cache. Each FOLDER is another built book, for example that of an earlier commit; the books take turns.
The script prints, for each page and book, the bytes of all files that the page loads, raw and as a server would zip
them, and the medians of the time until the `load` event and of the blocking time. Blocking time is what each task takes
beyond 50 ms, until the formulas are set. The benchmark asserts nothing.
"""

import argparse
import gzip
import statistics
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tabulate import tabulate

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "_build" / "html"
SLOWER = 4
PATIENCE = 300  # seconds, for a machine that does other work
OBSERVE_TASKS = """
  window.tasks = [];
  new PerformanceObserver(list => tasks.push(...list.getEntries().map(task => task.duration)))
    .observe({type: "longtask"});
"""
TIMES = """new Promise(requestIdleCallback).then(() => ({
  load: performance.getEntriesByType("navigation")[0].loadEventEnd,
  blocking: tasks.reduce((sum, duration) => sum + duration - 50, 0),
}))"""


def files(urls, folder):
    """Return the files of a book that these URLs name, each once."""
    paths = {unquote(urlsplit(url).path).lstrip("/") for url in urls if url.startswith("http")}
    return [folder / path for path in sorted(paths) if (folder / path).is_file()]


def kilobytes(files):
    """Return the raw and the zipped size of files, in kB."""
    contents = [file.read_bytes() for file in files]
    return [round(sum(map(len, parts)) / 1000) for parts in (contents, [gzip.compress(part, 6) for part in contents])]


def measure(browser, address, folder, page):
    """Open a page and return [kB, kB zipped, seconds to load, seconds of blocking]."""
    from tests.browsers.tab import TYPESET

    browser.go(f"{address}/chapters/{page}.html")
    browser.wait("document.readyState === 'complete'", seconds=PATIENCE)
    browser.evaluate(TYPESET)
    times = browser.evaluate(TIMES)
    return [*kilobytes(files(browser.requested_urls(), folder)), times["load"] / 1000, times["blocking"] / 1000]


def main():
    sys.path.insert(0, str(ROOT))
    from book.forms.pdf import find_browser
    from book.serve import serving
    from tests.browsers.devtools import Browser

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", action="append", help="a page's name, by default 01_attention and 05_residual")
    parser.add_argument(
        "--against", action="append", type=Path, default=[], help="the HTML folder of another built book"
    )
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    books = [*options.against, BOOK]
    rows = []
    for page in options.page or ["01_attention", "05_residual"]:
        measured = {folder: [] for folder in books}
        for _ in range(options.runs):
            for folder in books:
                # A new browser has an empty cache and no compiled scripts.
                with serving(folder) as address, Browser(find_browser()) as browser:
                    browser.send("Emulation.setCPUThrottlingRate", rate=SLOWER)
                    with browser.before_each_page(OBSERVE_TASKS):
                        measured[folder].append(measure(browser, address, folder, page))
        rows += [[page, folder, *map(statistics.median, zip(*runs, strict=True))] for folder, runs in measured.items()]
    print(tabulate(rows, headers=["page", "book", "kB", "kB zipped", "load, s", "blocking, s"], floatfmt=".2f"))


if __name__ == "__main__":
    main()
