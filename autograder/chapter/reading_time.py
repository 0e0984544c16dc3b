"""How long a chapter takes, told from its text by one rule, so that no author has to guess.

- Prose: 175 words a minute, the slow end of how fast adults read English non-fiction (Brysbaert 2019: most read 175 to
  300). A formula in the line is a word.
- A displayed formula: 20 seconds a line.
- Code that the page shows: 4 seconds a line; a blank line takes no time.
- A figure: 30 seconds.

Stubs and checks are not read but worked on; their cards say how long that takes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jupytext.myst import read_fenced_cell
from num2words import num2words

from autograder.chapter import myst
from autograder.chapter.cards import cards
from check.words import count

WORDS_A_MINUTE = 175
SECONDS_A_LINE_OF_MATHS = 20
SECONDS_A_LINE_OF_CODE = 4
SECONDS_A_FIGURE = 30

OFF_CORE_PATH = "{.off-core-path}"

_FORMULA = re.compile(r"\$[^$]+\$")
_FIGURE = re.compile(r"\bfigures\.(?:show|model_map)\(")
_NOT_READ = {"hide-input", "hide-cell", "remove-input", "remove-cell", "exercise", "check"}


@dataclass(frozen=True)
class Reading:
    """Minutes to read the core path and the whole chapter; its exercises, their minutes and points."""

    core: float
    whole: float
    exercises: int
    practice: int
    points: int

    def __str__(self):
        core, whole = _told(self.core), _told(self.whole)
        path = "" if core == whole else f"{core} to read the core path, "
        read = f"about {path}{whole} to read{' everything' if path else ''}"
        number, points = num2words(self.exercises), count(self.points, "point")
        work = f", and {_told(self.practice)} for the {number} exercises ({points})" if self.exercises else ""
        return f"**Time:** {read}{work}."


def of(text: str) -> Reading:
    """The times of a chapter, given as MyST."""
    found = cards(text)
    times = list(_blocks(text))
    return Reading(
        core=sum(minutes for minutes, on_core_path in times if on_core_path),
        whole=sum(minutes for minutes, _ in times),
        exercises=len(found),
        practice=sum(card.minutes for card in found),
        points=sum(card.points for card in found),
    )


def _blocks(text) -> Iterator[tuple[float, bool]]:
    """Minutes of each block of a chapter, and whether it is on the core path."""
    lines, left_at = text.split("\n"), 0
    for token in myst.blocks(text):
        if token.type == "heading_open" and token.level == 0 and token.map:
            level = int(token.tag[1])
            if not left_at or level <= left_at:
                left_at = level if lines[token.map[0] - 1].strip() == OFF_CORE_PATH else 0
        yield _seconds(token) / 60, not left_at


def _seconds(token):
    if token.type == "inline":
        return _prose(token.content)
    if token.type in ("math_block", "math_block_label", "amsmath"):
        return SECONDS_A_LINE_OF_MATHS * (1 + token.content.count(r"\\"))
    if token.type not in ("fence", "colon_fence"):
        return 0
    directive = myst.directive(token)
    if directive is None:
        return _code(token.content)
    if directive.name in myst.CELLS:
        options, lines = read_fenced_cell(token, 0, "Code")
        source = "\n".join(lines)
        shown = not _NOT_READ & set(options.get("tags", ()))
        return shown * _code(source) + SECONDS_A_FIGURE * bool(_FIGURE.search(source))
    head = SECONDS_A_FIGURE if directive.name == "figure" else _prose(directive.argument)
    return head + sum(map(_seconds, myst.blocks(directive.body)))


def _prose(text):
    return 60 / WORDS_A_MINUTE * len(_FORMULA.sub("x", text).split())


def _code(text):
    return SECONDS_A_LINE_OF_CODE * sum(1 for line in text.split("\n") if line.strip())


def _told(minutes):
    """ "40 minutes", "an hour and 10 minutes": rounded to five, since nobody reads by the clock."""
    hours, rest = divmod(5 * max(1, round(minutes / 5)), 60)
    parts = ["an hour" if hours == 1 else f"{hours} hours"] if hours else []
    return " and ".join(parts + [f"{rest} minutes"] * bool(rest))
