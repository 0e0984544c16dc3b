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
import io
import os
import re
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent


def solved(name):
    """Return exercise -> the source of its cell with the reference solution, for all exercises of a chapter."""
    from autograder.chapter.chapter import read_chapter
    from autograder.chapter.targets import read_targets
    from autograder.release.notebook import source_notebook

    notebook = source_notebook(read_chapter(name), read_targets(ROOT / "chapters"), {})
    cells = [(cell.metadata.nbgrader, cell.source) for cell in notebook.cells]
    return {metadata.grade_id: source for metadata, source in cells if metadata.solution}


def helpers(sources):
    """Return name -> source of the functions that solutions import from each other but that a reader's answers lack."""
    functions = {}
    for module, names in re.findall(r"^ *from (solutions\.\w+) import (.+)$", "\n".join(sources), re.MULTILINE):
        for name in names.split(", "):
            functions[name] = "import math\n" + inspect.getsource(getattr(importlib.import_module(module), name))
    return functions


def earlier_chapters(name):
    """Return the chapters before this one, as a Reader takes them, all solved."""
    from autograder.chapter.chapter import read_chapter
    from autograder.layout import chapter_names

    chapters = []
    for earlier in chapter_names():
        if earlier < name:
            answers = solved(earlier)
            setup = read_chapter(earlier).setup
            chapters.append(
                {"number": int(earlier[:2]), "setup": setup, "names": [*answers], "cells": [*answers.items()]}
            )
    return chapters


def jobs(name):
    """Yield for each cell that can be tried: its line in the chapter's file, its job, and the cells that cannot run."""
    from autograder.chapter.chapter import GIVEN, read_chapter
    from book.live.page_needs import given_cells, is_class
    from book.live.self_study import helper_functions

    chapter, earlier = read_chapter(name), earlier_chapters(name)
    functions = helper_functions(chapter)
    answers, above, cannot_run = solved(name), [], set()
    imported = helpers([source for chapter in earlier for _, source in chapter["cells"]] + [*answers.values()])
    descriptions = iter(given_cells(chapter, set(functions)))
    for cell in chapter.cells:
        if cell.part == "exercise":
            exercise = next(name for name, stub in chapter.stubs.items() if stub == cell.source)
            if not is_class(cell.source):  # a class is a module of PyTorch, which a page does not have
                above.append((exercise, answers[exercise]))
        elif cell.part in ("setup", *GIVEN):
            above.append((f"cell-{len(above)}", cell.source))
            description = next(descriptions)
            if "lacks" in description or cell.part == "hand-in":  # only an unzipped chapter knows what to hand in
                cannot_run.add(above[-1][0])
            else:
                rests = [exercise for exercise in description.get("rests", ()) if exercise in answers]
                job = {"cells": [*above], "rests": rests, "helpers": imported | functions, "earlier": earlier}
                yield cell.line, job, cannot_run


def study_bundle(chapter):
    """Return the zip file of a chapter's files for study."""
    from autograder.chapter.targets import read_targets
    from autograder.release.build import released_files
    from autograder.release.bundle import zipped
    from book.live.self_study import study_files

    return zipped(study_files(released_files(chapter, read_targets(ROOT / "chapters")), chapter))


def compared(browser, name):
    """Yield for each cell of a chapter that can be tried: line, answer here, answer in the browser, seconds there.

    browser: a tests.browsers.devtools.Browser.
    """
    import figures  # noqa: F401  modules that are first imported below are forgotten after each run

    from autograder.chapter.chapter import read_chapter
    from benchmarks.in_browser import worker
    from book.live.in_page import cell_run
    from check.bundle_data import FOLDER

    tried, files = list(jobs(name)), study_bundle(read_chapter(name))
    with tempfile.TemporaryDirectory() as course:
        zipfile.ZipFile(io.BytesIO(files)).extractall(course)
        absent = mock.patch.dict(sys.modules, {"torch": None})  # as in a page
        # In the browser `check` finds its data in its own folder. Here it is the repository's `check`, without data.
        data = mock.patch.dict(os.environ, {FOLDER: str(Path(course, "check"))})
        with worker(browser, files, tried=True) as ask:
            for line, job, cannot_run in tried:
                started = time.monotonic()
                in_browser = ask(job)
                seconds = time.monotonic() - started
                # Outside the course's folder, Python would import the repository's own `solutions`.
                with absent, data, contextlib.chdir(course):
                    sys.modules.pop("parity", None)  # it may have been imported with PyTorch
                    here = cell_run.run(job)
                for answer in (here, in_browser):
                    answer["broken"] = [cell for cell in answer["broken"] if cell not in cannot_run]
                yield line, here, in_browser, seconds


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
    """Whether a cell, and all cells above it, ran to the end."""
    return not (answer["error"] or answer["waits"] or answer["broken"])


def shown(answer):
    """Return what a reader reads in an answer: numbers, words and the texts of figures, without positions."""
    return answer["out"], answer["value"], re.findall(r'aria-label="([^"]*)"', answer["html"])


if __name__ == "__main__":
    raise SystemExit(main())
