"""A chapter as an author wrote it: a list of cells, each with the part it plays."""

import ast
import copy
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jupytext.myst import myst_to_notebook

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.chapter import myst
from autograder.house import HOUSE, known_chapter, number_and_word

PARTS = ("setup", "exercise", "reference", "check")


@dataclass(frozen=True)
class Cell:
    """One cell: its part (one of PARTS, or "prose", or "demo"), its source and metadata, its line in the file."""

    part: str
    source: str
    metadata: dict
    line: int


@dataclass(frozen=True)
class Chapter:
    """A chapter's file name without its ending ("01_attention"), its text, and its exercises."""

    name: str
    text: str
    exercises: tuple[Exercise, ...]

    @property
    def number(self) -> int:
        return number_and_word(self.name)[0]

    @property
    def word(self) -> str:
        return number_and_word(self.name)[1]

    @property
    def file(self) -> str:
        return f"chapters/{self.name}.md"

    @property
    def cells(self) -> tuple[Cell, ...]:
        return cells(self.text)

    @property
    def stubs(self) -> dict[str, str]:
        """Name of each exercise -> the source of its cell."""
        return stubs(self.text)

    @property
    def pictures(self) -> list[str]:
        """The files that its figures show, as it names them."""
        return [each.argument for each in myst.directives(self.text) if each.name == "figure"]


DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def text_of(name: str, house: Path = HOUSE) -> str:
    """Return the text of a chapter. Raises UserError, naming the chapters there are."""
    return (house / "chapters" / f"{known_chapter(name, house)}.md").read_text(encoding="utf-8")


def read_chapter(name: str, house: Path = HOUSE) -> Chapter:
    """Return one chapter, with its exercises. Raises UserError, naming the chapters there are."""
    return Chapter(name, text_of(name, house), tuple(exercises_of(name)))


@cache  # a chapter's are asked for by all chapters after it
def cells(text: str) -> tuple[Cell, ...]:
    """The cells of a MyST notebook, in order."""
    notebook = myst_to_notebook(text, code_directive="{code-cell}", raw_directive="{raw-cell}", add_source_map=True)
    lines = notebook.metadata["source_map"]
    return tuple(
        Cell(_part(cell), cell.source, dict(cell.metadata), line + 1)
        for cell, line in zip(notebook.cells, lines, strict=True)
    )


@cache  # the gate asks for those of every chapter, for every chapter
def stubs(text: str) -> dict[str, str]:
    """Name of each exercise of a chapter's text -> the source of its cell."""
    return {definition_in(cell.source).name: cell.source for cell in cells(text) if cell.part == "exercise"}


def _part(cell):
    if cell.cell_type != "code":
        return "prose"
    tagged = [part for part in PARTS if part in cell.metadata.get("tags", ())]
    return tagged[0] if tagged else "demo"


def interface(source: str) -> str:
    """Signatures and docstrings of a function, or of a class and its public methods, and nothing else.

    Two sources with the same interface ask the same of whoever writes the body.
    """
    definition = copy.deepcopy(definition_in(source))
    _hollow(definition)
    return ast.unparse(definition)


def definition_in(source: str) -> ast.FunctionDef | ast.ClassDef:
    """The first function or class that a source defines."""
    return next(node for node in ast.parse(source).body if isinstance(node, DEFINITIONS))


def docstring_of(node: ast.FunctionDef | ast.ClassDef) -> list[ast.stmt]:
    """The statement that is a definition's docstring, or nothing."""
    return node.body[:1] if ast.get_docstring(node) is not None else []


def _hollow(node):
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef) and _public(part.name)]
    doc = docstring_of(node)
    if doc:
        doc = [ast.Expr(ast.Constant(ast.get_docstring(node)))]
    if isinstance(node, ast.FunctionDef):
        node.body = doc or [ast.Expr(ast.Constant(...))]
        return
    for method in methods:
        _hollow(method)
    node.body = [*doc, *methods] or [ast.Expr(ast.Constant(...))]


def _public(name):
    return not name.startswith("_") or re.fullmatch(r"__\w+__", name) is not None
