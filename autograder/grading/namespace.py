"""Find the names that cells read from the notebook's namespace, and those that they bind in it."""

import symtable
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from autograder.sandbox import Cell

# With one of these words, code may bind names that it does not show.
_INDIRECT = ("import *", "globals(", "locals(", "vars(", "setattr(", "exec(", "eval(")


@dataclass(frozen=True)
class Names:
    """The names of a cell in the notebook's namespace.

    read: those that its code reads, also in functions. bound: those that it assigns, defines or imports.
    variables: those that it assigns. Others may change their values without binding them.
    """

    read: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()


@lru_cache(maxsize=256)  # the cells as released are in all submissions
def names_in(source: str) -> Names:
    """Return the names in a cell without notebook commands; none if it cannot run."""
    try:
        table = symtable.symtable(source, "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Names()
    symbols = [symbol for scope in _scopes(table) for symbol in scope.get_symbols() if symbol.is_global()]
    assigned = [symbol for symbol in symbols if symbol.is_assigned()]
    return Names(
        read=frozenset(symbol.get_name() for symbol in symbols if symbol.is_referenced()),
        bound=frozenset(symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()),
        variables=frozenset(symbol.get_name() for symbol in assigned if not symbol.is_namespace()),
    )


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def experiments(cells: Sequence[Cell], functions: Iterable[str]) -> set[str]:
    """Return the ids of the student's own cells on which neither another cell nor grading depends.

    They do if the cell binds a name that they read, or if it may change the value of such a name.

    cells: without notebook commands. functions: the names that grading reads.
    """
    graded = Names(read=frozenset(functions))
    apart = {cell.id: names_in(cell.source) for cell in cells if cell.own and not _is_indirect(cell.source)}
    needed = [graded, *(names_in(cell.source) for cell in cells if cell.id not in apart)]
    while True:
        read = frozenset().union(*(names.read for names in needed))
        variables = read & frozenset().union(*(names.variables for names in needed))
        more = [cell for cell, names in apart.items() if names.bound & read or names.read & variables]
        if not more:
            return set(apart)
        needed += [apart.pop(cell) for cell in more]


def _is_indirect(source: str) -> bool:
    return any(word in source for word in _INDIRECT)
