"""Which exercises a given cell rests on: without them it cannot run, or says something else.

Told from the sources alone, by the names that one statement leaves to the next; and generously, since it is asked only
of a cell that did not run.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import SimpleNamespace

from autograder.chapter.chapter import Cell
from check.bundle_data import fingerprint
from check.cell_names import changed_in_place, named, read_globals


def rests_on(cells: Iterable[Cell], exercises: list[str]) -> dict[str, list[str]]:
    """Fingerprint of each given cell that rests on exercises -> their names, in the order of `exercises`."""
    sources = [cell.source for cell in cells if cell.part == "demo"]
    found = zip(sources, needs(sources, {name: {name} for name in exercises}), strict=True)
    return {fingerprint(source): [name for name in exercises if name in needed] for source, needed in found if needed}


def needs(
    sources: Iterable[str],
    names: dict[str, set[str]],
    brought: Callable[[str, str], set[str]] = lambda module, name: set(),
) -> Iterator[set[str]]:
    """What each of some sources, run one after the other, needs of what some names stand for.

    Args:
        sources: of cells.
        names: a name -> what it stands for.
        brought: what `from MODULE import NAME` brings, or `import MODULE`, for which NAME is "".
    """
    names = dict(names)
    for source in sources:
        needed: set[str] = set()
        imported: set[str] = set()
        for statement in _statements(source):
            needed |= set().union(*(names.get(name, set()) for name in statement.reads))
            imports = {name: brought(*what) for name, what in statement.imports}
            imported = imported.union(*imports.values())
            # What comes after a statement that raises is not run either; an import raises nothing.
            names |= {name: imports.get(name, set(needed)) for name in statement.binds}
            for name in statement.changes:
                names[name] = names.get(name, set()) | needed
        yield needed | imported


@cache  # the cells of a chapter are asked for several questions
def _statements(source):
    return [
        SimpleNamespace(
            reads=frozenset(read_globals(code)),
            binds=list(named(code, "STORE_NAME")),
            changes=list(changed_in_place(statement)),
            imports=list(_imports(statement)),
        )
        for statement in ast.parse(source).body
        for code in [compile(ast.Module([statement], []), "cell", "exec")]
    ]


def _imports(statement):
    """Each name that a statement's imports bind, and the module and the name that it is of."""
    for node in ast.walk(statement):
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, (node.module or "", alias.name)) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.partition(".")[0], (alias.name, "")) for alias in node.names)
