"""Make the zip files for readers who study on their own: released bundles without the solutions of the book.

Each chapter's page offers its own, with the answer keys of the release. The file with all chapters has other keys.
"""

import ast
import importlib
import inspect
import json
import zipfile
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path

from autograder.authoring.answer_key_cache import cached_key
from autograder.authoring.exercise import Exercise
from autograder.authoring.make_key import full_key
from autograder.chapter.chapter import Chapter, read_chapter
from autograder.layout import chapter_names, solution_modules
from autograder.release.cell_needs import imports
from autograder.release.gate import Secrets, secrets_of_book
from autograder.release.lending import exercises_of_book, lent_files, lent_helpers
from autograder.version import version
from check.key import to_bytes

SEED = 1706_03762  # public, as the seed of a release is; readers without a class get different numbers from a class
KEYS = "check/keys"
HELPERS = "solutions/helpers.json"
README = """\
{title}
{underline}
1. Install what the notebooks need, in this folder (Python 3.11 or newer; `python3 --version` shows yours):
     Linux, macOS:  python3 -m venv .venv ; .venv/bin/pip install -r requirements.txt
     Windows:       py -m venv .venv & .venv\\Scripts\\pip install -r requirements.txt
2. Open them:       .venv/bin/jupyter lab     (Windows: .venv\\Scripts\\jupyter lab), and begin with 01_attention.ipynb.
3. Replace each `raise NotImplementedError`, run the cell, and run the check(...) below it.
4. If a check fails, reread the section of the notebook that it names.
5. Keep all notebooks in this folder: a later one uses the functions that you wrote in the earlier ones.
A coding agent that you open in this folder reads AGENTS.md, which asks it to explain and to write no exercise.
PyTorch is optional: the few cells that compare with it tell you if it is missing.
"""
README_ON_LENDING = """
If you are stuck, borrow the book's own function and come back later. Write into the cell of the exercise, for example:
     from solutions.lent.backward import linear_backward
The folder solutions/lent has one file for each chapter.
"""
OWN_SOLUTIONS = Path(__file__).with_name("in_page") / "own_solutions.py"


def study_files(files: dict[str, bytes], chapter: Chapter) -> dict[str, bytes]:
    """Return a chapter's bundle for studying alone, path -> content, from the released one of the same form.

    The reader's own functions replace the solutions of earlier chapters.
    """
    secret = {f"solutions/{name}.py" for name, number in solution_modules().items() if number is not None}
    public = {path: content for path, content in files.items() if path not in secret}
    return public | {
        "solutions/__init__.py": OWN_SOLUTIONS.read_bytes(),
        HELPERS: json.dumps(helper_functions(chapter), sort_keys=True).encode(),
    }


def read_late(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a chapter's bundle that a page need not load before an exercise or a cell reads them.

    These are answer keys and other data, and the notebook, which no page reads.
    """
    return {path: content for path, content in files.items() if path.endswith((".npz", ".ipynb"))}


def with_other_keys(files: dict[str, bytes], exercises: Iterable[Exercise]) -> dict[str, bytes]:
    """Return a chapter's bundle for studying alone with keys from SEED instead of the released ones."""
    for exercise in exercises:
        name = f"{exercise.reference.__module__}.{exercise.name}.{SEED}"
        key = cached_key(name, partial(full_key, exercise, SEED))
        files = files | {f"{KEYS}/{exercise.name}.npz": to_bytes(key)}
    return files


def all_chapters(bundles: Iterable[dict[str, bytes]], last_lent: int) -> dict[str, bytes]:
    """Return path -> content of all chapters in one folder, from their bundles of the same form.

    last_lent: number of the last chapter whose solutions the book lends; 0 for none.
    """
    lent, helpers = lent_files(last_lent), lent_helpers(last_lent)
    requirements: set[str] = set()
    whole: dict[str, bytes] = {}
    for files in bundles:
        helpers = helpers | json.loads(files[HELPERS])
        requirements |= set(files["requirements.txt"].decode().splitlines(keepends=True))
        whole |= files
    return (
        whole
        | lent
        | {
            HELPERS: json.dumps(helpers, sort_keys=True).encode(),
            "requirements.txt": "".join(sorted(requirements)).encode(),
            "README.txt": (_readme() + (README_ON_LENDING if lent else "")).encode(),
        }
    )


def _readme() -> str:
    title = f"The Transformer by Hand {version()}: all chapters, for studying alone"
    return README.format(title=title, underline="=" * len(title))


def helper_functions(chapter: Chapter) -> dict[str, str]:
    """Return name -> source of the book's functions that this chapter's setup, or an earlier one's, imports.

    Exercises, functions that would give away a solution, and functions that an earlier chapter gives are left out: the
    reader has those. Earlier setups count because a reader's functions of an earlier chapter use what that chapter's
    setup imports.
    """
    earlier = [read_chapter(name) for name in chapter_names() if name < chapter.name]
    origins = [origin for one in (*earlier, chapter) for _, origin in imports(ast.parse(one.setup))]
    of_reader = exercises_of_book().union(*(one.given_functions for one in earlier))
    secret = {f"solutions.{module}" for module, number in solution_modules().items() if number is not None}
    sources = {
        name: inspect.getsource(getattr(importlib.import_module(module), name))
        for module, name in origins
        if module in secret and name and name not in of_reader
    }
    return {name: source for name, source in sources.items() if not _secrets().solutions.find(source)}


@cache
def _secrets() -> Secrets:
    return secrets_of_book()


def unzipped(path: Path) -> dict[str, bytes]:
    """Return path -> content of a zip file."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
