"""From a chapter to nbgrader's source notebook, which is the released one with solutions in it.

Everything in it is derived from the chapter and the reference solutions, cell ids included, so that the
same chapter gives the same bytes.
"""

import ast
import inspect
import re
import sys
import textwrap

import nbformat
from nbformat.notebooknode import NotebookNode

from autograder.chapter import plain_markdown
from autograder.chapter.chapter import DEFINITIONS, Chapter, cells, definition_in, docstring_of
from autograder.chapter.targets import Targets
from autograder.errors import UserError
from autograder.house import solution_modules

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
# JupyterLab, Notebook, VS Code and nbclient go on below such a cell when it raises: Run All comes to the end.
GOES_ON = "raises-exception"
# A section's heading, as `plain_markdown` leaves it.
_HEADING = re.compile(r"^#{2,} (?P<title>.+?)(?: \*\(off the core path\)\*)?$", re.MULTILINE)
END_OF_NOTEBOOK = """\
## Before you hand in

Restart the kernel and run all cells: then what counts is what stands in the file. The cell below checks every exercise
once more, as it is now."""
HIDING_TAGS = ("hide-input", "remove-input", "hide-cell", "remove-cell")


def source_notebook(chapter: Chapter, references: Targets, sections: dict[str, str]) -> NotebookNode:
    """The chapter as nbgrader wants it, in course/source.

    Exercise cells hold the reference between BEGIN and END SOLUTION; check cells are graded and locked;
    reference cells are left out; every other cell is locked, so that grading undoes any change to it. At the end
    stands a cell that says what is left to do.

    Args:
        chapter: the chapter.
        references: what it can point at.
        sections: title -> address in the book, which the notebook links.

    Raises:
        MystError: the chapter's Markdown has no plain form.
        UserError: a cell is about an exercise that there is not.
    """
    plain = cells(plain_markdown.convert(chapter.text, references, chapter.file))
    build = _Build(chapter, references, sections)
    notebook = nbformat.v4.new_notebook(metadata=_METADATA)
    notebook.cells = [new for cell in plain if cell.part != "reference" for new in build.cells(cell)] + build.end()
    return notebook


def to_bytes(notebook: NotebookNode) -> bytes:
    """A notebook as nbformat writes it, in UTF-8 with a newline at the end."""
    return (nbformat.writes(notebook) + "\n").encode()


class _Build:
    """Makes the cells one after the other, and counts them for their names."""

    def __init__(self, chapter, references, sections):
        self.chapter, self.references, self.sections = chapter, references, sections
        self.exercises = {exercise.name: exercise for exercise in chapter.exercises}
        self.counts = {"prose": 0, "demo": 0}
        setup = [cell.source for cell in chapter.cells if cell.part == "setup"]
        self.given = set(self.exercises).union(*map(bound_names, setup))

    def cells(self, cell):
        match cell.part:
            case "prose":
                return [self.prose(_HEADING.sub(self.linked, cell.source))]
            case "exercise":
                return [self.exercise(cell)]
            case "check":
                return [self.check(cell)]
            case "setup":
                return [_code("setup", cell.source, locked=True)]
        return [self.demo(cell), *self.caption(cell)]

    def exercise(self, cell):
        name = definition_in(cell.source).name
        made = _code(name, solved(cell.source, self.lookup(name, cell).reference, self.given), solution=True)
        made.metadata["autograder"] = {"stub": cell.source}
        del made.metadata["editable"]
        return made

    def check(self, cell):
        call = ast.parse(cell.source).body[-1]
        name = ast.unparse(call.value.args[0])
        exercise = self.lookup(name, cell)
        made = _code(f"check-{name}", cell.source, locked=True, grade=True, points=exercise.points)
        made.metadata["tags"] = [GOES_ON]
        return made

    def lookup(self, name, cell):
        if name not in self.exercises:
            raise UserError(f"{self.chapter.file}: there is no exercise {name!r} for the cell\n{cell.source}")
        return self.exercises[name]

    def prose(self, source):
        cell = nbformat.v4.new_markdown_cell(source)
        return _named(cell, self.next("prose"), locked=True)

    def linked(self, heading):
        address = self.sections.get(heading["title"])
        return f"{heading[0]}\n\n[This section in the book]({address})" if address else heading[0]

    def demo(self, cell):
        made = _code(self.next("demo"), cell.source, locked=True)
        made.metadata["tags"] = [GOES_ON]
        if any(tag in HIDING_TAGS for tag in cell.metadata.get("tags", ())):
            made.metadata["jupyter"] = {"source_hidden": True}
        return made

    def caption(self, cell):
        caption = cell.metadata.get("mystnb", {}).get("figure", {}).get("caption")
        if not caption:
            return []
        text = plain_markdown.convert_line(caption.strip(), self.references, self.chapter.file)
        return [self.prose(plain_markdown.caption_text(text, self.references.captions.get(caption)))]

    def end(self):
        call = f'from check import what_is_left\n\nwhat_is_left("{self.chapter.name}", globals())'
        return [self.prose(END_OF_NOTEBOOK), _code("what-is-left", call, locked=True)]

    def next(self, part):
        self.counts[part] += 1
        return f"{part}-{self.counts[part]:03d}"


def _code(name, source, **flags):
    return _named(nbformat.v4.new_code_cell(source), name, **flags)


def _named(cell, name, *, locked=False, grade=False, solution=False, **points):
    cell.id = name[:64]
    about = dict(grade_id=name, grade=grade, locked=locked, solution=solution, task=False, schema_version=3, **points)
    cell.metadata = nbformat.from_dict(dict(deletable=False, editable=False, nbgrader=about))
    return cell


_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}


def solved(stub: str, reference, given: set[str]) -> str:
    """A stub with the reference's body in it, between BEGIN and END SOLUTION.

    Args:
        stub: the source of the exercise's cell.
        reference: the function or class that solves it.
        given: names the notebook has anyway; what else the reference leans on comes along.
    """
    source = textwrap.dedent(inspect.getsource(reference))
    support = supporting_code(reference, given)
    if not _is_blank(stub):
        # A bug hunt or a class: nothing of the stub needs to stay, so all of the reference is the solution.
        return "\n".join(part for part in (BEGIN, support, source.rstrip(), END) if part)
    head = stub.split("\n")[: docstring_of(definition_in(stub))[0].end_lineno]
    body = source.rstrip().split("\n")[docstring_of(definition_in(source))[0].end_lineno :]
    return "\n".join([*head, f"    {BEGIN}", *body, *(["", "", support] if support else []), f"    {END}"])


def _is_blank(stub):
    """Whether a stub is one function with a docstring and `raise NotImplementedError`, and nothing else."""
    tree = ast.parse(stub).body
    if len(tree) != 1 or not isinstance(tree[0], ast.FunctionDef) or ast.get_docstring(tree[0]) is None:
        return False
    return [type(statement) for statement in tree[0].body[1:]] == [ast.Raise]


def supporting_code(reference, given: set[str]) -> str:
    """What a reference uses and the notebook lacks: imports, constants, helpers, each before what needs it.

    A helper from another solutions module of the same chapter is brought as source: no bundle of it holds that module.
    """
    pieces: dict[str, None] = {}
    _bring(reference, given | {reference.__name__}, pieces)
    return "\n".join(pieces)


def _bring(reference, given, pieces):
    module = sys.modules[reference.__module__]
    source = inspect.getsource(module)
    statements = ast.parse(source).body
    binding = {name: i for i, statement in enumerate(statements) for name in _bound(statement)}
    used: set[str] = set()
    waiting = [binding[reference.__name__]]
    while waiting:
        new = (_used(statements[waiting.pop()]) & set(binding)) - given - used
        used |= new
        waiting += [binding[name] for name in new]
    for i in sorted({binding[name] for name in used}):
        sibling = _sibling(module, statements[i])
        if sibling is None:
            pieces[ast.get_source_segment(source, statements[i]) or ""] = None
            continue
        for name in sorted(_bound(statements[i]) & used):
            _bring(getattr(sibling, name), given | {name}, pieces)
            pieces[inspect.getsource(getattr(sibling, name)).rstrip()] = None


def _sibling(module, statement):
    """The solutions module of the same chapter that a statement imports from, or None."""
    name = statement.module if isinstance(statement, ast.ImportFrom) else None
    if name is None or not name.startswith("solutions."):
        return None
    numbers = solution_modules()
    own, other = (numbers.get(each.rpartition(".")[2]) for each in (module.__name__, name))
    return sys.modules[name] if own and own == other else None


def bound_names(source: str) -> set[str]:
    """The names that a cell's top-level statements import, define or assign."""
    return {name for statement in ast.parse(source).body for name in _bound(statement)}


def _bound(statement):
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, DEFINITIONS):
        return {statement.name}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _used(statement):
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
