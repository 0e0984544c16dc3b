"""The class report as HTML: a page for the instructor and one for each student, none of which needs another file.

No page runs a script or asks for anything, and whatever a student wrote is escaped: the templates escape by default.
"""

import hashlib
import re
import statistics
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from autograder.pages.class_report import alike, counts, figures
from autograder.pages.class_report.entries import Class
from autograder.pages.instructor import templates
from check.render import as_html

FOLDED = 8  # a list of more students than this is folded
OPEN_CLASS = 60  # and the table of everyone, beyond this
SHOWN_CELLS = 3  # of those who went wrong alike
UNFOLDED = 3  # the most frequent misconceptions stand open

# Kinds of verdict, in the instructor's words.
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
    "no error": "no error where one is due",
}


def write(group: Class, title: str, folder: Path, pairs: Sequence[alike.Pair] = ()) -> Path:
    """Write the pages of a class into a folder of its own, in which no earlier student's page stays.

    Args:
        group: at least one graded student.
        title: the chapter's.
        folder: made if need be, for its owner alone.
        pairs: who is alike.

    Returns:
        The instructor's page.
    """
    students = folder / "students"
    students.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    environment = _environment()
    common = {"title": title, "chapter": group.chapter}
    of_student = environment.get_template("student.html.j2")
    pages = {page_name(entry.student): of_student.render(common, entry=entry) for entry in group.entries}
    for stale in set(students.glob("*.html")) - {students / name for name in pages}:
        stale.unlink()
    for name, page in pages.items():
        _save(students / name, page)
    counted = _counted(group) | {"pairs": pairs, "limits": _limits(group)}
    return _save(folder / "index.html", environment.get_template("class.html.j2").render(common, **counted))


def _environment():
    """The instructor's templates, with what only the class report says."""
    made = templates().overlay()
    made.filters = made.filters | {
        "percent": lambda share: f"{100 * share:.0f}%",
        "verdict": lambda result: Markup(as_html(result)),
        "kind": KINDS.__getitem__,
        "day": lambda time: f"{datetime.fromtimestamp(time):%-d %B %Y}",
        "address": lambda student: quote(page_name(student)),
    }
    return made


def page_name(student: str) -> str:
    """The name of a student's page: the id, where that is a file name everywhere, else a hash of it."""
    plain = re.fullmatch(r"\w[\w@+-]*(\.[\w@+-]+)*", student, re.ASCII) and len(student) <= 100
    return f"{student if plain else hashlib.sha256(student.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}.html"


def _counted(group):
    entries, exercises = group.entries, counts.exercises(group.entries)
    return {
        "group": group,
        "points": max(entry.report.points for entry in entries),
        "median": statistics.median(entry.score for entry in entries),
        "full": sum(entry.report.earned == entry.report.points for entry in entries),
        "exercises": exercises,
        "misconceptions": counts.misconceptions(entries),
        "unfair": counts.unfair(entries),
        "unfair_share": counts.UNFAIR_SHARE,
        "unfair_students": counts.UNFAIR_STUDENTS,
        "to_look_at": counts.to_look_at(entries),
        "slowest": counts.slowest(entries),
        "outcome": counts.outcome,
        "outcomes": counts.OUTCOMES,
        "scores_figure": Markup(figures.scores(entries)),
        "map_figure": Markup(figures.class_map(entries, exercises)),
        "outcomes_figure": Markup(figures.outcomes(exercises)),
        "folded": FOLDED,
        "open_class": OPEN_CLASS,
        "unfolded": UNFOLDED,
        "shown_cells": SHOWN_CELLS,
    }


def _limits(group):
    most = alike.everybodys(len(group.entries))
    return {"most": most, "least": alike.LEAST, "share": alike.SHARE, "top": alike.TOP, "seed": alike.SEED}


def _save(path, page):
    # A student id may be a file name that is no text.
    path.write_text(page, encoding="utf-8", errors="replace")
    return path
