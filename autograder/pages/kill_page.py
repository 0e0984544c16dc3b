"""Kill tables with several keys side by side: what `autograder mistakes` prints, and its page for instructors."""

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path

from tabulate import tabulate

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.authoring.kill_table import caught_by, graded, kill_table, problems, told_apart_by
from autograder.authoring.make_key import make_key
from autograder.check.key import Key
from autograder.check.words import count, listed
from autograder.pages.instructor import templates

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
    """Two mistakes, by slug. told_by: key -> the names of its cases that tell them apart."""

    one: str
    other: str
    told_by: dict[str, tuple[str, ...]]

    @property
    def fewest(self) -> int:
        """With how many cases they are told apart, in the key that has fewest."""
        return min(map(len, self.told_by.values()))


@dataclass(frozen=True)
class KillTable:
    """One exercise. equivalents: name of each right rewrite -> it passes with every key. problems: in plain words."""

    name: str
    points: float
    keys: tuple[str, ...]
    cases: tuple[Where, ...]
    lines: tuple[Line, ...]
    pairs: tuple[Pair, ...]
    equivalents: dict[str, bool]
    problems: tuple[str, ...]

    @property
    def aspects(self) -> dict[str, list[str]]:
        """Aspect -> its cases."""
        return {aspect: [name for _, name in cases] for aspect, cases in groupby(self.cases, lambda case: case[0])}


def of_chapter(chapter: str, seeds: Mapping[str, int]) -> list[KillTable]:
    """The kill tables of a chapter ("01_attention"); seeds: name of each key -> its seed."""
    return [of_exercise(each, seeds) for each in exercises_of(chapter.partition("_")[2])]


def of_exercise(each: Exercise, seeds: Mapping[str, int]) -> KillTable:
    """The kill table of one exercise; seeds: name of each key -> its seed."""
    keys = {name: make_key(each, seed) for name, seed in seeds.items()}
    rows = {name: kill_table(key) for name, key in keys.items()}
    return KillTable(
        name=each.name,
        points=each.points,
        keys=tuple(keys),
        cases=tuple(dict.fromkeys((case.aspect, case.name) for key in keys.values() for case in key.cases)),
        lines=tuple(
            _line(each, slug, keys, {name: table[i].earned for name, table in rows.items()})
            for i, slug in enumerate(each.mistakes)
        ),
        pairs=tuple(_pair(one, other, keys) for one, other in combinations(each.mistakes, 2)),
        equivalents={
            slug: all(graded(key, rewrite).passed for key in keys.values())
            for slug, rewrite in each.equivalents.items()
        },
        problems=tuple(f"{problem} ({name} key)" for name, key in keys.items() for problem in problems(each, key)),
    )


def as_text(table: KillTable) -> str:
    """The table for a terminal, with the pairs, the right rewrites and the problems below it."""
    rows = [
        [line.name, " ".join(f"{_mark(line, case, table):>2}" for case in table.cases), _keeps(line, table)]
        for line in table.lines
    ]
    heads = [table.name, " ".join(f"{n:>2}" for n in range(1, len(table.cases) + 1)), "keeps"]
    numbered = iter(range(1, len(table.cases) + 1))
    cases = [
        f"{aspect}: {', '.join(f'{next(numbered)} {n}' for n in names)}" for aspect, names in table.aspects.items()
    ]
    right = [name for name, passes in table.equivalents.items() if passes]
    said = [
        *cases,
        _about_pairs(table),
        f"right rewrites: {listed(right, len(right))}, which pass" if right else "right rewrites: none",
        *(f"PROBLEM: {problem}" for problem in table.problems),
    ]
    lines = [textwrap.fill(line, 118, initial_indent="  ", subsequent_indent="    ") for line in said]
    grid = tabulate(
        rows, heads, maxcolwidths=[44, None, None], preserve_whitespace=True, colalign=("left", "left", "right")
    )
    return "\n".join([grid, *lines])


def write_page(chapters: Mapping[str, Sequence[KillTable]], file: Path) -> Path:
    """Write the tables of some chapters as one page for instructors: it shows what students must not see."""
    file.parent.mkdir(parents=True, exist_ok=True)
    page = templates().get_template("mistakes.html.j2").render(chapters=chapters, mark=_mark, keeps=_keeps)
    file.write_text(page, encoding="utf-8")
    return file


def _line(each, slug, keys: Mapping[str, Key], earned) -> Line:
    mistake, wrong = each.mistakes[slug]
    caught: dict[Where, tuple[str, ...]] = {}
    for name, key in keys.items():
        for case in caught_by(key, slug):
            where = case.aspect, case.name
            caught[where] = (*caught.get(where, ()), name)
    return Line(slug, mistake.name, inspect.getsource(wrong), caught, earned)


def _pair(one, other, keys) -> Pair:
    told = {name: tuple(case.name for case in told_apart_by(key, one, other)) for name, key in keys.items()}
    return Pair(one, other, told)


def _mark(line: Line, case: Where, table: KillTable) -> str:
    """● caught with every key; else the first letters of the keys that catch it; · caught with none."""
    caught = line.caught.get(case, ())
    return "●" if caught == table.keys else "".join(name[0] for name in caught) or "·"


def _keeps(line: Line, table: KillTable) -> str:
    """The points that a mistake keeps, with each key if they differ."""
    return f"{' or '.join(dict.fromkeys(f'{earned:g}' for earned in line.earned.values()))} of {table.points:g}"


def _about_pairs(table):
    names = {line.slug: line.name for line in table.lines}
    once = [
        f"“{names[pair.one]}” and “{names[pair.other]}” ({listed(dict.fromkeys(sum(pair.told_by.values(), ())))})"
        for pair in table.pairs
        if pair.fewest == 1
    ]
    apart = sum(pair.fewest > 0 for pair in table.pairs)
    said = f"told apart: {apart} of {count(len(table.pairs), 'pair')}"
    return f"{said}; by a single case: {listed(once, 3)}" if once else said
