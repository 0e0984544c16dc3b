"""Estimate from a chapter's text how long the chapter takes, so that authors need not guess.

- Prose: 175 words a minute. Most adults read English non-fiction at 175 to 300 words a minute (Brysbaert 2019), so this
  is slow. An inline formula counts as one word.
- A displayed formula: 20 seconds a line.
- A numbered step of a derivation: a minute more, to follow it with a pencil. In a chapter of derivations this and
  reading the formulas take about as long as everything else.
- Code that the page shows: 4 seconds a line, without blank lines.
- A figure: 30 seconds.

Readers work on stubs and checks instead of reading them. The exercises' cards give the minutes for that.
"""

import re
from dataclasses import dataclass

from jupytext.myst import read_fenced_cell
from markdown_it.token import Token
from num2words import num2words

from autograder.chapter import myst
from autograder.chapter.cards import cards
from check.words import count

WORDS_A_MINUTE = 175
SECONDS_A_LINE_OF_MATHS = 20
SECONDS_A_STEP_OF_A_DERIVATION = 60
SECONDS_A_LINE_OF_CODE = 4
SECONDS_A_FIGURE = 30

OFF_CORE_PATH = "{.off-core-path}"

_FORMULA = re.compile(r"\$[^$]+\$")
_STEP = re.compile(r"\(\d+\)\\quad")
_FIGURE = re.compile(r"\bfigures\.(?:show|model_map)\(")
_NOT_READ = {"hide-input", "hide-cell", "remove-input", "remove-cell", "exercise", "check"}


@dataclass(frozen=True)
class Effort:
    """What a text asks of its readers.

    reading, practice: minutes to read it, and for its exercises.
    exercises, points: the number of its exercises, and their points.
    """

    reading: float
    exercises: int
    practice: int
    points: int


@dataclass(frozen=True)
class Estimate:
    """How long a chapter takes: its core path, and all of it."""

    core: Effort
    whole: Effort

    def __str__(self) -> str:
        """Return the line at the top of the chapter, in Markdown."""
        core, whole = self.core, self.whole
        reading = f"{duration(whole.reading)} to read"
        practice = f"{duration(whole.practice)} for {{}} {_exercises(whole)} ({count(whole.points, 'point')})"
        if core == whole:
            return f"**Time:** about {reading}" + (f", and {practice.format('the')}." if whole.exercises else ".")
        core_path = f"**Time:** about {duration(core.reading)} to read the core path"
        if not whole.exercises:
            return f"{core_path}, {reading} everything."
        core_practice = f" and {duration(core.practice)} for its {_exercises(core)}" if core.exercises else ""
        return f"{core_path}{core_practice}; {reading} everything and {practice.format('all')}."


def estimate(text: str) -> Estimate:
    """Return how long a chapter takes, from its MyST text."""
    return Estimate(_effort(core_path(text)), _effort(text))


def core_path(text: str) -> str:
    """Return a chapter's MyST text without the sections off the core path."""
    lines = text.split("\n")
    kept: list[str] = []
    first, skipped_level = 0, 0  # where the section begins; level of the section to skip, 0 on the core path
    for token in myst.blocks(text):
        if token.type == "heading_open" and token.level == 0 and token.map:
            kept += [] if skipped_level else lines[first : token.map[0]]
            first, level = token.map[0], int(token.tag[1])
            if not skipped_level or level <= skipped_level:
                skipped_level = level if lines[first - 1].strip() == OFF_CORE_PATH else 0
    return "\n".join(kept + ([] if skipped_level else lines[first:]))


def _effort(text: str) -> Effort:
    exercise_cards = cards(text)
    return Effort(
        reading=sum(map(_seconds, myst.blocks(text))) / 60,
        exercises=len(exercise_cards),
        practice=sum(card.minutes for card in exercise_cards),
        points=sum(card.points for card in exercise_cards),
    )


def _exercises(effort: Effort) -> str:
    return f"{num2words(effort.exercises)} exercise{'s' * (effort.exercises != 1)}"


def _seconds(token: Token) -> float:
    if token.type == "inline":
        return _prose_seconds(token.content)
    if token.type in ("math_block", "math_block_label", "amsmath"):
        steps = len(_STEP.findall(token.content))
        return SECONDS_A_LINE_OF_MATHS * (1 + token.content.count(r"\\")) + SECONDS_A_STEP_OF_A_DERIVATION * steps
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
