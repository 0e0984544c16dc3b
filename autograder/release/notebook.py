"""Build a chapter's source notebook for nbgrader: the released notebook, with solutions.

Everything in it, including cell ids, is derived from the chapter and the reference solutions, so the same chapter
always gives the same bytes.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode

from autograder.authoring.exercise import Exercise
from autograder.authoring.hand_in import hand_in_of
from autograder.chapter import plain_markdown
from autograder.chapter.chapter import Cell, Chapter, cells, definition_in, docstring_statements
from autograder.chapter.targets import Targets
from autograder.course.handout import check_cell
from autograder.errors import UserError
from autograder.layout import solution_modules
from autograder.release import at_hand
from check.names_in_code import reads_and_binds
from check.weights_file import WEIGHTS
from check.words import listed

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
# With this tag, Run All continues below a cell that raises, in JupyterLab, Notebook, VS Code and nbclient.
MAY_RAISE = "raises-exception"
# A section's heading, as `plain_markdown` writes it.
_HEADING = re.compile(r"^#{2,} (?P<title>.+?)(?: \*\(off the core path\)\*)?$", re.MULTILINE)
END_OF_NOTEBOOK = """\
## Before you hand in

Restart the kernel and run all cells: grading runs only the code that is saved in this file. The cell below checks every
exercise once more."""
# The first code cell. An upload to Colab, for example, has only the notebook, and perhaps the zip file.
FOLDER = """\
# The files that belong to this notebook are beside it. If only their zip file is, unpack it.
import zipfile
from pathlib import Path

if not Path("check").is_dir():
    for archive in map(zipfile.ZipFile, Path().glob("*.zip")):
        with archive:
            if "check/__init__.py" in archive.namelist():
                archive.extractall(members=[name for name in archive.namelist() if not Path(name).exists()])
if not Path("check").is_dir():
    raise FileNotFoundError(
        "The files that belong to this notebook are missing. Unzip the zip file that it came in, and open the notebook "
        "in that folder. Or upload the zip file beside this notebook (on Colab, to Files), and run this cell again."
    )"""
HIDING_TAGS = ("hide-input", "remove-input", "hide-cell", "remove-cell")


def source_notebook(chapter: Chapter, targets: Targets, sections: dict[str, str], due: str = "") -> NotebookNode:
    """Return the notebook that nbgrader expects in course/source.

    Exercise cells have the reference between BEGIN and END SOLUTION. Check cells are graded and locked. Reference cells
    are left out. Every other cell is locked, so that grading undoes any change to it. A cell before the setup looks for
    the files beside the notebook, and the last cell shows what is left to do.

    Args:
        targets: the link targets of the book.
        sections: title -> address in the book, which the notebook links to.
        due: when the chapter is due, in sentences, which the first cell shows below the title.

    Raises MystError if the Markdown has no plain form, and UserError if a cell names an exercise that does not exist.
    """
    plain = cells(plain_markdown.convert(chapter.text, targets, chapter.file))
    builder = _Builder(chapter, targets, sections)
    notebook = nbformat.v4.new_notebook(metadata=_METADATA)
    notebook.cells = [new for cell in plain if cell.part != "reference" for new in builder.cells(cell)] + builder.end()
    if due:
        title, _, text = notebook.cells[0].source.partition("\n")
        notebook.cells[0].source = f"{title}\n\n**{due}**\n{text}"
    return notebook


def to_bytes(notebook: NotebookNode) -> bytes:
    """Return a notebook as nbformat writes it, in UTF-8 with a newline at the end."""
    return (nbformat.writes(notebook) + "\n").encode()


class _Builder:
    """Builds the cells one by one, and numbers them for their ids."""

    def __init__(self, chapter: Chapter, targets: Targets, sections: dict[str, str]):
        self.chapter, self.targets, self.sections = chapter, targets, sections
        self.exercises = {exercise.name: exercise for exercise in chapter.exercises}
        self.counts = {"prose": 0, "demo": 0}
        self.by_hand_names: list[str] = []
        self.defined = self.exercises.keys() | reads_and_binds(compile(chapter.setup, "setup", "exec"))[1]

    def cells(self, cell: Cell) -> list[NotebookNode]:
        """Return the notebook's cells for one cell of the chapter."""
        match cell.part:
            case "prose":
                return [self.prose(_HEADING.sub(self.with_link, cell.source))]
            case "by-hand":
                return [self.by_hand(cell)]
            case "exercise":
                name = definition_in(cell.source).name
                exercise = self.find_exercise(name, cell)
                solution = solved(cell.source, exercise.reference, self.defined)
                return [*self.at_hand(exercise), _code(name, solution, stub=cell.source)]
            case "check":
                call: Any = ast.parse(cell.source).body[-1]
                name = ast.unparse(call.value.args[0])
                points = self.find_exercise(name, cell).points
                return [_code(check_cell(name), cell.source, may_raise=True, points=points)]
            case "setup":
                return [_code("folder", FOLDER, hidden=True), _code("setup", cell.source)]
            case "given-function":
                return [_code(f"given-{definition_in(cell.source).name}", cell.source, may_raise=True)]
            case "recipe":  # students choose the numbers of their training; grading runs the cell like an exercise
                return [_code("recipe", cell.source, stub=cell.source)]
            case "hand-in":
                return [self.hand_in(cell)]
        return [self.demo(cell), *self.caption(cell)]

    def at_hand(self, exercise: Exercise) -> list[NotebookNode]:
        """Return a cell with the signatures of the earlier functions that an exercise calls, if it calls any."""
        text = at_hand.line(exercise, self.chapter)
        return [_with_metadata(nbformat.v4.new_markdown_cell(text), f"at-hand-{exercise.name}")] if text else []

    def hand_in(self, cell: Cell) -> NotebookNode:
        hand_in = hand_in_of(self.chapter.name)
        if hand_in is None:
            raise UserError(f"{self.chapter.file}: no file in autograder/exercises/ says which weights are handed in")
        return _code(check_cell(WEIGHTS), cell.source, may_raise=True, points=hand_in.points)

    def by_hand(self, cell: Cell) -> NotebookNode:
        """Return the cell for a text that students write and an instructor grades in formgrader."""
        name, points = cell.metadata["name"], cell.metadata["points"]
        self.by_hand_names.append(f"`{name}` ({points:g} points)")
        return _with_metadata(nbformat.v4.new_markdown_cell(cell.source), name, stub=cell.source, points=points)

    def find_exercise(self, name: str, cell: Cell) -> Exercise:
        if name not in self.exercises:
            raise UserError(f"{self.chapter.file}: there is no exercise {name!r} for the cell\n{cell.source}")
        return self.exercises[name]

    def prose(self, source: str) -> NotebookNode:
        return _with_metadata(nbformat.v4.new_markdown_cell(source), self.next_name("prose"))

    def with_link(self, heading: re.Match[str]) -> str:
        address = self.sections.get(heading["title"])
        return f"{heading[0]}\n\n[This section in the book]({address})" if address else heading[0]

    def demo(self, cell: Cell) -> NotebookNode:
        hidden = any(tag in HIDING_TAGS for tag in cell.metadata.get("tags", ()))
        return _code(self.next_name("demo"), cell.source, may_raise=True, hidden=hidden)

    def caption(self, cell: Cell) -> list[NotebookNode]:
        caption = cell.metadata.get("mystnb", {}).get("figure", {}).get("caption")
        if not caption:
            return []
        text = plain_markdown.convert_line(caption.strip(), self.targets, self.chapter.file)
        return [self.prose(plain_markdown.caption_text(text, self.targets.captions.get(caption)))]

    def end(self) -> list[NotebookNode]:
        call = f'from check import what_is_left\n\nwhat_is_left("{self.chapter.name}", globals())'
        written = f" Your instructor grades {listed(self.by_hand_names)} by hand." if self.by_hand_names else ""
        return [self.prose(END_OF_NOTEBOOK + written), _code("what-is-left", call)]

    def next_name(self, part: str) -> str:
        self.counts[part] += 1
        return f"{part}-{self.counts[part]:03d}"


def _code(name: str, source: str, **options: Any) -> NotebookNode:
    return _with_metadata(nbformat.v4.new_code_cell(source), name, **options)


def _with_metadata(
    cell: NotebookNode, name: str, *, stub: str = "", hidden: bool = False, may_raise: bool = False, **points: float
) -> NotebookNode:
    """Give a cell its id and nbgrader's metadata, and return it.

    stub: what students replace; "" for a locked cell. hidden: whether its source is folded. points: none if it is not
    graded.
    """
    cell.id = name[:64]
    state = dict(grade=bool(points), locked=not stub, solution=bool(stub), task=False)
    metadata: dict[str, Any] = dict(deletable=False, nbgrader=dict(grade_id=name, schema_version=3, **state, **points))
    metadata |= {"autograder": {"stub": stub}} if stub else {"editable": False}
    if hidden:
        metadata["jupyter"] = {"source_hidden": True}
    if may_raise:
        metadata["tags"] = [MAY_RAISE]
    cell.metadata = nbformat.from_dict(metadata)
    return cell


_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}


def solved(stub: str, reference: Callable, defined: set[str]) -> str:
    """Return the source of an exercise's cell with the reference's body between BEGIN and END SOLUTION.

    defined: the names that the notebook defines elsewhere. Everything else that the reference uses is included.
    """
    source = textwrap.dedent(inspect.getsource(reference))
    support = supporting_code(reference, defined)
    if not _is_blank(stub):
        # In a bug hunt, or with a class, the solution replaces the whole stub.
        return "\n".join(part for part in (BEGIN, support, source.rstrip(), END) if part)
    head = stub.split("\n")[: docstring_statements(definition_in(stub))[0].end_lineno]
    body = source.rstrip().split("\n")[docstring_statements(definition_in(source))[0].end_lineno :]
    return "\n".join([*head, f"    {BEGIN}", *body, *(["", "", support] if support else []), f"    {END}"])


def _is_blank(stub: str) -> bool:
    """Return whether a stub is only one function with a docstring and `raise NotImplementedError`."""
    tree = ast.parse(stub).body
    if len(tree) != 1 or not isinstance(tree[0], ast.FunctionDef) or ast.get_docstring(tree[0]) is None:
        return False
    return [type(statement) for statement in tree[0].body[1:]] == [ast.Raise]


def supporting_code(reference: Callable, defined: set[str]) -> str:
    """Return the imports, constants and helpers that a reference uses and the notebook lacks, in order of use.

    The source of a helper from another solutions module of the same chapter is included, because the chapter's bundle
    does not have that module.
    """
    pieces: dict[str, None] = {}  # a dict keeps the order and drops repetitions
    _add_support(reference, defined | {reference.__name__}, pieces)
    return "\n".join(pieces)


def _add_support(reference: Callable, defined: set[str], pieces: dict[str, None]) -> None:
    module = sys.modules[reference.__module__]
    source = inspect.getsource(module)
    statements = ast.parse(source).body
    names = [reads_and_binds(compile(ast.Module([statement], []), "module", "exec")) for statement in statements]
    binding = {name: i for i, (_, binds) in enumerate(names) for name in binds}
    used: set[str] = set()
    waiting = [binding[reference.__name__]]
    while waiting:
        new = names[waiting.pop()][0] & binding.keys() - defined - used
        used |= new
        waiting += [binding[name] for name in new]
    for i in sorted({binding[name] for name in used}):
        sibling = _sibling(module, statements[i])
        if sibling is None:
            pieces[ast.get_source_segment(source, statements[i]) or ""] = None
            continue
        for name in sorted(names[i][1] & used):
            _add_support(getattr(sibling, name), defined | {name}, pieces)
            pieces[inspect.getsource(getattr(sibling, name)).rstrip()] = None


def _sibling(module: ModuleType, statement: ast.stmt) -> ModuleType | None:
    """Return the solutions module of the same chapter that a statement imports from, or None."""
    name = statement.module if isinstance(statement, ast.ImportFrom) else None
    if name is None or not name.startswith("solutions."):
        return None
    numbers = solution_modules()
    number, other_number = (numbers.get(dotted.rpartition(".")[2]) for dotted in (module.__name__, name))
    return sys.modules[name] if number and number == other_number else None
