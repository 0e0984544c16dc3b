"""How soon an exercise in a page of the built book answers, and what that takes.

    python benchmarks/live.py [CHAPTER]

The book in _build/html is served on this machine and opened in Chromium: in a fresh profile, again with its cache,
twenty times in a row, and after Stop. Nothing is asserted.
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
# From pressing the button to the answer on the page, in milliseconds.
ANSWER = """(async () => {
  const box = document.querySelector(".live");
  const [run, output] = [".live-run", ".live-output"].map(name => box.querySelector(name));
  output.replaceChildren();
  const from = performance.now();
  run.click();
  while (!output.firstChild) await new Promise(requestAnimationFrame);
  return performance.now() - from;
})()"""
STOP = "[...document.querySelectorAll('.live button')].find(button => button.textContent === 'Stop').click()"


def zipped(files):
    """Bytes of files as a web server would send them."""
    return sum(len(gzip.compress(file.read_bytes(), 6)) for file in files)


def main():
    sys.path.insert(0, str(ROOT))
    from book.forms.pdf import find_browser
    from book.serve import serving
    from tests.browsers.devtools import Browser

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapter", nargs="?", default="01_attention")
    chapter = parser.parse_args().chapter
    with serving(BOOK) as address, Browser(find_browser()) as browser:

        def opened():
            browser.open(f"{address}/chapters/{chapter}.html")
            browser.wait("document.documentElement.classList.contains('live-on')")
            return browser.evaluate(ANSWER) / 1000

        first, cached = opened(), opened()
        then = statistics.median(browser.evaluate(ANSWER) for _ in range(RUNS)) / 1000
        source = "document.querySelector('.live textarea')"
        typed = f"{source}.focus(), {source}.select(), document.execCommand('insertText', false, %s)"
        kept = browser.evaluate(f"{source}.value")
        config = json.loads(browser.evaluate("document.getElementById('live-exercises').textContent"))
        browser.evaluate(typed % json.dumps("while True: pass"))
        browser.evaluate("document.querySelector('.live-run').click()")
        browser.wait("!document.querySelector('.live .live-bar button:nth-child(2)').hidden")
        browser.evaluate(STOP)
        browser.wait("document.querySelector('.live-run').ariaDisabled === 'false'")
        browser.evaluate(typed % json.dumps(kept))
        stopped = browser.evaluate(ANSWER) / 1000
    (folder,) = (file for file in (BOOK / "_static" / "live").iterdir() if file.is_dir())
    (bundle,) = (BOOK / "_static" / "live").glob(f"{chapter}-*.zip")
    others = {"worker.js", "exercise_map.js"}
    scripts = [file for file in folder.iterdir() if file.suffix in (".js", ".css") and file.name not in others]

    def of_others(kind):
        return zipped(folder / "pyodide" / name for name in config[kind]) / 1e6

    rows = [
        ["the first answer, in a fresh profile", f"{first:.1f} s"],
        ["the first answer, from the browser's cache", f"{cached:.1f} s"],
        ["the first answer after Stop, Python begun while one types", f"{stopped:.1f} s"],
        [f"the next one, median of {RUNS}", f"{1000 * then:.0f} ms"],
        ["before the first use, zipped", f"{zipped(scripts) / 1e3:.0f} KB"],
        ["Python and NumPy at the first use, zipped", f"{of_others('python'):.1f} MB"],
        ["matplotlib at the first figure, zipped", f"{of_others('drawing'):.1f} MB"],
        [f"the bundle of {chapter}, zipped", f"{zipped([bundle]) / 1e6:.1f} MB"],
    ]
    print(tabulate(rows, headers=["", chapter], colalign=("left", "right")))


if __name__ == "__main__":
    main()
