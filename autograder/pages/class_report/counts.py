"""Count the outcomes of a graded class: pure functions of its entries."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.pages.class_report.entries import Entry
from check.key import Mistake
from check.scoring import Result

# The outcomes of an exercise, from best to worst.
OUTCOMES = (
    *("right", "known mistake", "follows from another", "wrong otherwise", "raised or stopped", "not written"),
    "not readable",
)

# An aspect may be unfair if at least this many students pass the exercise's other aspects, and at least this share of
# them fail the aspect.
UNFAIR_STUDENTS, UNFAIR_SHARE = 5, 0.5


def outcome(entry: Entry, result: Result) -> str:
    """Return the outcome of a student's exercise, one of OUTCOMES."""
    if entry.report.trouble:
        return "not readable"
    if result.verdict is None:
        return "right"
    if result.mistake:
        return "known mistake"
    if result.verdict.kind == "unusable":
        return "not readable"
    if result.verdict.kind == "blank":
        return "not written"
    if result.mend_first:
        return "follows from another"
    return "raised or stopped" if result.verdict.kind in ("raised", "stopped") else "wrong otherwise"


@dataclass(frozen=True)
class AspectCount:
    """One aspect of an exercise over the class. passing: the number of students who pass it."""

    name: str
    points: float
    passing: int


@dataclass(frozen=True)
class ExerciseCount:
    """One exercise over the class.

    outcomes: each of OUTCOMES -> number of students.
    mean_share: the mean share of its points that students earned.
    unexplained: (kind, case) of the first fault -> the entries that have it, for faults that no known mistake and no
        other exercise explains; the most frequent first.
    """

    name: str
    points: float
    outcomes: dict[str, int]
    mean_share: float
    aspects: tuple[AspectCount, ...]
    unexplained: dict[tuple[str, str], tuple[Entry, ...]]

    @property
    def students(self) -> int:
        return sum(self.outcomes.values())

    @property
    def pass_rate(self) -> float:
        """The share of students who pass all cases."""
        return self.outcomes["right"] / self.students


def exercise_counts(entries: Sequence[Entry]) -> list[ExerciseCount]:
    """Return the counts of every exercise, in the notebook's order."""
    return [_exercise_count(_results(entries, name)) for name in _exercise_names(entries)]


@dataclass(frozen=True)
class Misconception:
    """A known mistake that students made.

    consequence: those of the students whose exercise also calls a wrong exercise, which may have caused the mistake.
    """

    function: str
    mistake: Mistake
    section: str
    students: tuple[str, ...]
    consequence: tuple[str, ...]


def misconceptions(entries: Sequence[Entry]) -> list[Misconception]:
    """Return every known mistake that students made, the most frequent first."""
    results_of: dict[tuple[str, Mistake, str], list[tuple[Entry, Result]]] = {}
    for name in _exercise_names(entries):
        for entry, result in _results(entries, name):
            for mistake in result.mistakes:
                results_of.setdefault((name, mistake, result.section), []).append((entry, result))
    unsorted = [
        Misconception(
            function,
            mistake,
            section,
            students=tuple(entry.student for entry, _ in results),
            consequence=tuple(entry.student for entry, result in results if result.mend_first),
        )
        for (function, mistake, section), results in results_of.items()
    ]
    return sorted(unsorted, key=lambda misconception: -len(misconception.students))


@dataclass(frozen=True)
class UnfairAspect:
    """An aspect that may be unfair: most students who pass all other aspects of its exercise fail it.

    others_pass: the number of students who pass all other aspects.
    failing: those of them who fail this one.
    explained: those of them whose answer makes a known mistake.
    cases: the name of their first failing case -> number of students.
    """

    function: str
    aspect: str
    others_pass: int
    failing: tuple[str, ...]
    explained: tuple[str, ...]
    cases: Counter[str]


def unfair_aspects(entries: Sequence[Entry]) -> list[UnfairAspect]:
    """Return the aspects that may be unfair. The one that most students fail without a known mistake comes first."""
    aspects = [
        _unfair_aspect(results, name, aspect)
        for name in _exercise_names(entries)
        for results in [_results(entries, name)]
        for aspect in dict.fromkeys(aspect.name for _, result in results for aspect in result.aspects)
    ]
    unfair = [
        aspect
        for aspect in aspects
        if aspect.others_pass >= UNFAIR_STUDENTS and len(aspect.failing) >= UNFAIR_SHARE * aspect.others_pass
    ]
    return sorted(unfair, key=lambda aspect: len(aspect.explained) - len(aspect.failing))


def worth_a_look(entries: Sequence[Entry]) -> list[Entry]:
    """Return the submissions that could not be graded, and after them those that were stopped or have notes."""

    def is_unusual(entry: Entry) -> bool:
        kinds = {result.verdict.kind for result in entry.report.results if result.verdict}
        return bool(entry.report.trouble or entry.report.notes or entry.report.log or "stopped" in kinds)

    return sorted(filter(is_unusual, entries), key=lambda entry: not entry.report.trouble)


def slowest(entries: Sequence[Entry], count: int = 10) -> list[Entry]:
    """Return the submissions that took longest to read, run and judge."""
    return sorted(entries, key=lambda entry: -entry.report.seconds)[:count]


def _exercise_names(entries: Sequence[Entry]) -> list[str]:
    return list(dict.fromkeys(result.function for entry in entries for result in entry.report.results))


def _results(entries: Sequence[Entry], name: str) -> list[tuple[Entry, Result]]:
    """Return each student's result in one exercise."""
    return [(entry, result) for entry in entries for result in entry.report.results if result.function == name]


def _exercise_count(results: Sequence[tuple[Entry, Result]]) -> ExerciseCount:
    first = results[0][1]
    outcomes = Counter(outcome(entry, result) for entry, result in results)
    points: dict[str, float] = {}
    passing: Counter[str] = Counter()
    for _, result in results:
        points |= {aspect.name: aspect.points for aspect in result.aspects}
        passing.update(aspect.name for aspect in result.aspects if aspect.holds)
    return ExerciseCount(
        name=first.function,
        points=first.points,
        outcomes={kind: outcomes[kind] for kind in OUTCOMES},
        mean_share=sum(result.earned / result.points for _, result in results) / len(results),
        aspects=tuple(AspectCount(aspect, points[aspect], passing[aspect]) for aspect in points),
        unexplained=_unexplained(results),
    )


def _unexplained(results: Sequence[tuple[Entry, Result]]) -> dict[tuple[str, str], tuple[Entry, ...]]:
    entries_of: dict[tuple[str, str], list[Entry]] = {}
    for entry, result in results:
        is_measured = bool(result.found)  # no known mistake could explain an error rate that is too high
        if result.verdict and not is_measured and outcome(entry, result) in ("wrong otherwise", "raised or stopped"):
            entries_of.setdefault((result.verdict.kind, result.case), []).append(entry)
    most_frequent_first = sorted(entries_of.items(), key=lambda item: -len(item[1]))
    return {fault: tuple(having) for fault, having in most_frequent_first}


def _unfair_aspect(results: Sequence[tuple[Entry, Result]], name: str, aspect: str) -> UnfairAspect:
    """Return the students who fail an aspect of an exercise, whether or not it is unfair."""
    others_pass = [(entry.student, result) for entry, result in results if _passes_others(result, aspect)]
    failing = [(student, result) for student, result in others_pass if result.verdict]
    return UnfairAspect(
        name,
        aspect,
        len(others_pass),
        tuple(student for student, _ in failing),
        tuple(student for student, result in failing if result.mistake),
        Counter(result.case for _, result in failing),
    )


def _passes_others(result: Result, name: str) -> bool:
    """Return whether a result passes some case, and every aspect except possibly the one of this name."""
    return any(aspect.passed for aspect in result.aspects) and all(
        aspect.holds for aspect in result.aspects if aspect.name != name
    )
