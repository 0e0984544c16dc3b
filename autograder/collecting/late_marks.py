"""Times of handing in that come from Canvas's LATE marks: each is the due date, or a second after it."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from autograder.collecting.file_prefixes import load_prefixes
from autograder.gradebook.attempts import handed_in
from autograder.gradebook.hand_in_times import time_handed_in


def students_with_marks_of(
    course: Path, chapter: str, due: datetime | None, marks: Iterable[bool] = (False, True)
) -> list[str]:
    """Return the students whose time of handing in was made from a LATE mark, or its absence, and this due date.

    marks: whether they have the mark; by default those with and those without.
    """
    times = {time_handed_in("canvas", marked_late, 0, None, due)[0] for marked_late in marks} - {None}
    of_canvas = load_prefixes(course, chapter).get("canvas", {})
    return sorted(student for student in of_canvas if handed_in(course / "submitted" / student / chapter) in times)
