"""Bundles for whoever studies by the book alone: the released ones, without a solution of the book.

Each chapter's page has its own, with the keys of the release; all of them together have keys of their own.
"""

import importlib
import inspect
import json
import re
import tempfile
import zipfile
from functools import cache, partial
from pathlib import Path

from autograder.authoring.exercise import exercises_of
from autograder.authoring.kept_keys import kept
from autograder.authoring.make_key import key_of
from autograder.chapter.chapter import read_chapter
from autograder.house import chapter_names, solution_modules
from autograder.release import bundle
from autograder.release.gate import secrets_of_book
from check import key

SEED = 1706_03762  # public, as that of the release is: whoever studies alone sees other numbers than a class
KEYS = "check/keys"
GIVEN = "solutions/given.json"
README = """\
The Transformer by Hand: all chapters, to study alone
=====================================================
1. Install what the notebooks need, in this folder (Python 3.11 or newer; `python3 --version` says yours):
     Linux, macOS:  python3 -m venv .venv ; .venv/bin/pip install -r requirements.txt
     Windows:       py -m venv .venv & .venv\\Scripts\\pip install -r requirements.txt
2. Open them:       .venv/bin/jupyter lab     (Windows: .venv\\Scripts\\jupyter lab), and begin with 01_attention.ipynb.
3. Replace each `raise NotImplementedError`, run the cell, and press check(...) below it.
4. Where a check stays red, read again the section of the notebook that it names.
5. Keep all notebooks in this folder: a later one uses the functions that you wrote in the earlier ones.
PyTorch is optional: a few cells compare with it, and say so where it is missing.
"""
OWN = Path(__file__).with_name("in_page") / "own_solutions.py"


def study_files(files, chapter):
    """Path -> content of a chapter's bundle for whoever studies by the book alone.

    It is the released one, but for the solutions of earlier chapters: a reader's own functions take their place.
    """
    secret = {f"solutions/{name}.py" for name, number in solution_modules().items() if number is not None}
    kept = {path: content for path, content in files.items() if path not in secret}
    return kept | {
        "solutions/__init__.py": OWN.read_bytes(),
        GIVEN: json.dumps(given(chapter), sort_keys=True).encode(),
    }


def with_keys_of_its_own(files, exercises):
    """A chapter's bundle for self-study, path -> content, with keys from SEED in place of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "key.npz")
        for exercise in exercises:
            name = f"{exercise.reference.__module__}.{exercise.name}.{SEED}"
            key.save(kept(name, partial(key_of, exercise, SEED)), place)
            files = files | {f"{KEYS}/{exercise.name}.npz": place.read_bytes()}
    return files


def together(bundles):
    """Path -> content of all chapters in one folder, from a list of their bundles as dicts of the same form."""
    functions, lines, whole = {}, set(), {}
    for files in bundles:
        functions |= json.loads(files[GIVEN])
        lines |= set(files["requirements.txt"].decode().splitlines(keepends=True))
        whole |= files
    return whole | {
        GIVEN: json.dumps(functions, sort_keys=True).encode(),
        "requirements.txt": "".join(sorted(lines)).encode(),
        "README.txt": README.encode(),
    }


def unzipped(path):
    """Path -> content of a zip file."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


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
