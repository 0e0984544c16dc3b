"""A made-up class that hands in chapter 1 on Canvas and on Moodle, with the file names and tables of these platforms.

What each student has solved is known before anything is graded, because an exercise is either solved or blank. The
sources of the formats are cited in `collecting/test_round_trip.py` and `platforms/test_file_names.py`.
"""

import csv
import json
import random
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

    @property
    def sis(self):
        return f"S{self.number}"

    @property
    def participant(self):
        return f"Participant {7000 + self.number}"


def made_up_class(size, released, source):
    """Return a class of this size. released, source: the notebook, blank and solved."""
    draw = random.Random(0)
    students = []
    for number in range(size):
        kind, on_canvas = KINDS[number // 2 % len(KINDS)], number % 2 == 0
        leader = number - 2 if kind == "member" and on_canvas else number
        attempts = tuple(_attempts(kind, released, source, draw))
        students.append(Student(number, on_canvas, attempts if leader == number else students[leader].attempts, leader))
    return students


def _attempts(kind, released, source, draw):
    for n in range({"nothing": 0, "resubmission": 2}.get(kind, 1)):
        at = DUE + timedelta(hours=draw.choice(HOURS_LATE)) + timedelta(hours=n / 2)
        if kind in UNREADABLE:
            name, content = UNREADABLE[kind]
            yield Attempt(at, {name: content}, content if name == FILE else None)
            return
        solved = frozenset(draw.sample(list(POINTS), draw.randint(1, len(POINTS))))
        notebook = _filled(released, source, solved)
        files = {f"{CHAPTER}-{n}.ipynb" if n else FILE: notebook}
        if kind == "member":
            files |= {"regrade.txt": b"repaired_attention: why?\ncopies_predecessor: why?"}
        elif kind == "zip":
            files = {"my work.zip": zip_of({f"work/{FILE}": notebook, "work/notes.txt": b"?"})}
        elif kind == "two files":
            files |= {"original.ipynb": _filled(released, source, ())}
        yield Attempt(at, files, notebook, solved)


def _filled(released, source, solved):
    """Return the released notebook with the source's cells of the solved exercises."""
    names = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in released["cells"]]
    solutions = {
        cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in source["cells"] if "nbgrader" in cell["metadata"]
    }
    cells = [solutions[name] if name in solved else cell for name, cell in zip(names, released["cells"], strict=True)]
    return json.dumps({**released, "cells": cells}).encode()


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
        f"Zoë {s.last_name}_{7000 + s.number}_assignsubmission_file/{name}": content
        for s in students
        if not s.on_canvas and s.attempts
        for name, content in s.attempt(n).files.items()
    }


def canvas_gradebook(students, points=22):
    yield ["Student", "ID", "SIS User ID", "Section", f"{CHAPTER} (901)"]
    yield ["    Points Possible", "", "", "", f"{points:.2f}"]
    yield from ([f"{s.last_name}, Zoë", s.id, s.sis, "A", ""] for s in students)


def canvas_times(students, n):
    """Yield the rows of the submissions of Canvas's API."""
    yield ["user_id", "submitted_at"]
    yield from ([s.id, s.attempt(n).at.isoformat()] for s in students if s.on_canvas and s.attempts)


def canvas_groups(students):
    yield ["name", "canvas_user_id", "user_id", "group_name"]
    leaders = {s.leader for s in students if s.leader != s.number}
    yield from ([s.last_name, s.id, s.sis, f"Team {s.leader}" if s.leader in leaders else ""] for s in students)


def moodle_participants(students):
    yield ["First name", "Last name", "ID number", "Email address"]
    yield from (["Zoë", s.last_name, s.sis, f"{s.sis}@example.org"] for s in students)
    yield ["Lea", "Lecturer", "", "lea@example.org"]


def moodle_worksheet(students, n=-1, points=22):
    yield ["Identifier", "Full name", "ID number", "Grade", "Maximum grade", "Last modified (submission)",
           "Last modified (grade)"]  # fmt: skip
    for s in students:
        at = f"{s.attempt(n).at:%A, %-d %B %Y, %-I:%M %p}" if s.attempts and not s.on_canvas else "-"
        yield [s.participant, f"Zoë {s.last_name}", s.sis, "", f"{points:.2f}", at, "-"]


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return str(path)
