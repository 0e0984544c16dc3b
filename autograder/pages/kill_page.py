"""Kill tables with several keys side by side: what `autograder mistakes` prints, and its page for instructors."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from tabulate import tabulate

from autograder.authoring.kill_table import CaseId, KillTable, Line
from autograder.authoring.slip_table import KINDS, SlipTable
from autograder.errors import named_by_user
from autograder.pages.instructor import templates
from check.words import count, listed


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
        *([about_slips(table.slips)] if table.slips else []),
    ]
    lines = [textwrap.fill(line, 118, initial_indent="  ", subsequent_indent="    ") for line in said]
    if table.slips:
        lines += [f"    {place}" for places in table.slips.unnamed.values() for place in places]
    grid = tabulate(
        rows, heads, maxcolwidths=[44, None, None], preserve_whitespace=True, colalign=("left", "left", "right")
    )
    return "\n".join([grid, *lines])


def write_page(chapters: Mapping[str, Sequence[KillTable]], file: Path) -> Path:
    """Write the tables of some chapters as one page for instructors: it shows what students must not see."""
    page = (
        templates()
        .get_template("mistakes.html.j2")
        .render(chapters=chapters, mark=_mark, keeps=_keeps, about_both=about_both, about_slips=about_slips)
    )
    with named_by_user(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page, encoding="utf-8")
    return file


def _mark(line: Line, case: CaseId, table: KillTable) -> str:
    """● caught with every key; else the first letters of the keys that catch it; · caught with none."""
    caught = line.caught.get(case, ())
    return "●" if caught == table.keys else "".join(name[0] for name in caught) or "·"


def _keeps(line: Line, table: KillTable) -> str:
    """The points that a mistake keeps, with each key if they differ."""
    return f"{' or '.join(dict.fromkeys(f'{earned:g}' for earned in line.earned.values()))} of {table.points:g}"


def _about_pairs(table):
    names = {line.slug: line.name for line in table.lines}
    once = [
        f"“{names[pair.one]}” and “{names[pair.other]}” ({listed(dict.fromkeys(sum(pair.cases.values(), ())))})"
        for pair in table.pairs
        if pair.fewest == 1
    ]
    apart = sum(pair.fewest > 0 for pair in table.pairs)
    said = f"told apart: {apart} of {count(len(table.pairs), 'pair')}"
    said += f"; by a single case: {listed(once, 3)}" if once else ""
    return f"{said}; {about_both(table)}"


def about_both(table: KillTable) -> str:
    """How many pairs of mistakes are told where one answer makes both."""
    both = [pair.both_named for pair in table.pairs if pair.both_named is not None]
    return f"both named where both are made: {sum(both)} of {len(both)}"


def about_slips(slips: SlipTable) -> str:
    """What the judge says of small slips in the reference."""
    told = ", ".join(f"{slips.counts[kind]} {kind}" for kind in KINDS if slips.counts[kind])
    return f"small slips in the reference: {told}; told as one slip, or by numbers alone:"
