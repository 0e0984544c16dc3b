"""Find the imports, functions and constants that a submission needs from given cells, which grading does not run.

At home a student runs the whole notebook, including given cells. A function that works there must work in grading, too,
even if it calls a function of a given cell.
"""

import ast
from collections.abc import Iterable, Sequence
from functools import lru_cache

from autograder.authoring.syntax_tree import parsed
from autograder.grading.namespace import names_in
from check.magics import without_magics

# Name -> the statements that define it, each with the names that it reads.
_Definitions = dict[str, list[tuple[str, frozenset[str]]]]


def needed(given: Sequence[str], written: Iterable[str]) -> str:
    """Return the source of the definitions in given cells that a submission uses, directly or through others.

    Local variables and attributes never refer to a given cell, whatever their names.

    given: the sources of the given cells. written: the sources of the submission's cells, without notebook commands.
    """
    known = _definitions(tuple(given))
    names: set[str] = set()
    waiting = known.keys() & frozenset().union(*(names_in(source).read for source in written))
    while waiting:
        names |= waiting
        read = frozenset().union(*(read for name in waiting for _, read in known[name]))
        waiting = known.keys() & read - names
    return "\n".join(dict.fromkeys(source for name in known if name in names for source, _ in known[name]))


@lru_cache(maxsize=16)  # all submissions of a chapter have the same given cells
def _definitions(given: tuple[str, ...]) -> _Definitions:
    """Return the definitions in given cells, in the cells' order."""
    definitions: _Definitions = {}
    for cell in given:
        for statement in _statements(cell):
            source = ast.unparse(statement)
            for name in _defined(statement):
                definitions.setdefault(name, []).append((source, names_in(source).read))
    return definitions


def _statements(source: str) -> list[ast.stmt]:
    try:
        return parsed(without_magics(source)[0]).body
    except SyntaxError:  # only IPython understands this cell; an author may add such cells
        return []


def _defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement defines; none if it needs a value that a given cell computes."""
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
