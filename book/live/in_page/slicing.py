"""Find the statements above a cell that it needs: all except those that draw, unless it uses what they define.

A cell that prints may come below figures, and matplotlib is large. So we leave out the statements that use matplotlib,
which we find by the names that one statement passes to the next. All other statements run, needed or not, because a
random generator must advance from draw to draw.
"""

import ast
from dataclasses import dataclass
from functools import cache

from check.names_in_code import changed_in_place, reads_and_binds

DRAWING = {"figures", "matplotlib", "mpl_toolkits"}  # figures is the book's own, and imports matplotlib
PLAIN = ast.Assign | ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class Statement:
    """One statement of a cell, and the global names that it uses.

    reads: those that it reads before it binds them. leaves: those that it binds or changes in place.
    binds: those that it certainly binds to a new value.
    draws: whether it imports matplotlib or the book's figures.
    """

    tree: ast.stmt
    reads: frozenset[str]
    leaves: frozenset[str]
    binds: frozenset[str]
    draws: bool


@cache  # each run asks for the same cells
def statements(source: str) -> list[Statement]:
    """Return the statements of a source, in order. Raises SyntaxError."""
    return [_statement(tree) for tree in ast.parse(source).body]


def sliced(
    above: list[list[Statement]], cell: list[Statement], loaded: bool = False
) -> tuple[list[list[Statement]], bool]:
    """Return the statements of each cell above that must run before a cell, and whether matplotlib is needed.

    above: the statements of each cell above. loaded: whether matplotlib is loaded. Then we keep its imports, which are
    fast, so that the runs of one cell more often begin like those of the next.
    """
    needed: set[str] = set()
    for statement in reversed(cell):
        needed = needed - statement.leaves | statement.reads
    kept: list[list[Statement]] = [[] for _ in above]
    for place, statement, drawing in reversed(_with_drawing(above)):
        if not drawing:
            needed -= statement.binds
        if not drawing or (loaded and statement.draws) or not needed.isdisjoint(statement.leaves):
            kept[place].insert(0, statement)
            needed |= statement.reads if drawing else set()
    return kept, any(statement.draws for statements in [*kept, cell] for statement in statements)


def _with_drawing(above: list[list[Statement]]) -> list[tuple[int, Statement, bool]]:
    """Return for each statement the place of its cell, and whether it draws or uses what a drawing statement leaves."""
    marked: list[tuple[int, Statement, bool]] = []
    drawn: set[str] = set()
    modules: set[str] = set()
    for place, cell in enumerate(above):
        for statement in cell:
            drawing = statement.draws or not drawn.isdisjoint(statement.reads)
            if isinstance(statement.tree, ast.Import) and not drawing:
                modules |= statement.leaves  # a call such as np.seterr(...) does not make np depend on drawing
            drawn = drawn | statement.leaves - modules if drawing else drawn - statement.leaves
            marked.append((place, statement, drawing))
    return marked


def _statement(tree: ast.stmt) -> Statement:
    reads, binds = reads_and_binds(compile(ast.Module([tree], []), "statement", "exec"))
    sure = binds if isinstance(tree, PLAIN) else ()  # the body of a loop may not run
    leaves = binds.union(changed_in_place(tree))
    return Statement(tree, frozenset(reads), frozenset(leaves), frozenset(sure), _imports_drawing(tree))


def _imports_drawing(tree: ast.stmt) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        if any(name.partition(".")[0] in DRAWING for name in names):
            return True
    return False
