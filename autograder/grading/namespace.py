"""Find the names that cells read from the notebook's namespace, and the names that they bind in it."""

import symtable
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from autograder.sandbox import Cell

# Code with one of these words may bind names that its source does not show.
_INDIRECT = ("import *", "globals(", "locals(", "vars(", "setattr(", "exec(", "eval(")


@dataclass(frozen=True)
class Names:
    """The names of a cell in the notebook's namespace.

    read: the names that its code reads, also in functions. bound: the names that it assigns, defines or imports.
    variables: the names that it assigns. Other cells may change such a value without binding its name.
    defined: all names that it defines anywhere, also parameters and variables of functions.
    """

    read: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()


@lru_cache(maxsize=256)  # all submissions share the unchanged cells
def names_in(source: str) -> Names:
    """Return the names in a cell without notebook commands; no names if the cell cannot run."""
    try:
        table = symtable.symtable(source, "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Names()
    every = [symbol for scope in _scopes(table) for symbol in scope.get_symbols()]
    symbols = [symbol for symbol in every if symbol.is_global()]
    assigned = [symbol for symbol in symbols if symbol.is_assigned()]
    return Names(
        read=frozenset(symbol.get_name() for symbol in symbols if symbol.is_referenced()),
        bound=frozenset(symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()),
        variables=frozenset(symbol.get_name() for symbol in assigned if not symbol.is_namespace()),
        defined=frozenset(
            symbol.get_name()
            for symbol in every
            if (symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter()) and symbol.get_name() != ".0"
        ),
    )


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def experiments(cells: Sequence[Cell], functions: Iterable[str]) -> set[str]:
    """Return the ids of added cells on which neither another cell nor grading depends.

    Another cell depends on a cell that binds a name that it reads, or that may change the value of such a name.

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
