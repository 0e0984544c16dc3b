"""Where the book has the sections of a chapter."""

from pathlib import Path

import yaml
from docutils.nodes import make_id

from autograder.chapter import myst
from autograder.chapter.chapter import Chapter
from autograder.house import HOUSE


def section_addresses(chapter: Chapter, house: Path = HOUSE) -> dict[str, str]:
    """Title of each section -> its address; none if the book has no address, `html: baseurl:` in _config.yml."""
    config = yaml.safe_load((house / "_config.yml").read_text(encoding="utf-8"))
    book = config["html"].get("baseurl")
    return {title: section_address(book, chapter.name, title) for title in myst.titles(chapter.text)} if book else {}


def section_address(book: str, chapter: str, title: str) -> str:
    """The address of a section, as Sphinx names it, in a book at that address."""
    return f"{book.rstrip('/')}/chapters/{chapter}.html#{make_id(title)}"
