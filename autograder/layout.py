"""The repository's folder, the names of its chapters and solutions, and a faster import of nbformat."""

import re
import sys
from pathlib import Path

from autograder.errors import UserError

REPO = Path(__file__).resolve().parent.parent
HUB = Path("autograder", "hub")  # nothing of it gets into the book or into a release


def chapter_names(repo: Path = REPO) -> list[str]:
    """Return the names of all chapters, in the order of the book."""
    return sorted(file.stem for file in (repo / "chapters").glob("[0-9][0-9]_*.md"))


def known_chapter(name: str, repo: Path = REPO) -> str:
    """Return the name of a chapter. Raises UserError, with the names of all chapters, if there is no such chapter."""
    names = chapter_names(repo)
    if name not in names:
        raise UserError(f"there is no chapter {name!r}; there are: {', '.join(names)}")
    return name


def number_and_word(chapter: str) -> tuple[int, str]:
    """Return a chapter's number and the word that every folder uses for it: 3 and "masking" for "03_masking"."""
    number, _, word = chapter.partition("_")
    return int(number), word


def exercise_names(chapter: str, repo: Path = REPO) -> list[str]:
    """Return the names of a chapter's exercises, in the order in which its text checks them."""
    return exercises_checked_in((repo / "chapters" / f"{chapter}.md").read_text(encoding="utf-8"))


def exercises_checked_in(text: str) -> list[str]:
    """Return the names of the exercises that a page checks, in the order of its text."""
    return re.findall(r"^check\((\w+)\)$", text, re.MULTILINE)


def solution_modules(repo: Path = REPO) -> dict[str, int | None]:
    """Return the chapter number of each module of solutions/, as its docstring gives it; None for a helper module."""
    numbers: dict[str, int | None] = {}
    for file in sorted((repo / "solutions").glob("[!_]*.py")):
        chapter = re.match(r'"""Chapter (\d+)\b', file.read_text(encoding="utf-8"))
        numbers[file.stem] = int(chapter[1]) if chapter else None
    return numbers


def do_without_address_checks() -> None:
    """Save more than a second on the first import of nbformat or nbgrader.

    Most of that second goes into rfc3987_syntax, which checks international addresses. jsonschema skips this check
    if the package is not installed, so we hide the package.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
