"""Where the chapters and the solutions are, and what they are called."""

import re
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent


def chapter_names(house: Path = HOUSE) -> list[str]:
    """The chapters there are, in the order of the book."""
    return sorted(file.stem for file in (house / "chapters").glob("[0-9][0-9]_*.md"))


def number_and_word(chapter: str) -> tuple[int, str]:
    """ "03_masking" -> 3, "masking": the number of a chapter, and its word in every room."""
    number, _, word = chapter.partition("_")
    return int(number), word


def solution_modules(house: Path = HOUSE) -> dict[str, int | None]:
    """Name of each module of solutions/ -> number of its chapter, which its docstring begins with; None for help."""
    belongs = {}
    for file in sorted((house / "solutions").glob("[!_]*.py")):
        chapter = re.match(r'"""Chapter (\d+)\b', file.read_text(encoding="utf-8"))
        belongs[file.stem] = int(chapter[1]) if chapter else None
    return belongs
