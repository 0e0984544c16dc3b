"""Estimate from a chapter's text how long the chapter takes, so that authors need not guess.

- Prose: 175 words a minute. Most adults read English non-fiction at 175 to 300 words a minute (Brysbaert 2019), so this
  is slow. An inline formula counts as one word.
- A displayed formula: 20 seconds a line.
- Code that the page shows: 4 seconds a line, without blank lines.
- A figure: 30 seconds.

Readers work on stubs and checks instead of reading them. The exercises' cards give the minutes for that.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jupytext.myst import read_fenced_cell
from markdown_it.token import Token
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
class Estimate:
    """How long a chapter takes.

    core, whole: minutes to read the core path and the whole chapter.
    exercises, practice, points: the number of exercises, their minutes, and their points.
    """

    core: float
    whole: float
    exercises: int
    practice: int
    points: int

    def __str__(self) -> str:
        """Return the line at the top of the chapter, in Markdown."""
        core, whole = duration(self.core), duration(self.whole)
        core_path = "" if core == whole else f"{core} to read the core path, "
        reading = f"about {core_path}{whole} to read{' everything' if core_path else ''}"
        number, points = num2words(self.exercises), count(self.points, "point")
        practice = f", and {duration(self.practice)} for the {number} exercises ({points})" if self.exercises else ""
        return f"**Time:** {reading}{practice}."


def estimate(text: str) -> Estimate:
    """Return how long a chapter takes, from its MyST text."""
    exercise_cards = cards(text)
    times = list(_block_times(text))
    return Estimate(
        core=sum(minutes for minutes, on_core_path in times if on_core_path),
        whole=sum(minutes for minutes, _ in times),
        exercises=len(exercise_cards),
        practice=sum(card.minutes for card in exercise_cards),
        points=sum(card.points for card in exercise_cards),
    )


def _block_times(text: str) -> Iterator[tuple[float, bool]]:
    """Yield the minutes of each block of a chapter, and whether the block is on the core path."""
    lines = text.split("\n")
    skipped_level = 0  # level of the heading that began the section off the core path; 0 on the core path
    for token in myst.blocks(text):
        if token.type == "heading_open" and token.level == 0 and token.map:
            level = int(token.tag[1])
            if not skipped_level or level <= skipped_level:
                skipped_level = level if lines[token.map[0] - 1].strip() == OFF_CORE_PATH else 0
        yield _seconds(token) / 60, not skipped_level


def _seconds(token: Token) -> float:
    if token.type == "inline":
        return _prose_seconds(token.content)
    if token.type in ("math_block", "math_block_label", "amsmath"):
        return SECONDS_A_LINE_OF_MATHS * (1 + token.content.count(r"\\"))
    if token.type not in ("fence", "colon_fence"):
        return 0
    directive = myst.directive(token)
    if directive is None:
        return _code_seconds(token.content)
    if directive.name in myst.CELLS:
        options, lines = read_fenced_cell(token, 0, "Code")
        source = "\n".join(lines)
        shown = not _NOT_READ & set(options.get("tags", ()))
        return shown * _code_seconds(source) + SECONDS_A_FIGURE * bool(_FIGURE.search(source))
    first_line = SECONDS_A_FIGURE if directive.name == "figure" else _prose_seconds(directive.argument)
    return first_line + sum(map(_seconds, myst.blocks(directive.body)))


def _prose_seconds(text: str) -> float:
    return 60 / WORDS_A_MINUTE * len(_FORMULA.sub("x", text).split())


def _code_seconds(text: str) -> float:
    return SECONDS_A_LINE_OF_CODE * sum(1 for line in text.split("\n") if line.strip())


def duration(minutes: float) -> str:
    """Return minutes in words, rounded to five: "40 minutes", "an hour and 10 minutes"."""
    hours, rest = divmod(5 * max(1, round(minutes / 5)), 60)
    parts = ["an hour" if hours == 1 else f"{hours} hours"] if hours else []
    return " and ".join(parts + [f"{rest} minutes"] * bool(rest))
