"""Compare the verdicts of the browser with those of grading, for every known answer.

    python benchmarks/parity.py [CHAPTER ...]

The known answers of an exercise are its reference, its stub, its known mistakes and its right rewrites. Python on this
machine and Python in Chromium judge them with the same public keys. Exercises in PyTorch are left out, because PyTorch
does not run in a browser. The benchmark prints the answers whose verdicts differ, and then exits with code 1.

This file also runs in the browser. There, its imports come before a page can load rare modules of Python, so it imports
argparse and tempfile where it uses them.
"""

import importlib
import os
import sys
from pathlib import Path

from autograder.layout import REPO, exercise_names, number_and_word
from check import key
from check.bundle_data import FOLDER
from check.checking import tried

SHIPPED = ("autograder/__init__.py", "autograder/errors.py", "autograder/layout.py", "check/**/*.py", "solutions/*.py")
SHIPPED += ("autograder/authoring/**/*.py", "autograder/exercises/**/*.py", "chapters/[0-9]*.md")
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


def shipped(chapters, keys):
    """Return the zip file of what the browser needs. Write the chapters' public keys into the folder `keys`."""
    from autograder.authoring.make_key import PUBLIC_SEED, full_key
    from autograder.release.bundle import zipped

    for chapter in chapters:
        for exercise in exercises(chapter):
            key.save(full_key(exercise, PUBLIC_SEED), keys / f"{exercise.name}.npz")
    files = {file for pattern in SHIPPED for file in REPO.glob(pattern)}
    contents = {file.relative_to(REPO).as_posix(): file.read_bytes() for file in files}
    return zipped(contents | {f"{KEYS}/{file.name}": file.read_bytes() for file in keys.iterdir()})


def compared(browser, chapters):
    """Yield for each chapter: its name, the verdicts of this machine, and those of the browser.

    browser: a tests.browsers.devtools.Browser.
    """
    import tempfile
    from unittest.mock import patch

    from benchmarks.in_browser import worker

    own = {"exercise_run.py": Path(__file__).read_bytes()}
    # In the browser the keys are in the folder of `check`, where `check` looks for them by default.
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {FOLDER: folder}):
        keys = Path(folder, "keys")
        keys.mkdir()
        files = shipped(chapters, keys)
        with worker(browser, files, own) as ask:
            for chapter in chapters:
                here = run({"chapter": chapter, "keys": str(keys)})
                yield chapter, here, ask({"chapter": chapter, "keys": f"/course/{KEYS}"})


def main():
    import argparse

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
