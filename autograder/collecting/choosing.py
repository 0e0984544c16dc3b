"""Choose among the notebooks that one student handed in, by their content and by the times that are known.

Of two notebooks with different answers, the later one counts: the one that the platform received later or, if they came
together, the one whose cells ran later. JupyterLab, with its setting to record timing, and Colab write these times into
a notebook (jupyterlab, packages/cells/src/widget.ts, `execution`; Colab, `executionInfo`). If nothing says which is
later, no notebook is chosen.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from autograder.collecting.candidates import Candidate
from autograder.course.handout import Handout
from autograder.grading import notebook_file, reading
from autograder.grading.assignment import file_digest
from autograder.grading.submitted_file import File
from check.weights_file import WEIGHTS
from check.words import listed


@dataclass(frozen=True)
class Read:
    """A candidate that was read.

    of_chapter: whether it has cells of the chapter. answers: exercise -> source, for the cells that were edited, and
    WEIGHTS -> digest of the weights, if it has some. ran: when its cells ran last, in seconds since 1970; 0 if
    unknown.
    """

    candidate: Candidate
    content: bytes
    of_chapter: bool
    answers: dict[str, str]
    ran: float


def read(candidate: Candidate, content: bytes, released: Handout) -> Read:
    """Return what the choice needs to know about a candidate."""
    file = File(content)
    of_chapter = bool(reading.grade_ids(file) & released.unique_ids)
    stubs = {released.grade_id(position): released.source(position).strip() for position in released.editable}
    given = reading.read_submission(file, released) if of_chapter else reading.Submission()
    answers = {name: source for name, source in given.answers.items() if source.strip() != stubs[name]}
    if given.weights.raw:
        answers[WEIGHTS] = file_digest(given.weights)
    return Read(candidate, content, of_chapter, answers, max(_times(content), default=0.0) if of_chapter else 0.0)


def choose(all_read: Sequence[Read], chapter: str) -> tuple[Read | None, list[tuple[Read, str]]]:
    """Return the notebook that counts, or None if that cannot be known, and why each of the others does not count."""
    group = [one for one in all_read if one.answers] or [one for one in all_read if one.of_chapter] or all_read
    received = max(one.candidate.when for one in group)
    latest = [one for one in group if one.candidate.when == received]
    if all(one.ran for one in latest):
        latest = [one for one in latest if one.ran == max(one.ran for one in latest)]
    if any(one.answers != latest[0].answers for one in latest):
        names = listed(one.candidate.entry.name for one in latest)
        reason = f"{names} were handed in together with other answers, and nothing says which of them counts: place it"
        undecided = [(one, f"{reason} by hand") for one in latest]
        return None, [*undecided, *((one, reason) for one, reason in _others(all_read, latest, chapter))]
    return latest[0], list(_others(all_read, latest[:1], chapter))


def _others(all_read: Iterable[Read], best: Sequence[Read], chapter: str) -> Iterator[tuple[Read, str]]:
    chosen = best[0]
    name = chosen.candidate.entry.name
    for one in all_read:
        if any(one is other for other in best):
            continue
        if chosen.of_chapter and not one.of_chapter:
            yield one, f"it has no cell of {chapter}, but {name} has"
        elif chosen.answers and not one.answers:
            yield one, f"it holds no answer, but {name} does"
        elif one.candidate.when < chosen.candidate.when:
            yield one, "this student handed in another one later"
        elif one.ran < chosen.ran:
            yield one, f"its cells ran before those of {name}"
        else:
            yield one, f"it has the same answers as {name}" if one.answers else f"handed in together with {name}"


def _times(content: bytes) -> Iterator[float]:
    """Yield when the cells of a notebook ran, in seconds since 1970, for the cells that have a time."""
    try:
        cells = notebook_file.parse(content)[1]
    except notebook_file.NotANotebook:
        return
    for cell in map(notebook_file.as_dict, cells):
        metadata = notebook_file.as_dict(cell.get("metadata"))
        for time in notebook_file.as_dict(metadata.get("execution")).values():
            yield _seconds(time)
        colab = notebook_file.as_dict(metadata.get("executionInfo")).get("timestamp")
        yield colab / 1000 if isinstance(colab, int) and 0 < colab < 1e14 else 0.0


def _seconds(text: Any) -> float:
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0
