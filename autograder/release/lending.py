"""Decide which of the book's own solutions the pages lend to a reader who is stuck.

The publisher chooses in `_config.yml`, in the entry `lend` of Sphinx's configuration:

    lend: nothing      the default: a class still works on the exercises
    lend: through 3    the solutions of chapters 1 to 3, whose deadlines have passed
    lend: all          a book for readers who study alone
"""

import ast
import json
import re
from collections.abc import Set
from functools import cache
from pathlib import Path

import yaml

from autograder.chapter.chapter import given_functions, text_of
from autograder.errors import UserError
from autograder.layout import REPO, chapter_names, exercise_names, number_and_word, solution_modules

PACKAGE = "solutions.lent"
FOLDER = "solutions/lent"


def last_lent_chapter(choice: object) -> int:
    """Return the number of the last chapter whose solutions are lent, 0 for none.

    Raises UserError if `choice` is not one of the three forms.
    """
    last = max(number_and_word(name)[0] for name in chapter_names())
    if choice == "nothing":
        return 0
    if choice == "all":
        return last
    through = re.fullmatch(r"through (\d+)", str(choice))
    if not through or not 1 <= int(through[1]) <= last:
        forms = f"`nothing`, `all`, or `through N` with N from 1 to {last}"
        raise UserError(f"`lend: {choice}` in _config.yml: write {forms}")
    return int(through[1])


def configured_choice() -> object:
    """Return what the entry `lend` of `_config.yml` says."""
    config = yaml.safe_load((REPO / "_config.yml").read_text(encoding="utf-8"))
    return config["sphinx"]["config"].get("lend", "nothing")


def lent_files(last: int, repo: Path = REPO) -> dict[str, bytes]:
    """Return path -> content of the package that lends the solutions of chapters 1 to `last`; empty for 0.

    Docstrings and comments are left out, because readers need the functions and not the code. The package's modules
    import each other. It includes given modules that lie between two of them: multi-head attention must not call the
    reader's masked softmax, which may be missing.
    """
    numbers = solution_modules(repo)
    chapters = {name for name, number in numbers.items() if number is not None and number <= last}
    callers = {name: _imported(name, repo) & chapters for name, number in numbers.items() if number is None}
    between = {name for lent in chapters for name in _imported(lent, repo) if callers.get(name)}
    modules = sorted(chapters | between)
    files = {f"{FOLDER}/{name}.py": _lent(_source(name, repo), modules) for name in modules}
    return {f"{FOLDER}/__init__.py": b"", **files} if files else {}


def lent_sources(last: int, repo: Path = REPO) -> bytes:
    """Return name -> source of each exercise of chapters 1 to `last`, as JSON. Readers who pass compare theirs with it.

    A source has its docstring and comments, and the functions of its module that it calls and that no chapter shows.
    """
    chapters = chapter_names(repo)
    exercises = {name for chapter in chapters for name in exercise_names(chapter, repo)}
    shown = exercises.union(*(given_functions(text_of(chapter, repo)) for chapter in chapters))
    sources: dict[str, str] = {}
    for module, number in solution_modules(repo).items():
        if number is not None and number <= last:
            source = _source(module, repo)
            functions = _functions(source)
            texts = {name: ast.get_source_segment(source, node) or "" for name, node in functions.items()}
            for exercise in functions.keys() & exercises:
                wanted = _with_called(exercise, functions, functions.keys() - shown)
                sources[exercise] = "\n\n\n".join(texts[name] for name in functions if name in wanted)
    return json.dumps(sources, sort_keys=True).encode()


def _functions(source: str) -> dict[str, ast.FunctionDef]:
    """Return name -> definition of each function of a module, in order."""
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def _with_called(name: str, functions: dict[str, ast.FunctionDef], helpers: Set[str]) -> set[str]:
    """Return a function's name and the names of the helpers that it calls, itself or in another helper."""
    called = {node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)} & helpers
    return {name}.union(*(_with_called(helper, functions, helpers - {helper}) for helper in called))


def _source(module: str, repo: Path) -> str:
    """Return the source of a module of solutions/."""
    return (repo / "solutions" / f"{module}.py").read_text(encoding="utf-8")


def _imported(module: str, repo: Path) -> set[str]:
    """Return the modules of solutions/ from which a module of solutions/ imports."""
    tree = ast.parse(_source(module, repo))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.removeprefix("solutions.") for name in names if name.startswith("solutions.")}


def _lent(source: str, modules: list[str]) -> bytes:
    """Return the source of a module without docstrings, with its imports from other lent modules renamed."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in [f"solutions.{name}" for name in modules]:
            node.module = node.module.replace("solutions", PACKAGE, 1)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree).encode()


def import_of(name: str, module: str) -> str:
    """Return the statement that borrows a function of the book."""
    return f"from {PACKAGE}.{module} import {name}"


@cache
def exercises_of_book() -> frozenset[str]:
    """Return the name of every exercise of the book."""
    return frozenset(name for chapter in chapter_names() for name in exercise_names(chapter))


@cache
def lent_helpers(last: int) -> dict[str, str]:
    """Return name -> source of an import of each function that solves no exercise, in chapters 1 to `last`."""
    imports: dict[str, str] = {}
    for module, number in solution_modules().items():
        if number is not None and number <= last:
            names = _functions(_source(module, REPO)).keys() - exercises_of_book()
            imports |= {name: import_of(name, module) for name in names}
    return imports


def sentence(last: int) -> str:
    """Return what the pages lend, for the person who builds the book."""
    if not last:
        return "no solutions"
    return "the solutions of chapter 1" if last == 1 else f"the solutions of chapters 1 to {last}"


def main() -> None:
    """Print what this build lends; `python -m autograder.release.lending` calls this."""
    print(sentence(last_lent_chapter(configured_choice())))


if __name__ == "__main__":
    main()
