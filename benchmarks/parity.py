"""Compare the verdicts of the browser with those of grading, for every known answer.

    python benchmarks/parity.py [CHAPTER ...]

The known answers of an exercise are its reference, its stub, its known mistakes and its right rewrites. Python on this
machine and Python in Chromium judge them with the same public keys. Exercises in PyTorch are left out, because PyTorch
does not run in a browser. The benchmark prints the answers whose verdicts differ, and then exits with code 1.

This file also runs in the browser, where only NumPy, `check` and the exercises can be imported.
"""

import argparse
import importlib
import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

from autograder.layout import REPO, exercise_names, number_and_word
from check import key
from check.bundle_data import FOLDER
from check.checking import tried

SHIPPED = ("autograder/__init__.py", "autograder/errors.py", "autograder/layout.py", "check/*.py", "solutions/*.py")
SHIPPED += ("autograder/authoring/**/*.py", "autograder/exercises/**/*.py", "chapters/[0-9]*.md")
PAGE = """<!DOCTYPE html><title>Parity</title><script type="module">
const worker = new Worker("worker.js", { type: "module" });
worker.onmessage = ({ data }) => { window[data.kind] = data; };
const address = (path) => new URL(path, location.href).href;
const [assets, bundle, ...drivers] = ["pyodide/", "files.zip", "exercise_run.py", "steps.py"].map(address);
worker.postMessage({ kind: "start", assets, bundle, drivers });
window.judge = (job) => { delete window.done; worker.postMessage({ id: 1, job }); };
</script>"""
KEYS = "check/keys"


def exercises(chapter):
    """Yield the exercises of a chapter that do not need PyTorch."""
    package = f"autograder.exercises.{number_and_word(chapter)[1]}"
    for name in exercise_names(chapter):
        try:
            exercise = getattr(importlib.import_module(f"{package}.{name}"), name)
        except ModuleNotFoundError as missing:
            if missing.name != "torch":
                raise
            continue
        if not isinstance(exercise.reference, type):
            yield exercise


def blank(*arguments, **named):
    """Raise NotImplementedError, as a stub does."""
    raise NotImplementedError


def run(job):
    """Judge each known answer of a chapter.

    Args:
        job: dict with a "chapter" and the folder of its "keys".

    Returns:
        dict "EXERCISE/ANSWER" -> [points, kind of verdict, case of the verdict, names of the mistakes].
    """
    verdicts = {}
    for exercise in exercises(job["chapter"]):
        exercise_key = key.load(Path(job["keys"], f"{exercise.name}.npz"))
        answers = {"reference": exercise.reference, "stub": blank, **exercise.equivalents}
        answers |= {slug: function for slug, (_, function) in exercise.mistakes.items()}
        for name, function in answers.items():
            result = tried(function, exercise_key, exercise.tested_functions).result
            verdict = result.verdict.kind if result.verdict else "passed"
            names = [mistake.name for mistake in result.mistakes]
            verdicts[f"{exercise.name}/{name}"] = [result.earned, verdict, result.case, names]
    return verdicts


def prepare(folder, chapters, keys):
    """Write a page that judges answers into a folder, and the chapters' public keys into the folder `keys`."""
    from autograder.authoring.make_key import PUBLIC_SEED, full_key
    from book.live import assets
    from book.live.built_files import python_files

    for chapter in chapters:
        for exercise in exercises(chapter):
            key.save(full_key(exercise, PUBLIC_SEED), keys / f"{exercise.name}.npz")
    with zipfile.ZipFile(folder / "files.zip", "w") as archive:
        for file in sorted({file for pattern in SHIPPED for file in REPO.glob(pattern)}):
            archive.write(file, file.relative_to(REPO))
        for file in keys.iterdir():
            archive.write(file, f"{KEYS}/{file.name}")
    (folder / "index.html").write_text(PAGE)
    for name in ("worker.js", "steps.py"):
        (folder / name).write_bytes((REPO / "book" / "live" / "in_page" / name).read_bytes())
    (folder / "exercise_run.py").write_bytes(Path(__file__).read_bytes())
    (folder / "pyodide").mkdir()
    for name, content in python_files(assets.files()).items():
        (folder / "pyodide" / name).write_bytes(content)


def compared(browser, chapters):
    """Yield for each chapter: its name, the verdicts of this machine, and those of the browser.

    browser: a tests.browsers.devtools.Browser.
    """
    from unittest.mock import patch

    from book.serve import serving

    # In the browser the keys are in the folder of `check`, where `check` looks for them by default.
    with tempfile.TemporaryDirectory() as temporary, patch.dict(os.environ, {FOLDER: temporary}):
        folder, keys = Path(temporary, "site"), Path(temporary, "keys")
        folder.mkdir(), keys.mkdir()
        prepare(folder, chapters, keys)
        with serving(folder) as address:
            browser.open(f"{address}/index.html")
            _wait(browser, "ready", seconds=600)
            for chapter in chapters:
                here = run({"chapter": chapter, "keys": str(keys)})
                browser.evaluate(f"judge({json.dumps({'chapter': chapter, 'keys': f'/course/{KEYS}'})})")
                _wait(browser, "done", seconds=600)
                yield chapter, here, browser.evaluate("window.done.answer")


def _wait(browser, kind, seconds):
    """Wait for a message of the worker. Raise AssertionError if Python broke in the browser."""
    browser.wait(f"window.{kind} || window.broken", seconds=seconds)
    broken = browser.evaluate("window.broken?.text")
    assert broken is None, broken


def main():
    sys.path.insert(0, str(REPO))
    from autograder.layout import chapter_names
    from book.forms.pdf import find_browser
    from tests.browsers.devtools import Browser

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all chapters if you name none")
    chapters = parser.parse_args().chapters or chapter_names()
    total = differ = 0
    with Browser(find_browser()) as browser:
        for chapter, here, in_browser in compared(browser, chapters):
            different = [name for name in here | in_browser if here.get(name) != in_browser.get(name)]
            print(f"{chapter}: {len(here) - len(different)} of {len(here)} answers get the same verdict", flush=True)
            for name in different:
                print(f"  {name}: here {here.get(name)}, in the browser {in_browser.get(name)}")
            total, differ = total + len(here), differ + len(different)
    print(f"{total - differ} of {total} answers get the same verdict")
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
