"""Where the chapters and the solutions are, what they are called, and one import that the house does without."""

import re
import sys
from pathlib import Path

from autograder.errors import UserError

HOUSE = Path(__file__).resolve().parent.parent


def chapter_names(house: Path = HOUSE) -> list[str]:
    """The chapters there are, in the order of the book."""
    return sorted(file.stem for file in (house / "chapters").glob("[0-9][0-9]_*.md"))


def known_chapter(name: str, house: Path = HOUSE) -> str:
    """Return the name of a chapter. Raises UserError, with the names of all chapters, if there is no such chapter."""
    names = chapter_names(house)
    if name not in names:
        raise UserError(f"there is no chapter {name!r}; there are: {', '.join(names)}")
    return name


def number_and_word(chapter: str) -> tuple[int, str]:
    """ "03_masking" -> 3, "masking": the number of a chapter, and its word in every room."""
    number, _, word = chapter.partition("_")
    return int(number), word


def exercise_names(chapter: str, house: Path = HOUSE) -> list[str]:
    """Return the names of a chapter's exercises, in the order in which its text checks them."""
    text = (house / "chapters" / f"{chapter}.md").read_text(encoding="utf-8")
    return re.findall(r"^check\((\w+)\)$", text, re.MULTILINE)


def solution_modules(house: Path = HOUSE) -> dict[str, int | None]:
    """Name of each module of solutions/ -> number of its chapter, which its docstring begins with; None for help."""
    belongs = {}
    for file in sorted((house / "solutions").glob("[!_]*.py")):
        chapter = re.match(r'"""Chapter (\d+)\b', file.read_text(encoding="utf-8"))
        belongs[file.stem] = int(chapter[1]) if chapter else None
    return belongs


def do_without_address_checks() -> None:
    """Spare nbformat and nbgrader, if they are not imported yet, the slowest part of their import, more than a second.

    It is a check of international addresses, which jsonschema does without where it is not installed.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
