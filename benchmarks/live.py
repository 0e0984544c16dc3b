"""Measure how soon an exercise in a page of the built book answers, and how much the browser has to load for it.

    python benchmarks/live.py [CHAPTER]

The benchmark serves the book in _build/html on this machine and opens it in Chromium. It measures the first answer in a
fresh profile, the first answer from the browser's cache, twenty more answers, and the first answer after Stop. It
asserts nothing.
"""

import argparse
import gzip
import json
import statistics
import sys
from pathlib import Path

from tabulate import tabulate

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "_build" / "html"
RUNS = 20
# Milliseconds from pressing the button to the answer on the page.
ANSWER = """(async () => {
  const box = document.querySelector(".live");
  const [run, output] = [".live-run", ".live-output"].map(name => box.querySelector(name));
  output.replaceChildren();
  const from = performance.now();
  run.click();
  while (!output.firstChild) await new Promise(requestAnimationFrame);
  return performance.now() - from;
})()"""
EDITOR = {"code_field.js", "code_theme.js", "codemirror.js", "completion.js", "members.js"}


def zipped_size(files):
    """Return how many bytes a web server would send for these files."""
    return sum(len(gzip.compress(file.read_bytes(), 6)) for file in files)


def main():
    sys.path.insert(0, str(ROOT))
    from book.forms.pdf import find_browser
    from book.serve import serving
    from tests.book.live.reader import Page
    from tests.browsers.devtools import Browser

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapter", nargs="?", default="01_attention")
    chapter = parser.parse_args().chapter
    with serving(BOOK) as address, Browser(find_browser()) as browser:

        def seconds_to_first_answer():
            """Open the page and press the button of its first exercise."""
            browser.open(f"{address}/chapters/{chapter}.html")
            browser.wait("document.documentElement.classList.contains('live-on')")
            return browser.evaluate(ANSWER) / 1000

        first, cached = seconds_to_first_answer(), seconds_to_first_answer()
        later = statistics.median(browser.evaluate(ANSWER) for _ in range(RUNS)) / 1000
        config = json.loads(browser.evaluate("document.getElementById('live-exercises').textContent"))
        page, name = Page(browser, address, chapter), config["exercises"][0]["name"]
        source = page.source(name)
        page.write(name, "while True: pass")
        page.press(name, "Run & check")
        browser.wait("!document.querySelector('.live .live-bar button:nth-child(2)').hidden")
        page.press(name, "Stop")
        browser.wait("document.querySelector('.live-run').ariaDisabled === 'false'")
        page.write(name, source)
        after_stop = browser.evaluate(ANSWER) / 1000
    (folder,) = (file for file in (BOOK / "_static" / "live").iterdir() if file.is_dir())
    (bundle,) = (BOOK / "_static" / "live").glob(f"{chapter}-*.zip")
    loaded_later = {"worker.js", "exercise_map.js", *EDITOR}
    editor = [folder / name for name in EDITOR]
    scripts = [file for file in folder.iterdir() if file.suffix in (".js", ".css") and file.name not in loaded_later]

    def megabytes_of_pyodide(kind):
        return zipped_size(folder / "pyodide" / name for name in config[kind]) / 1e6

    rows = [
        ["first answer in a fresh profile", f"{first:.1f} s"],
        ["first answer from the browser's cache", f"{cached:.1f} s"],
        ["first answer after Stop; Python restarts while the reader types", f"{after_stop:.1f} s"],
        [f"later answers, median of {RUNS}", f"{1000 * later:.0f} ms"],
        ["loaded before the first use, zipped", f"{zipped_size(scripts) / 1e3:.0f} KB"],
        ["the editor, loaded near the first exercise, zipped", f"{zipped_size(editor) / 1e3:.0f} KB"],
        ["Python and NumPy, loaded at the first use, zipped", f"{megabytes_of_pyodide('python'):.1f} MB"],
        ["matplotlib, loaded at the first figure, zipped", f"{megabytes_of_pyodide('drawing'):.1f} MB"],
        [f"the bundle of {chapter}, zipped", f"{zipped_size([bundle]) / 1e6:.1f} MB"],
    ]
    print(tabulate(rows, headers=["", chapter], colalign=("left", "right")))


if __name__ == "__main__":
    main()
