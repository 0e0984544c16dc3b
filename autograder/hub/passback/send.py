"""Send a course's learning platform the scores that it does not have yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from autograder.course.files import read_json, write_json
from autograder.course.lock import course_lock
from autograder.errors import UserError
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.exporters import final_grades
from autograder.hub.passback.key import read_key
from autograder.hub.passback.platform import Launch, line_items_address, read_launches, read_registration
from autograder.hub.passback.service import GradeService, LineItem, Refused
from autograder.progress_bar import with_progress


class Sent(msgspec.Struct, frozen=True):
    """A score that we sent to the platform: its column, the platform's user, and the points."""

    line_item: str
    user: str
    score: float
    maximum: float


SentBefore = dict[str, dict[str, Sent]]  # chapter -> student -> Sent


@dataclass
class Outcome:
    """The result of sending one chapter's scores.

    points: the chapter's maximum. platform_points: that of the platform's column; None in a dry run.
    sent: student -> score. unchanged: students whose score the platform has. refused: student -> the platform's answer.
    unknown: students with a score who have never opened the hub from the platform.
    """

    chapter: str
    points: float
    platform_points: float | None = None
    sent: dict[str, float] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def send_scores(course: Path, hub: Path, chapters: Sequence[str], *, again: bool, dry_run: bool) -> list[Outcome]:
    """Send the scores of some chapters, and return the outcomes.

    `course/passback.json` keeps what was sent, so an interrupted run continues with the scores that are missing.

    Args:
        hub: the folder with the hub's lti.toml.
        again: send also the scores that were sent before.
        dry_run: send nothing, and ask the platform for nothing.

    Raises UserError, Busy.
    """
    name = open_coursedir(course, "").course_id
    registration, launches, key = read_registration(hub, name), read_launches(hub, name), read_key(course)
    address = line_items_address(launches)
    grades = final_grades(course, chapters)
    if missing := set(chapters) - {column.name for column in grades.columns}:
        chapter = min(missing)
        raise UserError(f"the gradebook has no scores of {chapter}: run `autograder grade {chapter}` first")
    outcomes, log = [], course / "passback.json"
    with course_lock(course):
        sent_before = read_json(log, SentBefore, {}, "delete it, and all scores are sent again")
        service = None if dry_run else GradeService(registration, key, address)
        for number, column in enumerate(grades.columns):
            scores = {person.id: score.final for person in grades.people if (score := person.scores[number])}
            outcome = Outcome(column.name, column.points)
            outcomes.append(outcome)
            before = sent_before.setdefault(column.name, {})
            item = service.line_item(column.name, column.points) if service else None
            waiting = _waiting(outcome, scores, launches, before, item, again=again)
            if service is None or item is None:
                outcome.sent = {student: score.score for student, score in waiting.items()}
                continue
            outcome.platform_points = item.score_maximum
            try:
                _send(service, item, outcome, waiting, before)
            finally:
                write_json(log, sent_before)
    return outcomes


def _waiting(
    outcome: Outcome,
    scores: Mapping[str, float],
    launches: Mapping[str, Launch],
    before: Mapping[str, Sent],
    item: LineItem | None,
    *,
    again: bool,
) -> dict[str, Sent]:
    """Return student -> what to send to the platform, and note the other students in the outcome."""
    waiting = {}
    for student, score in scores.items():
        if student not in launches:
            outcome.unknown.append(student)
            continue
        earlier = before.get(student)
        column = item.id if item else earlier.line_item if earlier else ""
        new = Sent(column, launches[student].user, score, outcome.points)
        if new == earlier and not again:
            outcome.unchanged.append(student)
        else:
            waiting[student] = new
    return waiting


def _send(
    service: GradeService, item: LineItem, outcome: Outcome, waiting: Mapping[str, Sent], before: dict[str, Sent]
) -> None:
    for student, new in with_progress(waiting.items(), "sending", "scores"):
        try:
            service.send(item, new.user, new.score, new.maximum)
        except Refused as refusal:
            outcome.refused[student] = str(refusal)
        else:
            outcome.sent[student] = new.score
            before[student] = new
