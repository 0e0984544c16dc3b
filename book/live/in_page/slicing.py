"""Which statements of the cells above a cell need not run for it: those that draw, unless it uses what they leave.

A cell that prints can stand below figures, and matplotlib is large. So what uses matplotlib is told from the names that
one statement leaves to the next, and left out. All else is run, needed or not: generators go on from draw to draw.
"""

import ast
import dis
import inspect
from dataclasses import dataclass
from functools import cache

from check.cell_names import changed_in_place, read_globals

DRAWING = {"figures", "matplotlib", "mpl_toolkits"}  # figures is the book's own, and imports matplotlib
PLAIN = ast.Assign | ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class Statement:
    """One statement of a cell: its tree, the global names that it reads before it binds them, and those it leaves.

    binds: those of them that stand for something else afterwards, whatever it comes to.
    draws: whether it imports matplotlib, or the book's figures.
    """

    tree: ast.stmt
    reads: frozenset[str]
    leaves: frozenset[str]
    binds: frozenset[str]
    draws: bool


@cache  # the same cells are asked for with every run
def statements(source):
    """The statements of a source, in order. Raises SyntaxError."""
    return [_statement(tree) for tree in ast.parse(source).body]


def sliced(above, cell, loaded=False):
    """What is to run of the cells above a cell.

    Args:
        above: list of lists of Statement, one for each cell.
        cell: list of Statement.
        loaded: whether matplotlib is there already; then to import it costs nothing, and one cell's run is more often
            the beginning of the next one's.

    Returns:
        the lists without the statements that the cell can do without, and whether what is left needs matplotlib.
    """
    needed = set()
    for statement in reversed(cell):
        needed = needed - statement.leaves | statement.reads
    left = [[] for _ in above]
    for place, statement, drawing in reversed(_which_draw(above)):
        if not drawing:
            needed -= statement.binds
        if not drawing or (loaded and statement.draws) or not needed.isdisjoint(statement.leaves):
            left[place].insert(0, statement)
            needed |= statement.reads if drawing else set()
    return left, any(statement.draws for each in [*left, cell] for statement in each)


def _which_draw(above):
    """For each statement: its cell's place, itself, and whether it draws or uses what one that draws has left."""
    found, drawn, modules = [], set(), set()
    for place, each in enumerate(above):
        for statement in each:
            drawing = statement.draws or not drawn.isdisjoint(statement.reads)
            if isinstance(statement.tree, ast.Import) and not drawing:
                modules |= statement.leaves  # np.seterr(...) makes no drawing of np
            drawn = drawn | statement.leaves - modules if drawing else drawn - statement.leaves
            found.append((place, statement, drawing))
    return found


def _statement(tree):
    reads, binds = _names(compile(ast.Module([tree], []), "statement", "exec"))
    sure = binds if isinstance(tree, PLAIN) else ()  # a loop may be empty
    leaves = binds.union(changed_in_place(tree))
    return Statement(tree, frozenset(reads), frozenset(leaves), frozenset(sure), _imports_drawing(tree))


def _names(code):
    """The names that a module's code reads before it binds them, and those that it binds."""
    reads, binds = set(), set()
    for step in dis.get_instructions(code):
        if step.opname == "STORE_NAME":
            binds.add(step.argval)
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in binds:
            reads.add(step.argval)
        elif inspect.iscode(step.argval):
            reads |= set(read_globals(step.argval)) - binds
    return reads, binds


def _imports_drawing(tree):
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
