"""Show an instructor's remarks below the lines of a student's code that they are about.

In a comment on an exercise, the line `line 7: The mask comes too late.` is a remark on line 7 of the exercise's cell.
"""

import re

from markupsafe import Markup

from autograder.pages.code import highlighted
from check.messages import sentence_as_html

_REMARK = re.compile(r"\s*line\s+(\d{1,4})\s*:\s*(\S.*)", re.IGNORECASE)


def separate(comment: str, source: str) -> tuple[dict[int, list[str]], str]:
    """Return a comment's remarks by line number, and its rest, which keeps remarks on lines that do not exist."""
    existing = range(1, len(_lines(source)) + 1)
    remarks: dict[int, list[str]] = {}
    rest = []
    for line in comment.splitlines():
        match = _REMARK.fullmatch(line)
        if match and int(match[1]) in existing:
            remarks.setdefault(int(match[1]), []).append(match[2])
        else:
            rest.append(line)
    return remarks, "\n".join(rest).strip()


def code_with_remarks(source: str, remarks: dict[int, list[str]]) -> Markup:
    """Return a source as HTML for a <pre>, with the remarks below their lines."""
    note = Markup('<span class="remark" role="note">Your instructor on line {}: {}</span>')
    page = Markup("")
    for number, line in enumerate(_lines(source), 1):
        notes = [note.format(number, Markup(sentence_as_html(remark))) for remark in remarks.get(number, ())]
        # A note is a block: a line feed beside it would be an empty line.
        page += line + (Markup("").join(notes) or "\n")
    return page


def _lines(source: str) -> list[Markup]:
    """Return the lines of a source as HTML. Pygments closes every tag at the end of its line."""
    return highlighted(source).removesuffix("\n").split("\n")
