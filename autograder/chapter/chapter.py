"""Read a chapter as its author wrote it: a list of cells, each with its part in the notebook."""

import ast
import copy
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from docutils.nodes import make_id
from jupytext.myst import myst_to_notebook
from nbformat.notebooknode import NotebookNode

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.chapter import myst
from autograder.layout import REPO, known_chapter, number_and_word

PARTS = ("setup", "given-function", "exercise", "reference", "check", "recipe", "hand-in")
GIVEN = ("demo", "given-function", "recipe", "hand-in")  # cells that a reader runs unchanged, or with other numbers


@dataclass(frozen=True)
class Cell:
    """One cell of a chapter.

    part: one of PARTS, "by-hand" for a text that an instructor grades, "prose" for other Markdown, "demo" for other
        code. A "given-function" is a function of the chapter's solutions that the chapter prints and exercises call.
    metadata: of a text to grade by hand, "name" and "points" among others.
    line: where it begins in the file, from 1.
    """

    part: str
    source: str
    metadata: dict[str, Any]
    line: int


@dataclass(frozen=True)
class Chapter:
    """A chapter.

    name: its file name without the extension ("01_attention"). text: its MyST text.
    """

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
        """Name of each exercise -> the source of its stub's cell."""
        return stubs(self.text)

    @property
    def setup(self) -> str:
        """The source of the setup cell, and below it the given functions."""
        return "\n\n".join(cell.source for cell in self.cells if cell.part in ("setup", "given-function"))

    @property
    def given_functions(self) -> dict[str, str]:
        """Name of each given function -> the source of its cell."""
        return given_functions(self.text)

    @property
    def pictures(self) -> list[str]:
        """The paths of the pictures in its figures, as the chapter writes them."""
        return [directive.argument for directive in myst.directives(self.text) if directive.name == "figure"]


DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def text_of(name: str, repo: Path = REPO) -> str:
    """Return the text of a chapter. Raises UserError, with the names of all chapters, if there is no such chapter."""
    return (repo / "chapters" / f"{known_chapter(name, repo)}.md").read_text(encoding="utf-8")


def read_chapter(name: str, repo: Path = REPO) -> Chapter:
    """Return a chapter with its exercises. Raises UserError, with the names of all chapters, if there is none."""
    return Chapter(name, text_of(name, repo), tuple(exercises_of(name, repo)))


@cache  # all later chapters read the cells of a chapter
def cells(text: str) -> tuple[Cell, ...]:
    """Return the cells of a MyST notebook, in order."""
    notebook = myst_to_notebook(text, code_directive="{code-cell}", raw_directive="{raw-cell}", add_source_map=True)
    lines = notebook.metadata["source_map"]
    return tuple(
        Cell(_part(cell), cell.source, dict(cell.metadata), line + 1)
        for cell, line in zip(notebook.cells, lines, strict=True)
    )


@cache  # for every chapter, the gate reads the stubs of all chapters
def stubs(text: str) -> dict[str, str]:
    """Return name -> source of the stub's cell, for each exercise in a chapter's text."""
    return {definition_in(cell.source).name: cell.source for cell in cells(text) if cell.part == "exercise"}


@cache
def given_functions(text: str) -> dict[str, str]:
    """Return name -> source of the cell, for each given function in a chapter's text."""
    return {definition_in(cell.source).name: cell.source for cell in cells(text) if cell.part == "given-function"}


def _part(cell: NotebookNode) -> str:
    tags = cell.metadata.get("tags", ())
    if cell.cell_type != "code":
        return "by-hand" if "by-hand" in tags else "prose"
    return next((part for part in PARTS if part in tags), "demo")


def section_addresses(chapter: Chapter, repo: Path = REPO) -> dict[str, str]:
    """Return section title -> address; an empty dict if _config.yml gives the book no address (`html: baseurl:`)."""
    config = yaml.safe_load((repo / "_config.yml").read_text(encoding="utf-8"))
    book = config["html"].get("baseurl")
    if not book:
        return {}
    return {title: section_address(book, chapter.name, title) for title in myst.section_titles(chapter.text)}


def section_address(book: str, chapter: str, title: str) -> str:
    """Return the address of a section, with the anchor that Sphinx makes. book: the address of the book."""
    return f"{book.rstrip('/')}/chapters/{chapter}.html#{make_id(title)}"


def interface(source: str) -> str:
    """Return a source without its bodies: the signature and docstring of a function, or of a class and its methods.

    A stub and its reference must have the same interface. Private methods are not part of it.
    """
    definition = copy.deepcopy(definition_in(source))
    _remove_bodies(definition)
    return ast.unparse(definition)


def definition_in(source: str) -> ast.FunctionDef | ast.ClassDef:
    """Return the first function or class that a source defines."""
    return next(node for node in ast.parse(source).body if isinstance(node, DEFINITIONS))


def docstring_statements(node: ast.FunctionDef | ast.ClassDef) -> list[ast.stmt]:
    """Return a list with the statement that is a definition's docstring; an empty list if it has no docstring."""
    return node.body[:1] if ast.get_docstring(node) is not None else []


def _remove_bodies(node: ast.FunctionDef | ast.ClassDef) -> None:
    """Leave only the docstring of a function, or the docstring and the public methods of a class."""
    docstring = ast.get_docstring(node)
    statements: list[ast.stmt] = [] if docstring is None else [ast.Expr(ast.Constant(docstring))]
    if isinstance(node, ast.ClassDef):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and _is_public(method.name):
                _remove_bodies(method)
                statements.append(method)
    node.body = statements or [ast.Expr(ast.Constant(...))]


def _is_public(name: str) -> bool:
    return not name.startswith("_") or re.fullmatch(r"__\w+__", name) is not None
