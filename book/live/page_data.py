"""Describe each page with exercises, and make the JSON that the page's script reads."""

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sphinx.environment import BuildEnvironment

from autograder.problem_reports import QUESTION
from autograder.version import version as version_of_book

KEY = "live page"  # in Sphinx's metadata of a page, which Sphinx stores between builds
FRONT = "front page"  # in the same metadata, for the page with the first exercise


@dataclass(frozen=True)
class LivePage:
    """A page with exercises.

    chapter, number, title: as in "01_attention", 1, "Attention". time: how long it takes to read, in words.
    questions: the keys of its questions. setup: the sources of its setup cell and given functions.
    helpers: name -> source of the book's own functions that the page may have.
    cells: for each given cell, what `page_needs.given_cells` says about it.
    sections: title -> address of each section.
    exercises: name -> version of each exercise, in order. elsewhere: names of those that need PyTorch.
    uses: name of an exercise -> the functions of earlier chapters that it uses.
    needs: name of an exercise -> all exercises that must be solved before it runs.
    modules: name of an exercise -> the module of solutions/ with its reference.
    start: name of a stored zip file, with what the page's Python needs of the chapter at its start.
    data: path in the chapter's bundle -> name of a stored file, which that Python loads when it opens the path.
    bundle, bundle_with_other_keys, notebook: names of stored files.
    """

    chapter: str
    number: int
    title: str
    time: str
    questions: list[str]
    setup: str
    helpers: dict[str, str]
    cells: list[dict[str, Any]]
    sections: dict[str, str]
    exercises: dict[str, str]
    elsewhere: list[str]
    uses: dict[str, list[str]]
    needs: dict[str, list[str]]
    modules: dict[str, str]
    start: str
    data: dict[str, str]
    bundle: str
    bundle_with_other_keys: str
    notebook: str

    def in_browser(self) -> dict[str, str]:
        """Return name -> version of the exercises that run in a browser."""
        return {name: version for name, version in self.exercises.items() if name not in self.elsewhere}


@dataclass(frozen=True)
class FrontPage:
    """The page with the first exercise, which belongs to no chapter.

    name, version: of the exercise. setup: a source. sections: title -> address of the section that explains it.
    start: name of a stored zip file, with what the page's Python needs.
    """

    name: str
    version: str
    setup: str
    sections: dict[str, str]
    start: str


def version(stub: str) -> str:
    """Return a short name for the code of a stub, without comments and docstrings.

    If it changes, a page checks again what passed, and sets aside what did not.
    """
    code = ast.parse(stub)
    for node in ast.walk(code):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(code).encode()).hexdigest()[:12]


def live_pages(env: BuildEnvironment) -> dict[str, LivePage]:
    """Return name -> page for all pages with exercises, in the order of their names."""
    return {docname: data[KEY] for docname, data in sorted(env.metadata.items()) if KEY in data}


def for_map(pages: Iterable[LivePage]) -> dict[str, Any]:
    """Return what the script of the page that lists all exercises must know."""
    return {"exercises": {name: version for page in pages for name, version in page.in_browser().items()}}


def for_progress(pages: Iterable[LivePage], last_lent: int) -> dict[str, Any]:
    """Return what the script of the page with the reader's progress must know, from all pages with exercises."""
    return {
        "chapters": [
            {
                "chapter": page.chapter,
                "number": page.number,
                "title": page.title,
                "time": page.time,
                "exercises": [{"name": name, "version": version} for name, version in page.in_browser().items()],
                "elsewhere": page.elsewhere,
                "questions": page.questions,
                "isLent": page.number <= last_lent,
            }
            for page in sorted(pages, key=lambda page: page.number)
        ]
    }


def for_reports(template: str) -> dict[str, str] | None:
    """Return what a page's script must know to report a problem. template: from `report_template`; "" for None."""
    return {"template": template, "version": version_of_book(), "question": QUESTION} if template else None


def for_front_page(page: FrontPage) -> dict[str, Any]:
    """Return what the script of the front page must know, without the addresses of files."""
    return {
        "setup": page.setup,
        "helpers": {},
        "cells": [],
        "sections": page.sections,
        "elsewhere": [],
        "exercises": [{"name": page.name, "version": page.version, "uses": []}],
        "lent": None,
        "earlier": [],
    }


def for_page(page: LivePage, pages: Iterable[LivePage], last_lent: int) -> dict[str, Any]:
    """Return what the script of a page with exercises must know, without the addresses of files.

    pages: all pages with exercises. last_lent: number of the last chapter whose solutions the page lends.
    """
    earlier = sorted((other for other in pages if other.number < page.number), key=lambda other: other.number)
    lent = [other for other in (*earlier, page) if other.number <= last_lent]
    return {
        "chapter": page.chapter,
        "setup": page.setup,
        "helpers": page.helpers,
        "cells": page.cells,
        "sections": page.sections,
        "elsewhere": page.elsewhere,
        "exercises": [
            {"name": name, "version": version, "uses": page.uses[name]} for name, version in page.in_browser().items()
        ],
        "lent": {"modules": {name: other.modules[name] for other in lent for name in other.in_browser()}},
        "earlier": [
            {name: getattr(other, name) for name in ("chapter", "number", "setup", "exercises", "needs")}
            for other in earlier
        ],
    }
