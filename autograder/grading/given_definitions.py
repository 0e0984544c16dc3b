"""Find what a submission needs of the given cells, which grading does not run: their imports, functions and constants.

At home a student runs the whole notebook. A function that calls one of a given cell is right there, and so it must be
in grading.
"""

import ast
import re
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache

from autograder.authoring.syntax_tree import parsed
from autograder.grading.magics import without_magics

_NAME = re.compile(r"[A-Za-z_]\w*")


def needed(given: Sequence[str], written: Iterable[str]) -> str:
    """Return the source of the definitions in given cells that a submission names, directly or through others.

    given: the sources of the given cells. written: those of the submission's cells.
    """
    known = _definitions(tuple(given))
    names: set[str] = set()
    waiting = _named(written, known)
    while waiting:
        names |= waiting
        waiting = _named((source for name in waiting for source in known[name]), known) - names
    return "\n".join(dict.fromkeys(source for name in known if name in names for source in known[name]))


def _named(sources: Iterable[str], known: Container[str]) -> set[str]:
    """Return the known names in some sources."""
    return {match[0] for source in sources for match in _NAME.finditer(source) if match[0] in known}


@lru_cache(maxsize=16)  # all submissions of a chapter have the same given cells
def _definitions(given: tuple[str, ...]) -> dict[str, list[str]]:
    """Return name -> the statements that define it, in the cells' order."""
    definitions: dict[str, list[str]] = {}
    for source in given:
        for statement in _statements(source):
            for name in _defined(statement):
                definitions.setdefault(name, []).append(ast.unparse(statement))
    return definitions


def _statements(source: str) -> list[ast.stmt]:
    try:
        return parsed(without_magics(source)[0]).body
    except SyntaxError:  # what only IPython understands; an author may add such a cell
        return []


def _defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement defines, if running it needs nothing that a demonstration has computed."""
    match statement:
        case ast.Import(names) | ast.ImportFrom(names=names):
            return [(alias.asname or alias.name).partition(".")[0] for alias in names]
        case ast.FunctionDef(name, arguments, decorator_list=[]):
            defaults = filter(None, [*arguments.defaults, *arguments.kw_defaults])
            return [name] if all(map(_is_literal, defaults)) else []
        case ast.Assign([ast.Name(name)], value) if name.isupper() and _is_literal(value):
            return [name]
    return []


def _is_literal(expression: ast.expr) -> bool:
    try:
        ast.literal_eval(expression)
    except ValueError:
        return False
    return True
