"""The kill table: which case of an exercise's keys catches which mistake, and tells which from which."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, groupby

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.authoring.make_key import make_key
from autograder.authoring.problems import caught_by, graded, problems, told_apart_by
from autograder.authoring.slip_table import SlipTable, slip_table
from check.judge import grade
from check.key import Key

Where = tuple[str, str]  # a case: its aspect, its name


@dataclass(frozen=True)
class Line:
    """One mistake. caught: case -> the keys in which it catches the mistake. earned: key -> points it keeps."""

    slug: str
    name: str
    source: str
    caught: dict[Where, tuple[str, ...]]
    earned: dict[str, float]


@dataclass(frozen=True)
class Pair:
    """Two mistakes, by slug. told_by: key -> the names of its cases that tell them apart.

    named: whether who makes both, each where it alone is wrong, is told both; None where one hides the other.
    """

    one: str
    other: str
    told_by: dict[str, tuple[str, ...]]
    named: bool | None

    @property
    def fewest(self) -> int:
        """With how many cases they are told apart, in the key that has fewest."""
        return min(map(len, self.told_by.values()))


@dataclass(frozen=True)
class KillTable:
    """One exercise.

    equivalents: name of each right rewrite -> it passes with every key. problems: in plain words. slips: what the first
    key says of small slips in the reference, if that was asked for.
    """

    name: str
    points: float
    keys: tuple[str, ...]
    cases: tuple[Where, ...]
    lines: tuple[Line, ...]
    pairs: tuple[Pair, ...]
    equivalents: dict[str, bool]
    problems: tuple[str, ...]
    slips: SlipTable | None

    @property
    def aspects(self) -> dict[str, list[str]]:
        """Aspect -> its cases."""
        return {aspect: [name for _, name in cases] for aspect, cases in groupby(self.cases, lambda case: case[0])}


def tables_of_chapter(chapter: str, seeds: Mapping[str, int], with_slips: bool = False) -> list[KillTable]:
    """The kill tables of a chapter ("01_attention"); seeds: name of each key -> its seed."""
    return [table_of(each, seeds, with_slips) for each in exercises_of(chapter)]


def table_of(each: Exercise, seeds: Mapping[str, int], with_slips: bool = False) -> KillTable:
    """The kill table of one exercise; seeds: name of each key -> its seed."""
    keys = {name: make_key(each, seed) for name, seed in seeds.items()}
    return KillTable(
        name=each.name,
        points=each.points,
        keys=tuple(keys),
        cases=tuple(dict.fromkeys((case.aspect, case.name) for key in keys.values() for case in key.cases)),
        lines=tuple(_line(each, slug, keys) for slug in each.mistakes),
        pairs=tuple(_pair(one, other, keys) for one, other in combinations(each.mistakes, 2)),
        equivalents={
            slug: all(graded(key, rewrite).passed for key in keys.values())
            for slug, rewrite in each.equivalents.items()
        },
        problems=tuple(f"{problem} ({name} key)" for name, key in keys.items() for problem in problems(each, key)),
        slips=slip_table(each, next(iter(seeds.values()))) if with_slips else None,
    )


def _line(each: Exercise, slug: str, keys: Mapping[str, Key]) -> Line:
    mistake, wrong = each.mistakes[slug]
    caught: dict[Where, tuple[str, ...]] = {}
    for name, key in keys.items():
        for case in caught_by(key, slug):
            where = case.aspect, case.name
            caught[where] = (*caught.get(where, ()), name)
    earned = {name: grade(key, [case.mistakes[slug] for case in key.cases]).earned for name, key in keys.items()}
    return Line(slug, mistake.name, inspect.getsource(wrong), caught, earned)


def _pair(one: str, other: str, keys: Mapping[str, Key]) -> Pair:
    told = {name: tuple(case.name for case in told_apart_by(key, one, other)) for name, key in keys.items()}
    return Pair(one, other, told, both_named(next(iter(keys.values())), one, other))


def both_named(key: Key, one: str, other: str) -> bool | None:
    """Whether an answer that is wrong as one mistake is, and else as the other, is told both; None if it is only one.

    What both do to one case at once cannot be known of two functions.
    """
    first, second = ({(case.aspect, case.name) for case in caught_by(key, slug)} for slug in (one, other))
    if not first or not second - first:
        return None
    outcomes = [case.mistakes[one if (case.aspect, case.name) in first else other] for case in key.cases]
    return {key.mistakes[one], key.mistakes[other]} <= set(grade(key, outcomes).mistakes)
