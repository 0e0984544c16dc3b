"""What late work still earns, and who has more time.

course/deadlines.json stores what nbgrader cannot: the steps of credit for late work, and extensions of students who
have not handed in yet.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path

from autograder.course.files import read_json, write_json
from autograder.errors import UserError
from autograder.scores.hand_in_times import due_with_extension

_SECONDS = re.compile(r"\d\d:\d\d:\d\d|[T ]\d{6}")


@dataclass(frozen=True)
class Step:
    """Late work earns a share of its score, from 0 to 1, until this many seconds after the due date."""

    share: float
    seconds: float


@dataclass(frozen=True)
class Extension:
    """A student's own due date, in UTC and without a zone, and the reason."""

    until: datetime
    why: str = ""


@dataclass(frozen=True)
class LateRules:
    """What one chapter adds to its due date. steps: in the order of time. extensions: student -> Extension."""

    steps: tuple[Step, ...] = ()
    extensions: Mapping[str, Extension] = field(default_factory=dict)

    def share(self, seconds_late: float) -> float:
        """Return the share of the score for work this late: 1 in time or without steps, 0 after the last step."""
        if not self.steps or seconds_late <= 0:
            return 1.0
        return next((step.share for step in self.steps if seconds_late <= step.seconds), 0.0)

    def due(self, student: str, due: datetime | None, extension: timedelta | None = None) -> datetime | None:
        """Return when a chapter is due for a student. extension: the one that the gradebook has."""
        if due and student in self.extensions:
            return max(due, self.extensions[student].until)
        return due_with_extension(due, extension)


def load_rules(course: Path, chapter: str) -> LateRules:
    """Return a chapter's rules. Raises UserError for a damaged file."""
    return _load(course).get(chapter, LateRules())


def save_rules(course: Path, chapter: str, rules: LateRules) -> None:
    """Replace a chapter's rules."""
    everything = _load(course) | {chapter: rules}
    write_json(_file(course), everything)


def parse_when(text: str) -> datetime:
    """Return a time in UTC, without a zone. A text without a zone is in this machine's zone.

    A date alone means its last minute, and a time without seconds the end of its minute, as on Canvas.

    Raises UserError.
    """
    try:
        when = datetime.fromisoformat(text.strip())
        if len(text.strip()) <= len("2026-12-04"):  # also 20261204
            when = datetime.combine(when, time(23, 59))
        if not _SECONDS.search(text):
            when = when.replace(second=59)
        return when.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:  # in UTC, the year may be 0 or 10000
        raise UserError(f"{text!r} is not a time: write it like 2026-12-04, or like “2026-12-04 23:59”") from error


def parse_steps(late: Iterable[tuple[str, str]], due: datetime | None) -> tuple[Step, ...]:
    """Return the steps in the order of time. late: each a share such as "50%", and its end. Raises UserError."""
    steps = sorted((_step(*words, due) for words in late), key=lambda step: (step.seconds, -step.share))
    _require_falling_shares(steps)
    return tuple(steps)


def _step(percent: str, until: str, due: datetime | None) -> Step:
    number = percent.removesuffix("%")
    if not number.isdecimal() or not 0 < int(number) < 100:
        raise UserError(f"{percent!r} is not a percentage between 1% and 99%")
    when = parse_when(until)
    if due is None or when <= due:
        raise UserError(f"late work can earn {percent} only until a time after the due date, not until {until}")
    return Step(int(number) / 100, (when - due).total_seconds())


def _require_falling_shares(steps: Iterable[Step]) -> None:
    for step, later in pairwise(steps):
        if later.seconds == step.seconds or later.share >= step.share:
            raise UserError(
                "the share that late work earns must fall from one time to a later one, unlike "
                f"{step.share:.0%} and then {later.share:.0%}"
            )


def shown_time(when: datetime) -> str:
    """Format a time of the gradebook for a sentence, in this machine's zone."""
    local = when.replace(tzinfo=UTC).astimezone()
    offset = local.strftime("%z")
    return f"{local:%A} {local.day} {local:%B %Y}, {local:%H:%M} (UTC{offset[:3]}:{offset[3:]})"


def sentences(due: datetime | None, rules: LateRules, student: str = "") -> list[str]:
    """Return what students need to know about the due date, for all or for one of them; nothing without a due date."""
    own = rules.due(student, due)
    if not due or not own:
        return []
    lines = [f"Due {shown_time(own)}{', which is your extension' if own > due else ''}."]
    steps = [f"{step.share:.0%} until {shown_time(own + timedelta(seconds=step.seconds))}" for step in rules.steps]
    if steps:
        lines.append(f"Later work earns {', then '.join(steps)}, and nothing after that.")
    return lines


def _load(course: Path) -> dict[str, LateRules]:
    return read_json(_file(course), dict[str, LateRules], {})


def _file(course: Path) -> Path:
    return course / "deadlines.json"
