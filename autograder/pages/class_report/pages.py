"""Write the class report as HTML: the instructor's page, one for similar code and one for each student.

No page runs a script or loads anything. The templates escape by default, including everything that a student wrote.
"""

import hashlib
import re
import statistics
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from autograder.course.handout import check_cell
from autograder.pages.class_report import alike, cohorts, counts, figures
from autograder.pages.class_report.entries import Class
from autograder.pages.instructor import templates
from check.messages import as_html

FOLDED = 8  # a list of more students is folded
OPEN_CLASS = 60  # the table of a larger class is folded
SHOWN_CELLS = 3  # this many students with the same unexplained fault are shown with their cells
SHOWN_LINES = 40  # a longer cell is only linked; one of chapter 8 has 400 lines
UNFOLDED = 3  # this many of the most frequent misconceptions are unfolded

# Kind of verdict -> how the page calls it.
KINDS = {
    "stopped": "stopped",
    "raised": "raised",
    "type": "wrong type",
    "structure": "wrong structure",
    "shape": "wrong shape",
    "dtype": "wrong dtype",
    "nan": "NaN or infinity",
    "modified": "input modified",
    "value": "wrong values",
    "no error": "no error where one is expected",
    "unusable": "weights that cannot be used",
    "error rate": "too many errors, or too high a loss",
}


def write_pages(
    group: Class,
    title: str,
    folder: Path,
    pairs: Sequence[alike.Pair] = (),
    earlier: Sequence[cohorts.Earlier] = (),
) -> Path:
    """Write the pages of a class into a folder, and delete the pages of students who are no longer in it.

    Args:
        group: a class with at least one graded student.
        title: the chapter's title.
        folder: the folder; created if it does not exist. Only its owner may read it.
        pairs: the pairs of students with similar code.
        earlier: the students with code like that of an earlier class.

    Returns:
        The file of the instructor's page.
    """
    students = folder / "students"
    students.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    environment = _environment()
    common: dict[str, Any] = {"title": title, "chapter": group.chapter}
    template = environment.get_template("student.html.j2")
    pages = {
        page_name(entry.student): template.render(common, entry=entry, name=group.names.get(entry.student, ""))
        for entry in group.entries
    }
    for stale in set(students.glob("*.html")) - {students / name for name in pages}:
        stale.unlink()
    for name, page in pages.items():
        _save(students / name, page)
    common |= {"group": group, "pairs": pairs, "earlier": earlier}
    _save(folder / "alike.html", environment.get_template("alike.html.j2").render(common))
    values = _values(group) | {"limits": _limits(group)}
    return _save(folder / "index.html", environment.get_template("class.html.j2").render(common, **values))


def _environment() -> Environment:
    """Return the instructor's templates, with the filters that only the class report uses."""
    environment = templates().overlay()
    environment.filters = environment.filters | {
        "percent": lambda share: f"{100 * share:.0f}%",
        "verdict": lambda result: Markup(as_html(result)),
        "kind": KINDS.__getitem__,
        "check_cell": check_cell,
        "day": lambda time: f"{datetime.fromtimestamp(time):%-d %B %Y}",
        "address": lambda student: quote(page_name(student)),
    }
    return environment


def page_name(student: str) -> str:
    """Return the file name of a student's page: the id if every system allows it as a file name, otherwise its hash."""
    allowed = re.fullmatch(r"\w[\w@+-]*(\.[\w@+-]+)*", student, re.ASCII) and len(student) <= 100
    return f"{student if allowed else hashlib.sha256(student.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}.html"


def _values(group: Class) -> dict[str, Any]:
    """Return the values that the template of the instructor's page uses."""
    entries, exercises = group.entries, counts.exercise_counts(group.entries)
    return {
        "points": max(entry.points for entry in entries),
        "median": statistics.median(entry.score for entry in entries),
        "n_perfect": sum(entry.is_perfect for entry in entries),
        "exercises": exercises,
        "misconceptions": counts.misconceptions(entries),
        "unfair_aspects": counts.unfair_aspects(entries),
        "unfair_share": counts.UNFAIR_SHARE,
        "unfair_students": counts.UNFAIR_STUDENTS,
        "worth_a_look": counts.worth_a_look(entries),
        "slowest": counts.slowest(entries),
        "outcome": counts.outcome,
        "outcomes": counts.OUTCOMES,
        "scores_figure": Markup(figures.scores(entries)),
        "map_figure": Markup(figures.class_map(entries, exercises)),
        "outcomes_figure": Markup(figures.outcomes(exercises)),
        "max_squares": figures.MAX_SQUARES,
        "folded": FOLDED,
        "open_class": OPEN_CLASS,
        "unfolded": UNFOLDED,
        "shown_cells": SHOWN_CELLS,
        "shown_lines": SHOWN_LINES,
    }


def _limits(group: Class) -> dict[str, float]:
    """Return the limits of the search for similar code, which the page explains."""
    return {
        "max_holders": alike.max_holders(len(group.entries)),
        "min_common": alike.MIN_COMMON,
        "min_share": alike.MIN_SHARE,
        "max_pairs": alike.MAX_PAIRS,
        "seed": alike.SEED,
    }


def _save(path: Path, page: str) -> Path:
    # A student id may come from a file name that is not valid text.
    path.write_text(page, encoding="utf-8", errors="replace")
    return path
