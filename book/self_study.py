"""The bundle of a chapter for whoever studies by the book alone: the released one, without a solution of the book."""

import importlib
import inspect
import json
import re
import tempfile
from functools import cache
from pathlib import Path

from autograder.authoring.exercise import exercises_of
from autograder.chapter.chapter import read_chapter
from autograder.house import chapter_names, solution_modules
from autograder.release import bundle
from autograder.release.gate import secrets_of_book

OWN = Path(__file__).with_name("live") / "own.py"


def study_files(files, chapter):
    """Path -> content of a chapter's bundle for whoever studies by the book alone.

    It is the released one, but for the solutions of earlier chapters: a reader's own functions take their place.
    """
    secret = {f"solutions/{name}.py" for name, number in solution_modules().items() if number is not None}
    kept = {path: content for path, content in files.items() if path not in secret}
    return kept | {
        "solutions/__init__.py": OWN.read_bytes(),
        "solutions/given.json": json.dumps(given(chapter), sort_keys=True).encode(),
    }


def given(chapter):
    """Name -> source of the functions that a chapter's setup imports, or an earlier one's, and that give nothing away.

    What a reader wrote in an earlier chapter needs what that chapter's setup imports.
    """
    found = {}
    earlier = [read_chapter(name) for name in chapter_names() if name < chapter.name]
    setups = "\n".join(setup_of(each) for each in (*earlier, chapter))
    for module, names in re.findall(r"^from solutions\.(\w+) import (\([^)]*\)|.*)$", setups, re.MULTILINE):
        if solution_modules()[module] is not None:
            for name in re.findall(r"\w+", names):
                if name not in _every_exercise():
                    found[name] = inspect.getsource(getattr(importlib.import_module(f"solutions.{module}"), name))
    return {name: source for name, source in found.items() if not _secrets().solutions.find(source)}


def setup_of(chapter):
    """The source of a chapter's setup."""
    return "\n".join(cell.source for cell in chapter.cells if cell.part == "setup")


@cache
def _secrets():
    return secrets_of_book()


@cache
def _every_exercise():
    return {each.name for name in chapter_names() for each in exercises_of(name)}


def zipped(contents):
    """The bytes of a zip file, by path -> content; the same contents give the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        for path, content in contents.items():
            file = Path(folder, "files", path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        bundle.write_zip(Path(folder, "files"), Path(folder, "zip"))
        return Path(folder, "zip").read_bytes()
