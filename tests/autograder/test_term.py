"""A term on Canvas and Moodle: every exported score and every file that counts, computed again from what was handed in.

A class is made up, and the commands are run as the page *Run the course* says. After each step, the tables for Canvas,
for Moodle and by exercise are compared with what `Rules` computes. Nothing here imports `autograder.scores` or reads
the gradebook.
"""

import csv
import json
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from autograder.cli.main import main
from tests.autograder import made_up_class as platforms
from tests.autograder.collecting.test_damaged_uploads import zip_of
from tests.autograder.made_up_class import CHAPTER, DUE, FILE, POINTS, made_up_class

pytestmark = pytest.mark.grading
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


@dataclass(frozen=True)
class Rules:
    """What the instructor has decided, and what that makes of a student's work.

    exact: whether a table gave the times on Canvas; otherwise only its mark for late files did.
    late: (time after the due date, share of the score), in the order of time. own_due: student -> extended date.
    by_hand: (student, exercise) -> points.
    """

    exact: bool
    due: datetime = DUE
    late: tuple[tuple[timedelta, float], ...] = ((24 * HOUR, 0.8), (168 * HOUR, 0.5))
    own_due: dict[str, datetime] = field(default_factory=dict)
    counted: frozenset[str] = frozenset(POINTS)
    credited: frozenset[str] = frozenset()
    by_hand: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def maximum(self):
        return sum(POINTS[name] for name in self.counted)

    def points(self, student):
        """Return the points of each counted exercise, before a penalty."""
        solved = student.attempts[-1].solved | self.credited
        return {name: self.by_hand.get((student.id, name), POINTS[name] * (name in solved)) for name in self.counted}

    def score(self, student):
        """Return the score after the penalty; None if the student has handed in nothing."""
        if not student.attempts:
            return None
        late = self._handed_in(student) - self.own_due.get(student.id, self.due)
        steps = [(timedelta(0), 1.0), *self.late]
        return sum(self.points(student).values()) * next((share for until, share in steps if late <= until), 0.0)

    def _handed_in(self, student):
        at = student.attempts[-1].at
        return at if self.exact or not student.on_canvas else self.due + SECOND * (at > self.due)


class Term:
    """A course, its class, and the commands of an instructor."""

    def __init__(self, course, students, rules, capsys):
        self.course, self.students, self.rules, self.capsys = course, students, rules, capsys
        self.folder = course.parent

    def run(self, *words):
        code = main([*words, "--course", str(self.course)])
        printed = self.capsys.readouterr()
        assert code in (0, 1), printed.err
        return printed.out

    def table(self, name, rows):
        return platforms.write(self.folder / name, rows)

    def enrol(self, *options):
        self.run("roster", self.table("gradebook.csv", platforms.canvas_gradebook(self.students)), *options)
        self.run("roster", self.table("participants.csv", platforms.moodle_participants(self.students)))

    def set_due(self):
        late = [("--late", f"{share:.0%}", str(self.rules.due + until)) for until, share in self.rules.late]
        self.run("due", CHAPTER, "--at", str(self.rules.due), *(word for step in late for word in step))

    def collect(self, attempt=-1):
        """Collect the downloads of both platforms after this attempt of each student."""
        tables = [self.table("groups.csv", platforms.canvas_groups(self.students))]
        if self.rules.exact:
            tables.append(self.table("times.csv", platforms.canvas_times(self.students, attempt)))
        self._collect(platforms.canvas_download(self.students, attempt, self.rules.due), tables)
        worksheet = self.table("worksheet.csv", platforms.moodle_worksheet(self.students, attempt))
        self._collect(platforms.moodle_download(self.students, attempt), [worksheet])

    def _collect(self, files, tables):
        (self.folder / "download.zip").write_bytes(zip_of(files))
        self.run("collect", CHAPTER, str(self.folder / "download.zip"), *(w for t in tables for w in ("--table", t)))

    def check(self):
        """Compare every exported score with the rules."""
        output, points = str(self.folder / "out.csv"), self.rules.maximum
        export = ["export", CHAPTER, "--output", output, "--to"]
        scores = {student.id: self.rules.score(student) for student in self.students}

        self.run(*export, "canvas", "--into", self.table("in.csv", platforms.canvas_gradebook(self.students, points)))
        assert {row["ID"]: number(row[f"{CHAPTER} (901)"]) for row in rows_of(output)[1:]} == scores

        worksheet = self.table("in.csv", platforms.moodle_worksheet(self.students, points=points))
        self.run(*export, "moodle", "--into", worksheet)
        of_participant = {row["Identifier"]: number(row["Grade"]) for row in rows_of(output)}
        assert of_participant == {s.participant: scores[s.id] for s in self.students}

        self.run(*export, "csv", "--exercises")
        rows = {row["student_id"]: row for row in rows_of(output)}
        assert {student: number(row["score"]) for student, row in rows.items()} == scores
        for student in self.students:
            points = self.rules.points(student) if student.attempts else {}
            assert {name: number(rows[student.id][name]) for name in POINTS} == {n: points.get(n) for n in POINTS}


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(cell):
    return approximately(float(cell) if cell else None)


def approximately(score):
    return score if score is None else pytest.approx(score)


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    """Let Moodle and this machine use the same time zone."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(params=[
    pytest.param((20, False), id="small"),
    pytest.param((100, True), id="large", marks=pytest.mark.thorough("the small class has every kind of student")),
])  # fmt: skip
def term(request, course, capsys):
    """Return a term in which everyone has handed in, once or twice, and is graded."""
    size, exact = request.param
    released, source = (json.loads((course / of / CHAPTER / FILE).read_bytes()) for of in ("release", "source"))
    term = Term(course, made_up_class(size, released, source), Rules(exact), capsys)
    term.enrol()
    term.set_due()
    term.collect(0)
    term.collect()
    term.run("grade", CHAPTER)
    return term


def test_a_term(term):
    assert_inventory(term)
    term.check()
    for step in (regraded, part, dropped, credited, other_steps, extension, whole, withdrawn):
        step(term)
        term.check()
    assert_history(term)


def assert_inventory(term):
    """Each student has the file that counts, in the course's folder, and nobody else has one."""
    placed = {path.parts[-3]: path.read_bytes() for path in term.course.glob(f"submitted/*/{CHAPTER}/{FILE}")}
    counting = {s.id: s.attempts[-1].counts for s in term.students if s.attempts and s.attempts[-1].counts}
    assert placed == counting
    folders = {path.name for path in term.course.glob("submitted/*")}
    assert folders == {s.id for s in term.students if s.attempts}


def regraded(term):
    """Answer two requests. One is about an exercise that is optional later, and then counts again."""
    student = next(s for s in term.students if s.attempts and "regrade.txt" in s.attempts[-1].files)
    for name, points in (("repaired_attention", 1.5), ("copies_predecessor", 2)):
        term.run("answer", student.id, CHAPTER, name, "You are right.", "--points", str(points))
        term.rules = replace(term.rules, by_hand=term.rules.by_hand | {(student.id, name): points})


def part(term):
    counted = frozenset(POINTS) - {"copies_predecessor"}
    term.run("assign", CHAPTER, "--core", "--add", "repaired_attention")
    term.rules = replace(term.rules, counted=counted)


def dropped(term):
    term.run("void", "attention", "--drop")
    term.rules = replace(term.rules, counted=term.rules.counted - {"attention"})


def credited(term):
    term.run("void", "softmax", "--credit-all")
    term.rules = replace(term.rules, credited=frozenset({"softmax"}))


def other_steps(term):
    """Move the due date and the steps; Canvas marks other files as late then."""
    term.rules = replace(term.rules, due=DUE + 2 * HOUR, late=((22 * HOUR, 0.9), (23 * HOUR, 0.6), (166 * HOUR, 0.3)))
    term.set_due()
    term.collect()
    term.run("grade", CHAPTER)


def extension(term):
    student = next(s for s in term.students if not s.on_canvas and s.attempts and s.attempts[-1].at > term.rules.due)
    term.rules = replace(term.rules, own_due={student.id: DUE + 20 * HOUR})
    term.run("extend", student.id, CHAPTER, "--until", str(DUE + 20 * HOUR))
    term.run("grade", CHAPTER)


def whole(term):
    term.run("assign", CHAPTER, "--whole")
    term.run("void", "attention", "--undo")
    term.rules = replace(term.rules, counted=frozenset(POINTS))


def withdrawn(term):
    del term.students[0]
    term.enrol("--remove")


def assert_history(term):
    """The log ends with each student's score, begins without one, and has no gap."""
    scores = {}
    for line in (term.course / "scores.log").read_text(encoding="utf-8").splitlines():
        change = json.loads(line)
        assert scores.get(change["student"]) == change["before"] and "outside" not in change["why"]
        scores[change["student"]] = change["after"]
    for student in term.students:
        assert scores.get(student.id) == approximately(term.rules.score(student))
