"""When a chapter is due, what late work still earns, and who has more time.

The due date is in nbgrader's gradebook. course/deadlines.json holds what nbgrader has no place for: credit for late
work by steps, and extensions, which nbgrader can store only once there is a submission.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

from nbgrader.api import Assignment, Gradebook, SubmittedAssignment
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.orm import Query

from autograder.course.json_file import read_json, write_json
from autograder.errors import UserError
from autograder.gradebook.hand_in_times import due_with_extension
from autograder.gradebook.queries import due_date

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
class Rules:
    """What one chapter adds to its due date. steps: in the order of time. extensions: student -> Extension."""

    steps: tuple[Step, ...] = ()
    extensions: Mapping[str, Extension] = field(default_factory=dict)

    def share(self, seconds_late: float) -> float:
        """Return the share of the score that work so late earns: 1 in time or without steps, 0 after the last step."""
        if not self.steps or seconds_late <= 0:
            return 1.0
        return next((step.share for step in self.steps if seconds_late <= step.seconds), 0.0)

    def due(self, student: str, due: datetime | None, extension: timedelta | None = None) -> datetime | None:
        """Return when a chapter is due for a student. extension: the one that the gradebook has."""
        if due and student in self.extensions:
            return max(due, self.extensions[student].until)
        return due_with_extension(due, extension)


def load_rules(course: Path, chapter: str) -> Rules:
    """Return a chapter's rules. Raises UserError for a damaged file."""
    return _load(course).get(chapter, Rules())


def save_rules(course: Path, chapter: str, rules: Rules) -> None:
    """Replace a chapter's rules."""
    everything = _load(course) | {chapter: rules}
    write_json(_file(course), everything)


def set_due(gradebook: Gradebook, course: Path, chapter: str, due: datetime | None, steps: tuple[Step, ...]) -> None:
    """Set the due date, None for none, and the steps. Extensions stay, but have no effect without a due date."""
    gradebook.update_or_create_assignment(chapter, duedate=due)
    save_rules(course, chapter, replace(load_rules(course, chapter), steps=steps))
    store_extensions(gradebook, course, chapter)


def extend(gradebook: Gradebook, course: Path, chapter: str, student: str, until: datetime | None, why: str) -> None:
    """Extend a student's due date to `until`; None withdraws the extension."""
    rules = load_rules(course, chapter)
    extensions = {other: extension for other, extension in rules.extensions.items() if other != student}
    if until:
        extensions[student] = Extension(until, why)
    save_rules(course, chapter, replace(rules, extensions=extensions))
    for submission in _submissions(gradebook, chapter).filter(SubmittedAssignment.student_id == student):
        submission.extension = None
    store_extensions(gradebook, course, chapter)


def store_extensions(gradebook: Gradebook, course: Path, chapter: str) -> None:
    """Write the extensions of students with a submission into nbgrader's table."""
    rules = load_rules(course, chapter)
    for submission in _submissions(gradebook, chapter):
        due = submission.assignment.duedate
        if due is None:
            submission.extension = None  # nbgrader adds it to the due date, and there is none
        elif extension := rules.extensions.get(submission.student_id):
            submission.extension = max(extension.until - due, timedelta())
    gradebook.db.commit()


def _submissions(gradebook: Gradebook, chapter: str) -> Query[SubmittedAssignment]:
    return gradebook.db.query(SubmittedAssignment).join(Assignment).filter(Assignment.name == chapter)


def parse_when(text: str) -> datetime:
    """Return a time in UTC and without a zone. Without a zone it is this machine's; a date alone is its last minute.

    Without seconds it is the end of the minute, as on Canvas. Raises UserError.
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


def shown_time(when: datetime) -> str:
    """Return a time of the gradebook as a sentence shows it, in this machine's zone."""
    local = when.replace(tzinfo=UTC).astimezone()
    offset = local.strftime("%z")
    return f"{local:%A} {local.day} {local:%B %Y}, {local:%H:%M} (UTC{offset[:3]}:{offset[3:]})"


def sentences(due: datetime | None, rules: Rules, student: str = "") -> list[str]:
    """Return what students need to know about the due date, for all or for one of them; nothing without a due date."""
    own = rules.due(student, due)
    if not due or not own:
        return []
    lines = [f"Due {shown_time(own)}{', which is your extension' if own > due else ''}."]
    steps = [f"{step.share:.0%} until {shown_time(own + timedelta(seconds=step.seconds))}" for step in rules.steps]
    if steps:
        lines.append(f"Later work earns {', then '.join(steps)}, and nothing after that.")
    return lines


def read_sentences(coursedir: CourseDirectory) -> list[str]:
    """Return what all students need to know about a chapter's due date."""
    return sentences(due_date(coursedir), load_rules(Path(coursedir.root), coursedir.assignment_id))


def _load(course: Path) -> dict[str, Rules]:
    return read_json(_file(course), dict[str, Rules], {})


def _file(course: Path) -> Path:
    return course / "deadlines.json"
