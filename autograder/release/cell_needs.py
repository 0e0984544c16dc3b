"""Find the exercises that a given cell needs: without them it cannot run, or it prints something else.

The answer comes from the sources alone, from the names that each statement reads and binds. It may name one
exercise too many. That does no harm, because students see it only for a cell that did not run.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from autograder.chapter.chapter import GIVEN, Cell
from check.bundle_data import source_digest
from check.names_in_code import changed_in_place, reads_and_binds


def exercises_needed(cells: Iterable[Cell], exercises: list[str]) -> dict[str, list[str]]:
    """Return the exercises that each given cell needs, in notebook order, by the digest of its source.

    A cell that needs no exercise has no entry.
    """
    sources = [cell.source for cell in cells if cell.part in GIVEN]
    needs_of_cells = needs(sources, {name: {name} for name in exercises})
    return {
        source_digest(source): [name for name in exercises if name in needed]
        for source, needed in zip(sources, needs_of_cells, strict=True)
        if needed
    }


def needs(
    sources: Iterable[str],
    names: dict[str, set[str]],
    imported: Callable[[str, str], set[str]] = lambda module, name: set(),
) -> Iterator[set[str]]:
    """Yield the things that each source needs, if the sources run one after another.

    Args:
        names: the things that each name needs before the first source runs.
        imported: given MODULE and NAME, what `from MODULE import NAME` needs; NAME is "" for `import MODULE`.
    """
    names = dict(names)
    modules: set[str] = set()
    for source in sources:
        needed: set[str] = set()
        needed_by_imports: set[str] = set()
        for statement in _statements(source):
            needed |= set().union(*(names.get(name, set()) for name in statement.reads))
            by_import = {name: imported(*origin) for name, origin in statement.imports}
            needed_by_imports = needed_by_imports.union(*by_import.values())
            # If a statement raises, the statements after it do not run either. An import does not raise.
            names |= {name: by_import.get(name, set(needed)) for name in statement.binds}
            modules |= {name for name, (_, imported_name) in statement.imports if not imported_name}
            for name in set(statement.changes) - modules:  # np.save(...) does not change np
                names[name] = names.get(name, set()) | needed
        yield needed | needed_by_imports


@dataclass(frozen=True)
class _Statement:
    """The global names that one statement uses.

    reads: those that it reads before it binds them.
    imports: each name that an import binds, and the module and the name that it comes from.
    """

    reads: frozenset[str]
    binds: frozenset[str]
    changes: list[str]
    imports: list[tuple[str, tuple[str, str]]]


@cache  # the bundle and the live pages ask about the same cells
def _statements(source: str) -> list[_Statement]:
    return [
        _Statement(
            reads=frozenset(reads),
            binds=frozenset(binds),
            changes=list(changed_in_place(statement)),
            imports=list(imports(statement)),
        )
        for statement in ast.parse(source).body
        for reads, binds in [reads_and_binds(compile(ast.Module([statement], []), "cell", "exec"))]
    ]


def imports(tree: ast.AST) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each name that an import binds, and MODULE and NAME of `from MODULE import NAME`, or MODULE and ""."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, (node.module or "", alias.name)) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.partition(".")[0], (alias.name, "")) for alias in node.names)
