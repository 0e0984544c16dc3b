"""Whether the cells of the chapters run in a page, for a reader who has solved every exercise.

    python benchmarks/cells.py [CHAPTER ...]

Every cell that a page lets one try is run by Python here and by Python in Chromium, beneath the cells above it and the
reference solutions, which are given as a reader's answers. It prints which cells fail, which print or draw something
else there, and how long they take; and ends with 1 if any fails in the browser. Timings print something else each time.
"""

import argparse
import contextlib
import importlib
import inspect
import json
import re
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
IN_PAGE = ROOT / "book" / "live" / "in_page"
ABSENT = "torch", "num2words", "sacrebleu"  # from a page, and so here
PAGE = """<!DOCTYPE html><title>Cells</title><script type="module">
const worker = new Worker("worker.js", { type: "module" });
worker.onmessage = ({ data }) => { window[data.kind] = data; };
const address = (path) => new URL(path, location.href).href;
const [assets, bundle, ...drivers] = ["pyodide/", "files.zip", "own_solutions.py", "exercise_run.py"].map(address);
worker.postMessage({ kind: "start", assets, bundle, drivers });
window.ask = (job) => { delete window.done; worker.postMessage({ id: 1, job, tried: true }); };
</script>"""


def solved(name):
    """Name -> cell of each exercise of a chapter, as a reader writes it who has solved it."""
    from autograder.chapter.chapter import read_chapter
    from autograder.chapter.targets import read_targets
    from autograder.release.notebook import source_notebook

    notebook = source_notebook(read_chapter(name), read_targets(ROOT / "chapters"), {})
    about = [(cell.metadata.nbgrader, cell.source) for cell in notebook.cells]
    return {its.grade_id: source for its, source in about if its.solution}


def helpers(sources):
    """Name -> source of what solutions import from each other, and no reader would."""
    found = {}
    for module, names in re.findall(r"^ *from (solutions\.\w+) import (.+)$", "\n".join(sources), re.MULTILINE):
        for name in names.split(", "):
            found[name] = "import math\n" + inspect.getsource(getattr(importlib.import_module(module), name))
    return found


def jobs(name):
    """For each cell that can be tried: its line in the chapter's file, the job for it, names of those that cannot."""
    from autograder.chapter.chapter import read_chapter
    from autograder.house import chapter_names
    from book.live.given_cells import given_cells, is_class
    from book.live.self_study import given_functions, setup_of

    chapter = read_chapter(name)
    functions, earlier = given_functions(chapter), []
    for other in chapter_names():
        if other < name:
            theirs = solved(other)
            their_setup = setup_of(read_chapter(other))
            earlier.append(
                {"number": int(other[:2]), "setup": their_setup, "names": [*theirs], "cells": [*theirs.items()]}
            )
    answers, above, cannot = solved(name), [], set()
    brought = helpers([source for chapter in earlier for _, source in chapter["cells"]] + [*answers.values()])
    told = iter(given_cells(chapter, set(functions)))
    for cell in chapter.cells:
        if cell.part == "exercise":
            each = next(each for each, stub in chapter.stubs.items() if stub == cell.source)
            if not is_class(cell.source):  # a module of PyTorch's, which is not on a page
                above.append((each, answers[each]))
        elif cell.part in ("setup", "demo"):
            above.append((f"cell-{len(above)}", cell.source))
            its = next(told)
            if "lacks" in its:
                cannot.add(above[-1][0])
            else:
                rests = [each for each in its.get("rests", ()) if each in answers]
                yield (
                    cell.line,
                    {"cells": [*above], "rests": rests, "given": brought | functions, "earlier": earlier},
                    cannot,
                )


def compared(browser, name):
    """For each cell of a chapter that can be tried: its line, what it comes to here and in the browser, seconds there.

    browser: a tests.browsers.devtools.Browser.
    """
    import figures  # noqa: F401  what is imported for the first time below is forgotten there

    from autograder.chapter.chapter import read_chapter
    from autograder.chapter.targets import read_targets
    from autograder.release.publish import released_files
    from book.live import assets
    from book.live.built_files import LOCK, lock_of_pyodide
    from book.live.in_page import cell_run
    from book.live.self_study import study_files, zipped
    from book.serve import serving

    chapter, tried = read_chapter(name), list(jobs(name))
    files = study_files(released_files(chapter, read_targets(ROOT / "chapters")), chapter)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        contents = {"index.html": PAGE.encode(), "files.zip": zipped(files)}
        contents |= {file.name: file.read_bytes() for file in (IN_PAGE / "worker.js", *IN_PAGE.glob("*.py"))}
        python = assets.files()
        contents |= {f"pyodide/{file}": path.read_bytes() for file, path in python.items()}
        contents[f"pyodide/{LOCK}"] = lock_of_pyodide(python)
        (folder / "pyodide").mkdir()
        for path, data in contents.items():
            (folder / path).write_bytes(data)
        zipfile.ZipFile(folder / "files.zip").extractall(folder / "course")
        with serving(folder) as address:
            browser.open(f"{address}/index.html")
            browser.wait("window.ready || window.broken", seconds=120)
            for line, job, cannot in tried:
                before = time.monotonic()
                browser.evaluate(f"ask({json.dumps(job)})")
                browser.wait("window.done || window.broken", seconds=600)
                taken = time.monotonic() - before
                broken = browser.evaluate("window.broken?.text")
                assert broken is None, broken
                # Where `solutions` are the house's own, they would be taken.
                with mock.patch.dict(sys.modules, dict.fromkeys(ABSENT)), contextlib.chdir(folder / "course"):
                    here = cell_run.run(job)
                answers = here, browser.evaluate("window.done.answer")
                for answer in answers:
                    answer["broken"] = [each for each in answer["broken"] if each not in cannot]
                yield line, *answers, taken


def main():
    sys.path[:0] = [str(ROOT), str(ROOT / "chapters")]
    from autograder.house import chapter_names
    from book.forms.pdf import find_browser
    from tests.browsers.devtools import Browser

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all if none is named")
    failed = 0
    for name in parser.parse_args().chapters or chapter_names():
        with Browser(find_browser()) as browser:
            found = list(compared(browser, name))
        for line, here, there, _ in found:
            wrong = {side: told for side, told in (("here", here), ("in the browser", there)) if not runs(told)}
            for side, told in wrong.items():
                print(f"  line {line}, {side}: {told['error'] or told['waits'] or told['broken']}")
            failed += "in the browser" in wrong
            if not wrong and said(here) != said(there):
                print(f"  line {line}: here {said(here)}, in the browser {said(there)}"[:500])
        alike = sum(said(here) == said(there) for _, here, there, _ in found)
        slowest = max(taken for *_, taken in found)
        print(f"{name}: {len(found)} cells, {alike} say the same; the slowest takes {slowest:.1f} s", flush=True)
    return 1 if failed else 0


def runs(told):
    """Whether a cell, and all above it, came to its end."""
    return not (told["error"] or told["waits"] or told["broken"])


def said(told):
    """What a reader reads of an answer: numbers and words, and the text of a figure; but no place on the paper."""
    return told["out"], told["value"], re.findall(r'aria-label="([^"]*)"', told["html"])


if __name__ == "__main__":
    raise SystemExit(main())
