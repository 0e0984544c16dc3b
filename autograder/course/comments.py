"""Reusable comments: type #key in a comment field of formgrader, and feedback shows the text that comments.yml has."""

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from autograder.errors import UserError

FILE = "comments.yml"
EXAMPLE = Path(__file__).with_name("comments_example.yml")
_KEY = "[a-z][a-z0-9_-]*"
# This skips the "#" of a heading, which a space follows, and the "#" in an address or in an entity such as &#39;.
_USE = re.compile(rf"(?<![\w#&/.])#({_KEY})")


def load_comments(course: Path) -> dict[str, str]:
    """Return key -> text of the course's comments; {} without a file. Raises UserError for an unusable file."""
    path = course / FILE
    if not path.exists():
        return {}
    try:
        comments = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path} cannot be read: {reason}. A text with a colon in it needs quotation marks.") from error
    if not isinstance(comments, dict):
        raise UserError(f"{path}: write a line for each comment, such as “seeds: Run it with two more seeds.”")
    for key, text in comments.items():
        if not isinstance(key, str) or not re.fullmatch(_KEY, key):
            raise UserError(f"{path}: the key {key!r} is not a word of small letters, digits, hyphens and underscores")
        if not isinstance(text, str):
            raise UserError(f"{path}: the comment {key!r} is not a text; put it into quotation marks")
    return comments


def keys_in(comment: str) -> list[str]:
    """Return the keys that a comment uses, each once."""
    return list(dict.fromkeys(_USE.findall(comment)))


def expanded(comment: str, comments: Mapping[str, str]) -> str:
    """Replace each #key in a comment with its text, and drop unknown keys.

    In a course without reusable comments, a comment stays as it is.
    """
    return _USE.sub(lambda use: comments.get(use[1], "").strip(), comment).strip() if comments else comment
