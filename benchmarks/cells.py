"""Run the cells of the chapters in a page, for a reader who has solved every exercise.

    python benchmarks/cells.py [CHAPTER ...]

The benchmark runs each cell that readers can try in a page, once with Python on this machine and once with Python in
Chromium, below the cells above it, and with the reference solutions as the reader's answers. It prints which cells
fail, which print or draw something else in the browser, and how long they take. The exit code is 1 if a cell fails in
the browser. A cell that prints timings never prints the same twice.
"""

import argparse
import contextlib
import importlib
import inspect
import json
import os
import re
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
IN_PAGE = ROOT / "book" / "live" / "in_page"
ABSENT = "torch", "sacrebleu"  # a page has no such package, so this machine's run gets none either
PAGE = """<!DOCTYPE html><title>Cells</title><script type="module">
const worker = new Worker("worker.js", { type: "module" });
worker.onmessage = ({ data }) => { window[data.kind] = data; };
const address = (path) => new URL(path, location.href).href;
const drivers = ["own_solutions.py", "exercise_run.py", "steps.py"].map(address);
const [assets, bundle] = ["pyodide/", "files.zip"].map(address);
worker.postMessage({ kind: "start", assets, bundle, drivers });
window.ask = (job) => { delete window.done; worker.postMessage({ id: 1, job, tried: true }); };
</script>"""


def solved(name):
    """Return exercise -> the source of its cell with the reference solution, for all exercises of a chapter."""
    from autograder.chapter.chapter import read_chapter
    from autograder.chapter.targets import read_targets
    from autograder.release.notebook import source_notebook

    notebook = source_notebook(read_chapter(name), read_targets(ROOT / "chapters"), {})
    cells = [(cell.metadata.nbgrader, cell.source) for cell in notebook.cells]
    return {metadata.grade_id: source for metadata, source in cells if metadata.solution}


def helpers(sources):
    """Return name -> source of the functions that solutions import from each other, and a reader's answers do not."""
    functions = {}
    for module, names in re.findall(r"^ *from (solutions\.\w+) import (.+)$", "\n".join(sources), re.MULTILINE):
        for name in names.split(", "):
            functions[name] = "import math\n" + inspect.getsource(getattr(importlib.import_module(module), name))
    return functions


def earlier_chapters(name):
    """Return the chapters before this one, as a Reader takes them, all solved."""
    from autograder.chapter.chapter import read_chapter
    from autograder.layout import chapter_names
    from book.live.self_study import setup_of

    chapters = []
    for earlier in chapter_names():
        if earlier < name:
            answers = solved(earlier)
            setup = setup_of(read_chapter(earlier))
            chapters.append(
                {"number": int(earlier[:2]), "setup": setup, "names": [*answers], "cells": [*answers.items()]}
            )
    return chapters


def jobs(name):
    """Yield for each cell that can be tried: its line in the chapter's file, its job, and the cells that cannot run."""
    from autograder.chapter.chapter import read_chapter
    from book.live.given_cells import given_cells, is_class
    from book.live.self_study import given_functions

    chapter, earlier = read_chapter(name), earlier_chapters(name)
    functions = given_functions(chapter)
    answers, above, cannot_run = solved(name), [], set()
    imported = helpers([source for chapter in earlier for _, source in chapter["cells"]] + [*answers.values()])
    descriptions = iter(given_cells(chapter, set(functions)))
    for cell in chapter.cells:
        if cell.part == "exercise":
            exercise = next(name for name, stub in chapter.stubs.items() if stub == cell.source)
            if not is_class(cell.source):  # a class is a module of PyTorch, which a page does not have
                above.append((exercise, answers[exercise]))
        elif cell.part in ("setup", "demo"):
            above.append((f"cell-{len(above)}", cell.source))
            description = next(descriptions)
            if "lacks" in description:
                cannot_run.add(above[-1][0])
            else:
                rests = [exercise for exercise in description.get("rests", ()) if exercise in answers]
                job = {"cells": [*above], "rests": rests, "given": imported | functions, "earlier": earlier}
                yield cell.line, job, cannot_run


def write_site(folder, chapter):
    """Write a page that runs jobs into a folder, and the chapter's files for study into its folder "course"."""
    from autograder.chapter.targets import read_targets
    from autograder.release.build import released_files
    from book.live import assets
    from book.live.built_files import python_files
    from book.live.self_study import study_files, zipped

    files = study_files(released_files(chapter, read_targets(ROOT / "chapters")), chapter)
    contents = {"index.html": PAGE.encode(), "files.zip": zipped(files)}
    contents |= {file.name: file.read_bytes() for file in (IN_PAGE / "worker.js", *IN_PAGE.glob("*.py"))}
    contents |= {f"pyodide/{file}": data for file, data in python_files(assets.files()).items()}
    (folder / "pyodide").mkdir()
    for path, data in contents.items():
        (folder / path).write_bytes(data)
    zipfile.ZipFile(folder / "files.zip").extractall(folder / "course")


def compared(browser, name):
    """Yield for each cell of a chapter that can be tried: line, answer here, answer in the browser, seconds there.

    browser: a tests.browsers.devtools.Browser.
    """
    import figures  # noqa: F401  modules that are first imported below are forgotten after each run

    from autograder.chapter.chapter import read_chapter
    from book.live.in_page import cell_run
    from book.serve import serving
    from check.bundle_data import FOLDER

    tried = list(jobs(name))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_site(folder, read_chapter(name))
        course = folder / "course"
        absent = mock.patch.dict(sys.modules, dict.fromkeys(ABSENT))
        # In the browser `check` finds its data in its own folder. Here it is the repository's `check`, without data.
        data = mock.patch.dict(os.environ, {FOLDER: str(course / "check")})
        with serving(folder) as address:
            browser.open(f"{address}/index.html")
            browser.wait("window.ready || window.broken", seconds=600)
            for line, job, cannot_run in tried:
                started = time.monotonic()
                browser.evaluate(f"ask({json.dumps(job)})")
                browser.wait("window.done || window.broken", seconds=600)
                seconds = time.monotonic() - started
                broken = browser.evaluate("window.broken?.text")
                assert broken is None, broken
                # Outside the course's folder, Python would import the repository's own `solutions`.
                with absent, data, contextlib.chdir(course):
                    here = cell_run.run(job)
                answers = here, browser.evaluate("window.done.answer")
                for answer in answers:
                    answer["broken"] = [cell for cell in answer["broken"] if cell not in cannot_run]
                yield line, *answers, seconds


def main():
    sys.path[:0] = [str(ROOT), str(ROOT / "chapters")]
    from autograder.layout import chapter_names
    from book.forms.pdf import find_browser
    from tests.browsers.devtools import Browser

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all chapters if you name none")
    failures = 0
    for name in parser.parse_args().chapters or chapter_names():
        with Browser(find_browser()) as browser:
            runs = list(compared(browser, name))
        for line, here, in_browser, _ in runs:
            sides = {"here": here, "in the browser": in_browser}
            failed = {side: answer for side, answer in sides.items() if not succeeded(answer)}
            for side, answer in failed.items():
                print(f"  line {line}, {side}: {answer['error'] or answer['waits'] or answer['broken']}")
            failures += "in the browser" in failed
            if not failed and shown(here) != shown(in_browser):
                print(f"  line {line}: here {shown(here)}, in the browser {shown(in_browser)}"[:500])
        same = sum(shown(here) == shown(in_browser) for _, here, in_browser, _ in runs)
        slowest = max(seconds for *_, seconds in runs)
        print(f"{name}: {len(runs)} cells, {same} show the same; the slowest takes {slowest:.1f} s", flush=True)
    return 1 if failures else 0


def succeeded(answer):
    """Return whether a cell, and all cells above it, ran to the end."""
    return not (answer["error"] or answer["waits"] or answer["broken"])


def shown(answer):
    """Return what a reader reads in an answer: numbers, words and the texts of figures, without positions."""
    return answer["out"], answer["value"], re.findall(r'aria-label="([^"]*)"', answer["html"])


if __name__ == "__main__":
    raise SystemExit(main())
