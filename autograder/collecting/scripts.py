"""Read a Python file that was made from a notebook: by jupytext, or by Jupyter's "Save and Export Notebook As".

Jupytext keeps nbgrader's metadata. The export loses it and puts "# In[3]:" before each cell (nbconvert,
share/templates/python/index.py.j2). There a cell belongs to the exercise whose function it defines, or to the released
cell that it repeats.
"""

import ast
import re
from collections.abc import Iterator

import jupytext
import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from autograder.authoring.syntax_tree import parsed
from autograder.course.handout import Handout

# jupytext takes a millisecond for each cell.
MAX_BYTES = 200_000
MAX_CELLS = 2_000
_EXPORTED = re.compile(r"^# In\[[\d ]*\]:\n", re.M)
_PERCENT = re.compile(r"^# %%", re.M)
_BEGINNING = re.compile(r"\n\n(?=\S)|^# %%", re.M)  # where a cell begins in one of jupytext's formats
_JUPYTEXT = re.compile(r"\A(#!.*\n)?(# -\*-.*\n)?# ---\n(#.*\n)*?#\s+jupytext:")
_COMMAND = re.compile(r"^get_ipython\(\)\..*\n?", re.M)


class ScriptTooLarge(Exception):
    """A Python file was made from a notebook and is too large to convert back; the message says the limits."""


def notebook_of(script: bytes, released: Handout) -> bytes | None:
    """Return the notebook that a Python file was made from, with the ids of the released cells.

    Returns None if it was not made from one. Raises ScriptTooLarge.
    """
    try:
        text = script.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    beginning = text[:MAX_BYTES]
    exported = _EXPORTED.search(beginning)
    if not (exported or _PERCENT.search(beginning) or _JUPYTEXT.match(beginning)):
        return None
    if len(script) > MAX_BYTES or len(_BEGINNING.findall(text)) > MAX_CELLS:
        limits = f"{MAX_BYTES // 1000} kB or {MAX_CELLS:,} cells"
        raise ScriptTooLarge(f"a script of more than {limits}, which is not read")
    if exported:
        sources = _EXPORTED.split(_COMMAND.sub("", text))[1:]
        cells = [new_code_cell(source.strip("\n")) for source in sources if source.strip()]
    else:
        try:
            cells = jupytext.reads(text, fmt="py").cells
        except Exception:  # jupytext promises no exception of its own for a header or a cell that it cannot read
            return None
    metadata = {"kernelspec": released.notebook["metadata"]["kernelspec"]}
    notebook = new_notebook(cells=[*_with_ids(cells, released)], metadata=metadata)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # the same file always gives the same notebook
    return nbformat.writes(notebook).encode()


def _with_ids(cells: list[nbformat.NotebookNode], released: Handout) -> Iterator[nbformat.NotebookNode]:
    """Yield code cells with the grade ids of the released cells that they stand for; a cell may stand for several."""
    exercises = {released.grade_id(position) for position in released.editable}
    sources = {released.source(position).strip(): released.grade_id(position) for position in released.nbgrader_cells}
    for cell in cells:
        if cell.cell_type != "code" or "nbgrader" in cell.metadata:
            yield cell
            continue
        same = sources.get(cell.source.strip())
        names = [same] if same else sorted(exercises & _defined(cell.source))
        for name in names or [""]:
            yield new_code_cell(cell.source, metadata={"nbgrader": {"grade_id": name}} if name else {})


def _defined(source: str) -> set[str]:
    """The names of the functions and classes that a cell defines; none if it is not Python."""
    try:
        statements = parsed(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {node.name for node in statements if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
