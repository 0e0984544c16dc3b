"""Whether the browser judges as grading does: every known answer, by Python here and by Python in Chromium.

    python benchmarks/parity.py [CHAPTER ...]

Answers are each exercise's reference, its stub, its known mistakes and its right rewrites; PyTorch's modules are left
out, since no browser runs them. Both hold the same public keys. It prints what differs, and ends with 1 if anything
does.

This file is also what runs in the browser, where there is nothing but NumPy, `check` and the exercises.
"""

import argparse
import importlib
import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

from autograder.house import HOUSE, exercise_names, number_and_word
from check import key
from check.bundle_data import FOLDER
from check.checking import tried

SHIPPED = ("autograder/__init__.py", "autograder/errors.py", "autograder/house.py", "check/*.py", "solutions/*.py")
SHIPPED += ("autograder/authoring/**/*.py", "autograder/exercises/**/*.py", "chapters/[0-9]*.md")
PAGE = """<!DOCTYPE html><title>Parity</title><script type="module">
const worker = new Worker("worker.js", { type: "module" });
worker.onmessage = ({ data }) => { window[data.kind] = data; };
const address = (path) => new URL(path, location.href).href;
const [assets, bundle, ...drivers] = ["pyodide/", "files.zip", "exercise_run.py"].map(address);
worker.postMessage({ kind: "start", assets, bundle, drivers });
window.judge = (job) => { delete window.done; worker.postMessage({ id: 1, job }); };
</script>"""
KEYS = "check/keys"


def exercises(chapter):
    """The exercises of a chapter that need no PyTorch."""
    package = f"autograder.exercises.{number_and_word(chapter)[1]}"
    for name in exercise_names(chapter):
        try:
            found = getattr(importlib.import_module(f"{package}.{name}"), name)
        except ModuleNotFoundError as missing:
            if missing.name != "torch":
                raise
            continue
        if not isinstance(found.reference, type):
            yield found


def blank(*arguments, **named):
    """What a stub does."""
    raise NotImplementedError


def run(job):
    """What each known answer of a chapter is told.

    Args:
        job: dict with a "chapter", and a folder of "keys".

    Returns:
        dict, "EXERCISE/ANSWER" -> points, kind of verdict, its case, names of the mistakes.
    """
    found = {}
    for each in exercises(job["chapter"]):
        its_key = key.load(Path(job["keys"], f"{each.name}.npz"))
        answers = {"reference": each.reference, "stub": blank, **each.equivalents}
        answers |= {slug: function for slug, (_, function) in each.mistakes.items()}
        for name, function in answers.items():
            result = tried(function, its_key).result
            verdict = result.verdict.kind if result.verdict else "passed"
            names = [mistake.name for mistake in result.mistakes]
            found[f"{each.name}/{name}"] = [result.earned, verdict, result.case, names]
    return found


def prepare(folder, chapters, keys):
    """Put a page that judges answers into a folder, and the chapters' public keys into another."""
    from autograder.authoring.make_key import PUBLIC_SEED, full_key
    from book.live import assets
    from book.live.built_files import LOCK, lock_of_pyodide

    for chapter in chapters:
        for each in exercises(chapter):
            key.save(full_key(each, PUBLIC_SEED), keys / f"{each.name}.npz")
    with zipfile.ZipFile(folder / "files.zip", "w") as archive:
        for file in sorted({file for pattern in SHIPPED for file in HOUSE.glob(pattern)}):
            archive.write(file, file.relative_to(HOUSE))
        for file in keys.iterdir():
            archive.write(file, f"{KEYS}/{file.name}")
    (folder / "index.html").write_text(PAGE)
    (folder / "worker.js").write_bytes((HOUSE / "book" / "live" / "in_page" / "worker.js").read_bytes())
    (folder / "exercise_run.py").write_bytes(Path(__file__).read_bytes())
    (folder / "pyodide").mkdir()
    for name, path in assets.files().items():
        (folder / "pyodide" / name).write_bytes(path.read_bytes())
    (folder / "pyodide" / LOCK).write_bytes(lock_of_pyodide(assets.files()))


def compared(browser, chapters):
    """For each chapter: its name, what is judged here, and what the browser judges.

    browser: a tests.browsers.devtools.Browser.
    """
    from unittest.mock import patch

    from book.serve import serving

    # In the browser the keys stand in the folder of `check`, where it looks by itself.
    with tempfile.TemporaryDirectory() as place, patch.dict(os.environ, {FOLDER: place}):
        folder, keys = Path(place, "site"), Path(place, "keys")
        folder.mkdir(), keys.mkdir()
        prepare(folder, chapters, keys)
        with serving(folder) as address:
            browser.open(f"{address}/index.html")
            _wait(browser, "ready", seconds=120)
            for chapter in chapters:
                here = run({"chapter": chapter, "keys": str(keys)})
                browser.evaluate(f"judge({json.dumps({'chapter': chapter, 'keys': f'/course/{KEYS}'})})")
                _wait(browser, "done", seconds=600)
                yield chapter, here, browser.evaluate("window.done.answer")


def _wait(browser, kind, seconds):
    """Wait for a message of the worker's. AssertionError: Python broke in the browser."""
    browser.wait(f"window.{kind} || window.broken", seconds=seconds)
    broken = browser.evaluate("window.broken?.text")
    assert broken is None, broken


def main():
    sys.path.insert(0, str(HOUSE))
    from autograder.house import chapter_names
    from book.forms.pdf import find_browser
    from tests.browsers.devtools import Browser

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all if none is named")
    chapters = parser.parse_args().chapters or chapter_names()
    total = differ = 0
    with Browser(find_browser()) as browser:
        for chapter, here, there in compared(browser, chapters):
            other = {
                name: (here.get(name), there.get(name)) for name in here | there if here.get(name) != there.get(name)
            }
            print(f"{chapter}: {len(here) - len(other)} of {len(here)} answers are judged alike", flush=True)
            for name, (mine, browsers) in other.items():
                print(f"  {name}: here {mine}, in the browser {browsers}")
            total, differ = total + len(here), differ + len(other)
    print(f"{total - differ} of {total} alike")
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
