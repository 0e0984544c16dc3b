"""A made-up class that hands in chapter 1 on Canvas and on Moodle, with the file names and tables of these platforms.

What each student has solved is known before anything is graded, because an exercise is either solved or blank. The
sources of the formats are cited in `collecting/test_round_trip.py` and `platforms/test_file_names.py`.
"""

import csv
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.autograder.collecting.test_damaged_uploads import ENCRYPTED, LZMA, zip_of
from tests.conftest import CHAPTER

POINTS = {"softmax": 4, "attention_weights": 5, "attention": 4, "copies_predecessor": 5, "repaired_attention": 4}
DUE = datetime(2026, 2, 3, 12, tzinfo=UTC)
HOURS_LATE = (-30, -1, 0, 1, 23, 24, 25, 167, 168, 169)
FILE = f"{CHAPTER}.ipynb"
# What a student hands in. Only Canvas has teams, in which a leader hands in for a member. On Moodle, a student in the
# member's place adds a regrade request.
KINDS = ("notebook", "zip", "resubmission", "leader", "member", "two files", "encrypted", "damaged", "text", "nothing")
UNREADABLE = {"encrypted": ("all.zip", ENCRYPTED), "damaged": ("all.zip", LZMA), "text": (FILE, b"# my answers")}


@dataclass(frozen=True)
class Attempt:
    """What a student hands in at once. counts: the content of the file that counts, if any is a notebook."""

    at: datetime
    files: dict[str, bytes]
    counts: bytes | None = None
    solved: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Student:
    """A student. leader: the number of the student who hands in for them."""

    number: int
    on_canvas: bool
    attempts: tuple[Attempt, ...]
    leader: int

    @property
    def id(self):
        return str(1000 + self.number)

    def attempt(self, n):
        """Return the n-th attempt, or the last one if there are fewer."""
        return self.attempts[min(n, len(self.attempts) - 1)]

    @property
    def last_name(self):
        return f"O'Hara-王 {self.number}"


def made_up_class(size, released, solutions, seed=0):
    """Return a class of this size. released: the notebook. solutions: exercise -> source."""
    draw = random.Random(seed)
    students = []
    for number in range(size):
        kind = KINDS[number // 2 % len(KINDS)]
        on_canvas = number % 2 == 0
        attempts = tuple(_attempts(kind, released, solutions, draw))
        leader = number
        if kind == "member" and on_canvas:
            leader = number - 2
            attempts = students[leader].attempts
        students.append(Student(number, on_canvas, attempts, leader))
    return students


def _attempts(kind, released, solutions, draw) -> Iterator[Attempt]:
    for n in range({"nothing": 0, "resubmission": 2}.get(kind, 1)):
        at = DUE + timedelta(hours=draw.choice(HOURS_LATE)) + timedelta(hours=n / 2)
        if kind in UNREADABLE:
            name, content = UNREADABLE[kind]
            yield Attempt(at, {name: content}, content if name == FILE else None)
            continue
        solved = frozenset(draw.sample(list(POINTS), draw.randint(1, len(POINTS))))
        notebook = filled(released, {name: solutions[name] for name in solved})
        files = {f"{CHAPTER}-{n}.ipynb" if n else FILE: notebook}
        if kind == "member":
            files |= {"regrade.txt": b"repaired_attention: why?\ncopies_predecessor: why?"}
        elif kind == "zip":
            files = {"my work.zip": zip_of({f"work/{FILE}": notebook, "work/notes.txt": b"?"})}
        elif kind == "two files":
            files |= {"original.ipynb": filled(released, {})}
        yield Attempt(at, files, notebook, solved)


def filled(released, sources):
    """Return the notebook in which these cells have other sources."""
    cells = [cell | {"source": sources.get(_name(cell), cell["source"])} for cell in released["cells"]]
    return json.dumps({**released, "cells": cells}).encode()


def solutions_in(source):
    """Return exercise -> its source in the solved notebook."""
    return {_name(cell): cell["source"] for cell in source["cells"] if _name(cell) in POINTS}


def _name(cell):
    return cell["metadata"].get("nbgrader", {}).get("grade_id")


def canvas_download(students, n, due=DUE):
    """Return name -> content of the files of Canvas's download when students have handed in their n-th attempts."""
    files = {}
    for s in students:
        if s.on_canvas and s.leader == s.number and s.attempts:
            attempt = s.attempt(n)
            prefix = f"ohara王{s.number}zoë{'_LATE' * (attempt.at > due)}_{s.id}"
            upload = 50000 + 10 * s.number + 2 * s.attempts.index(attempt)
            files |= {f"{prefix}_{upload + k}_{name}": attempt.files[name] for k, name in enumerate(attempt.files)}
    return files


def moodle_download(students, n):
    return {
        f"Zoë {s.last_name}_{participant(s)}_assignsubmission_file/{name}": content
        for s in students
        if not s.on_canvas and s.attempts
        for name, content in s.attempt(n).files.items()
    }


def participant(student):
    return 7000 + student.number


def canvas_gradebook(students, points=22):
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", f"{CHAPTER} (901)", "Final Score"]
    yield ["    Points Possible", "", "", "", "", f"{points:.2f}", "(read only)"]
    for s in students:
        yield [f"{s.last_name}, Zoë", s.id, f"S{s.number}", f"zoe{s.number}", "A", "", ""]


def canvas_times(students, n):
    """Yield the rows of the submissions of Canvas's API."""
    yield ["user_id", "submitted_at"]
    yield from ([s.id, s.attempt(n).at.isoformat()] for s in students if s.on_canvas and s.attempts)


def canvas_groups(students):
    yield ["name", "canvas_user_id", "user_id", "login_id", "sections", "group_name", "canvas_group_id", "group_id"]
    members = {s.leader for s in students if s.leader != s.number}
    for s in students:
        team = f"Team {s.leader}" if s.leader in members else ""
        yield [f"{s.last_name}, Zoë", s.id, f"S{s.number}", f"zoe{s.number}", "A", team, "", ""]


def moodle_participants(students):
    yield ["First name", "Last name", "ID number", "Email address"]
    for s in students:
        yield ["Zoë", s.last_name, f"S{s.number}", f"zoe{s.number}@example.org"]
    yield ["Lea", "Lecturer", "", "lea@example.org"]


def moodle_worksheet(students, n=-1, points=22):
    yield ["Identifier", "Full name", "ID number", "Email address", "Status", "Grade", "Maximum grade",
           "Last modified (submission)", "Last modified (grade)", "Feedback comments"]  # fmt: skip
    for s in students:
        at = "-"
        if not s.on_canvas and s.attempts:
            when = s.attempt(n).at
            at = f"{when:%A}, {when.day} {when:%B %Y}, {when:%-I:%M %p}"
        yield [f"Participant {participant(s)}", f"Zoë {s.last_name}", f"S{s.number}", f"zoe{s.number}@example.org",
               "Submitted", "", f"{points:.2f}", at, "-", ""]  # fmt: skip


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return str(path)
