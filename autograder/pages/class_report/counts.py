"""What is counted about a graded class: pure functions of its entries."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.pages.class_report.entries import Entry
from check.judge import Result
from check.key import Mistake

# How an exercise can come out, from best to worst.
OUTCOMES = (
    *("right", "known mistake", "follows from another", "wrong otherwise", "raised or stopped", "not written"),
    "not readable",
)

# An aspect may be unfair if this share of at least so many students fail it who hold all the exercise's others.
UNFAIR_SHARE, UNFAIR_STUDENTS = 0.5, 5


def outcome(entry: Entry, result: Result) -> str:
    """Which of OUTCOMES an exercise of a student came to."""
    if entry.report.trouble:
        return "not readable"
    if result.verdict is None:
        return "right"
    if result.mistake:
        return "known mistake"
    if result.verdict.kind == "blank":
        return "not written"
    if result.mend_first:
        return "follows from another"
    return "raised or stopped" if result.verdict.kind in ("raised", "stopped") else "wrong otherwise"


@dataclass(frozen=True)
class AspectCount:
    """How many students hold one aspect of an exercise."""

    name: str
    points: float
    holds: int


@dataclass(frozen=True)
class ExerciseCount:
    """One exercise over the class. outcomes: each of OUTCOMES -> students. earned: mean share of its points.

    unexplained: the first thing wrong where no known mistake says why, as (kind, case) -> whose; the most first.
    """

    name: str
    points: float
    outcomes: dict[str, int]
    earned: float
    aspects: tuple[AspectCount, ...]
    unexplained: dict[tuple[str, str], tuple[Entry, ...]]

    @property
    def students(self) -> int:
        return sum(self.outcomes.values())

    @property
    def right(self) -> float:
        """The share of students for whom all cases hold."""
        return self.outcomes["right"] / self.students


def exercises(entries: Sequence[Entry]) -> list[ExerciseCount]:
    """Every exercise, in the notebook's order."""
    return [_exercise(entries, name) for name in _names(entries)]


@dataclass(frozen=True)
class Misconception:
    """A known mistake that was made. consequence: those of its students who call an exercise that is wrong itself."""

    function: str
    mistake: Mistake
    section: str
    students: tuple[str, ...]
    consequence: tuple[str, ...]


def misconceptions(entries: Sequence[Entry]) -> list[Misconception]:
    """Every known mistake that was made, the most frequent first."""
    found: dict[tuple[str, Mistake, str], list[tuple[Entry, Result]]] = {}
    for name in _names(entries):
        for entry, result in _of(entries, name):
            for mistake in result.mistakes:
                found.setdefault((name, mistake, result.section), []).append((entry, result))
    made = [
        Misconception(
            *what,
            students=tuple(entry.student for entry, _ in there),
            consequence=tuple(entry.student for entry, result in there if result.mend_first),
        )
        for what, there in found.items()
    ]
    return sorted(made, key=lambda each: -len(each.students))


@dataclass(frozen=True)
class Unfair:
    """An aspect that most fail who hold all other aspects of its exercise.

    others_hold: how many those are. failing: those of them who fail it. explained: those whom a known mistake explains.
    cases: where it was seen first -> students.
    """

    function: str
    aspect: str
    others_hold: int
    failing: tuple[str, ...]
    explained: tuple[str, ...]
    cases: Counter


def unfair(entries: Sequence[Entry]) -> list[Unfair]:
    """Aspects to look at again, those that most students fail without a known mistake first."""
    found = []
    for name in _names(entries):
        aspects = dict.fromkeys(aspect.name for _, result in _of(entries, name) for aspect in result.aspects)
        found += [_unfair(entries, name, aspect) for aspect in aspects]
    listed = [
        each
        for each in found
        if each.others_hold >= UNFAIR_STUDENTS and len(each.failing) >= UNFAIR_SHARE * each.others_hold
    ]
    return sorted(listed, key=lambda each: len(each.explained) - len(each.failing))


def to_look_at(entries: Sequence[Entry]) -> list[Entry]:
    """Submissions that could not be graded, and after them those that were stopped or that something is said about."""

    def odd(entry):
        kinds = {result.verdict.kind for result in entry.report.results if result.verdict}
        return entry.report.trouble or entry.report.notes or entry.report.log or "stopped" in kinds

    return sorted(filter(odd, entries), key=lambda entry: not entry.report.trouble)


def slowest(entries: Sequence[Entry], count: int = 10) -> list[Entry]:
    """Those that took longest to read, run and judge."""
    return sorted(entries, key=lambda entry: -entry.report.seconds)[:count]


def _names(entries):
    return list(dict.fromkeys(result.function for entry in entries for result in entry.report.results))


def _of(entries, name):
    """Each student's result in one exercise."""
    return [(entry, result) for entry in entries for result in entry.report.results if result.function == name]


def _exercise(entries, name):
    there = _of(entries, name)
    came_out = [outcome(entry, result) for entry, result in there]
    points: dict[str, float] = {}
    holds: Counter[str] = Counter()
    for _, result in there:
        points |= {aspect.name: aspect.points for aspect in result.aspects}
        holds.update(aspect.name for aspect in result.aspects if aspect.holds)
    return ExerciseCount(
        name=name,
        points=there[0][1].points,
        outcomes={each: came_out.count(each) for each in OUTCOMES},
        earned=sum(result.earned / result.points for _, result in there) / len(there),
        aspects=tuple(AspectCount(aspect, of, holds[aspect]) for aspect, of in points.items()),
        unexplained=_unexplained(there),
    )


def _unexplained(there):
    found: dict[tuple[str, str], tuple[Entry, ...]] = {}
    for entry, result in there:
        if outcome(entry, result) in ("wrong otherwise", "raised or stopped"):
            what = result.verdict.kind, result.case
            found[what] = (*found.get(what, ()), entry)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


def _unfair(entries, name, aspect):
    near = [
        (entry.student, result)
        for entry, result in _of(entries, name)
        if any(each.passed for each in result.aspects)
        and all(each.holds for each in result.aspects if each.name != aspect)
    ]
    failing = [(student, result) for student, result in near if result.verdict]
    return Unfair(
        name,
        aspect,
        len(near),
        tuple(student for student, _ in failing),
        tuple(student for student, result in failing if result.mistake),
        Counter(result.case for _, result in failing),
    )
