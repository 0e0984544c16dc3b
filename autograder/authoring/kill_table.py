"""Build kill tables: which case of an exercise catches which mistake, and which cases distinguish two mistakes."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, groupby

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.authoring.make_key import make_key
from autograder.authoring.problems import catching_cases, distinguishing_cases, grade_function, problems
from autograder.authoring.short_mistakes import source_of
from autograder.authoring.slip_table import SlipTable, slip_table
from check.key import Key
from check.scoring import grade

CaseId = tuple[str, str]  # (aspect, name of the case)


@dataclass(frozen=True)
class Line:
    """The line of one mistake.

    name: the mistake in a few words. source: the wrong function's source.
    caught: case -> names of the keys with which the case catches the mistake.
    earned: name of the key -> the points that the mistake still earns.
    """

    slug: str
    name: str
    source: str
    caught: dict[CaseId, tuple[str, ...]]
    earned: dict[str, float]


@dataclass(frozen=True)
class Pair:
    """Two mistakes, by slug.

    cases: name of the key -> names of its cases that distinguish the mistakes.
    both_named: whether the judge names both if an answer makes both, see `both_named`; None if that was not tried.
    """

    one: str
    other: str
    cases: dict[str, tuple[str, ...]]
    both_named: bool | None

    @property
    def fewest(self) -> int:
        """The number of cases that distinguish the mistakes, with the key that has fewest."""
        return min(map(len, self.cases.values()))


@dataclass(frozen=True)
class KillTable:
    """The kill table of one exercise.

    keys: their names. equivalents: name -> whether it passes with every key. problems: sentences about faults of the
    keys. slips: how the first key explains small slips in the reference, or None.
    """

    name: str
    points: float
    keys: tuple[str, ...]
    cases: tuple[CaseId, ...]
    lines: tuple[Line, ...]
    pairs: tuple[Pair, ...]
    equivalents: dict[str, bool]
    problems: tuple[str, ...]
    slips: SlipTable | None

    @property
    def aspects(self) -> dict[str, list[str]]:
        """Aspect -> the names of its cases."""
        return {aspect: [name for _, name in cases] for aspect, cases in groupby(self.cases, lambda case: case[0])}


def tables_of_chapter(chapter: str, seeds: Mapping[str, int], with_slips: bool = False) -> list[KillTable]:
    """Return the kill tables of a chapter's exercises; see `table_of`. chapter: "01_attention", for example."""
    return [table_of(exercise, seeds, with_slips) for exercise in exercises_of(chapter)]


def table_of(
    exercise: Exercise, seeds: Mapping[str, int], with_slips: bool = False, with_both: bool = True
) -> KillTable:
    """Return the kill table of an exercise.

    Args:
        exercise: the exercise.
        seeds: name of each key -> its seed.
        with_slips: whether to find out how small slips are explained, see `slip_table`.
        with_both: whether to try each pair of mistakes in one answer. For many mistakes this takes most of the time.
    """
    keys = {name: make_key(exercise, seed) for name, seed in seeds.items()}
    return KillTable(
        name=exercise.name,
        points=exercise.points,
        keys=tuple(keys),
        cases=tuple(dict.fromkeys((case.aspect, case.name) for key in keys.values() for case in key.cases)),
        lines=tuple(_line(exercise, slug, keys) for slug in exercise.mistakes),
        pairs=tuple(_pair(one, other, keys, with_both) for one, other in combinations(exercise.mistakes, 2)),
        equivalents={
            slug: all(grade_function(exercise, key, rewrite).passed for key in keys.values())
            for slug, rewrite in exercise.equivalents.items()
        },
        problems=tuple(f"{problem} ({name} key)" for name, key in keys.items() for problem in problems(exercise, key)),
        slips=slip_table(exercise, next(iter(seeds.values()))) if with_slips else None,
    )


def _line(exercise: Exercise, slug: str, keys: Mapping[str, Key]) -> Line:
    mistake, wrong = exercise.mistakes[slug]
    caught: dict[CaseId, tuple[str, ...]] = {}
    for name, key in keys.items():
        for case in catching_cases(key, slug):
            case_id = case.aspect, case.name
            caught[case_id] = (*caught.get(case_id, ()), name)
    earned = {name: grade(key, [case.mistakes[slug] for case in key.cases]).earned for name, key in keys.items()}
    return Line(slug, mistake.name, source_of(wrong), caught, earned)


def _pair(one: str, other: str, keys: Mapping[str, Key], with_both: bool) -> Pair:
    cases = {name: tuple(case.name for case in distinguishing_cases(key, one, other)) for name, key in keys.items()}
    return Pair(one, other, cases, both_named(next(iter(keys.values())), one, other) if with_both else None)


def both_named(key: Key, one: str, other: str) -> bool | None:
    """Whether the judge names both mistakes if an answer makes both.

    The answer makes the first mistake on the cases that catch it, and the second one everywhere else, because the two
    functions do not show what both mistakes would do to the same case. Return None if such an answer shows only one of
    the mistakes.
    """
    first, second = ({(case.aspect, case.name) for case in catching_cases(key, slug)} for slug in (one, other))
    if not first or not second - first:
        return None
    outcomes = [case.mistakes[one if (case.aspect, case.name) in first else other] for case in key.cases]
    return {key.mistakes[one], key.mistakes[other]} <= set(grade(key, outcomes).mistakes)
