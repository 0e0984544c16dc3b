"""Find the addresses of a chapter's sections in the published book."""

from pathlib import Path

import yaml
from docutils.nodes import make_id

from autograder.chapter import myst
from autograder.chapter.chapter import Chapter
from autograder.layout import REPO


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
