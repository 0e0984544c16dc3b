"""Find out which earlier functions each exercise uses, and which of the book's own functions a page lends."""

import ast
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

from autograder.authoring.exercise import Exercise
from autograder.chapter.chapter import Chapter
from autograder.errors import UserError
from autograder.layout import REPO, chapter_names, exercise_names, solution_modules
from autograder.release.lending import PACKAGE, last_lent_chapter


def last_lent(config: Config) -> int:
    """Return the number of the last chapter whose solutions the pages lend. Raises ConfigError for a wrong choice."""
    try:
        return last_lent_chapter(config.lend)
    except UserError as error:
        raise ConfigError(str(error)) from None


def check_choice(app: Sphinx, config: Config) -> None:
    """End the build before it starts if the entry `lend` is wrong."""
    last_lent(config)


def module_of(exercise: Exercise) -> str:
    """Return the name of the module of solutions/ with an exercise's reference."""
    return exercise.reference.__module__.rpartition(".")[2]


def used_functions(exercise: Exercise, chapter: Chapter) -> list[str]:
    """Return the names of the functions of earlier chapters that an exercise uses, in the order of their chapters.

    These are the functions that its reference calls, also through other functions of its chapter, and those that its
    stub names, as a stub with a bug does. A function that the chapter does not import is the reference's own choice.

    Args:
        exercise: one whose reference is a function, and not a PyTorch module.
        chapter: its chapter.
    """
    reference = exercise.reference
    stub = compile(chapter.stubs[exercise.name], "stub", "exec")
    functions = [reference, *(reference.__globals__.get(name) for name in _names(stub))]
    used: dict[str, int] = {}
    seen = set()
    while functions:
        function = functions.pop()
        if not isinstance(function, FunctionType) or function in seen:
            continue
        seen.add(function)
        number = _chapter_of(function)
        if number == chapter.number:
            functions += [function.__globals__.get(name) for name in _names(function.__code__)]
        elif number is not None and function.__name__ in imported_names(chapter):
            used[function.__name__] = number
    return sorted(used, key=lambda name: (used[name], name))


def imported_names(chapter: Chapter) -> set[str]:
    """Return the names that a chapter's setup imports from `solutions`."""
    setups = (ast.parse(cell.source) for cell in chapter.cells if cell.part == "setup")
    imports = (node for setup in setups for node in ast.walk(setup) if isinstance(node, ast.ImportFrom))
    return {alias.name for node in imports if (node.module or "").startswith("solutions.") for alias in node.names}


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _chapter_of(function: FunctionType) -> int | None:
    package, _, module = function.__module__.partition(".")
    return solution_modules().get(module) if package == "solutions" else None


@cache
def lent_functions(last: int) -> dict[str, str]:
    """Return name -> source of an import of each function that solves no exercise, in chapters 1 to `last`."""
    exercises = {name for chapter in chapter_names() for name in exercise_names(chapter)}
    imports: dict[str, str] = {}
    for module, number in solution_modules().items():
        if number is not None and number <= last:
            tree = ast.parse((REPO / "solutions" / f"{module}.py").read_text(encoding="utf-8"))
            names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
            imports |= {name: import_of(name, module) for name in names if name not in exercises}
    return imports


def import_of(name: str, module: str) -> str:
    """Return the statement that borrows a function of the book's."""
    return f"from {PACKAGE}.{module} import {name}"
