"""Solve every exercise in the pages of a book that lends everything, each chapter from an empty profile.

    python benchmarks/borrowing.py [--firefox] [CHAPTER ...]

The benchmark builds a book of all chapters without running their cells, with `lend: all`, and opens each chapter in a
new browser. For each exercise it borrows by the button what the exercise uses, writes the book's answer and runs it. It
prints the exercises that do not pass. The exit code is 1 if there are any. Exercises in PyTorch do not run in a page.
"""

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXERCISES = "JSON.parse(document.getElementById('live-exercises').textContent).exercises.map(({ name }) => name)"
BUTTONS = "[...box.querySelectorAll('.live-uses button')]"
BORROW = f"{BUTTONS}.find((button) => !button.hidden && button.textContent.startsWith('Borrow'))"


def built(folder):
    """Build a book that lends everything in a folder, and return the folder of its pages."""
    from autograder.layout import chapter_names
    from tests.book.conftest import jupyter_book_command
    from tests.book.live.conftest import configure, write_book

    write_book(folder, chapter_names(), execute=False)
    configure(folder, lambda config: config["sphinx"]["config"].update(lend="all"))
    built = jupyter_book_command(folder)
    assert built.returncode == 0, built.stderr
    return folder / "_build" / "html"


def solve(browser, address, chapter):
    """Solve the exercises of a chapter in their order, and yield for each: its name, and what its page says."""
    from benchmarks.cells import solved
    from tests.book.live.reader import Page

    page, answers = Page(browser, address, chapter), solved(chapter)
    page.open()
    for name in browser.evaluate(EXERCISES):
        page.ask(name, f"{BORROW}?.click()")
        yield name, page.run(name, answers[name])


def started(firefox):
    """Return a browser to start with a new profile."""
    from book.forms.pdf import find_browser
    from tests.browsers.bidi import Firefox, find_firefox
    from tests.browsers.devtools import Browser

    return Firefox(find_firefox()) if firefox else Browser(find_browser())


def main():
    sys.path.insert(0, str(ROOT))
    from autograder.layout import chapter_names
    from book.serve import serving

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all chapters if you name none")
    parser.add_argument("--firefox", action="store_true", help="in Firefox instead of Chromium")
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as temporary, serving(built(Path(temporary, "book"))) as address:
        for chapter in options.chapters or chapter_names():
            with started(options.firefox) as browser:
                runs = dict(solve(browser, address, chapter))
            failed = {name: run for name, run in runs.items() if not run.passes}
            print(f"{chapter}: {len(runs) - len(failed)} of {len(runs)} exercises pass", flush=True)
            for name, run in failed.items():
                print(f"  {name}: {run.status} {run.shown}")
            failures += len(failed)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
