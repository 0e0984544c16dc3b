"""Show kill tables with one or two keys: as text, for `autograder mistakes`, and as an HTML page for instructors."""

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
    """Return the table for a terminal, and below it the cases, the pairs, the right rewrites, problems and slips."""
    rows = [
        [line.name, " ".join(f"{_mark(line, case, table):>2}" for case in table.cases), _keeps(line, table)]
        for line in table.lines
    ]
    heads = [table.name, " ".join(f"{n:>2}" for n in range(1, len(table.cases) + 1)), "keeps"]
    numbers = iter(range(1, len(table.cases) + 1))
    cases = [
        f"{aspect}: {', '.join(f'{next(numbers)} {name}' for name in names)}" for aspect, names in table.aspects.items()
    ]
    passing = [name for name, passes in table.equivalents.items() if passes]
    paragraphs = [
        *cases,
        _about_pairs(table),
        f"right rewrites: {listed(passing, len(passing))}, which pass" if passing else "right rewrites: none",
        *(f"PROBLEM: {problem}" for problem in table.problems),
        *([about_slips(table.slips)] if table.slips else []),
    ]
    lines = [textwrap.fill(text, 118, initial_indent="  ", subsequent_indent="    ") for text in paragraphs]
    if table.slips:
        lines += [f"    {change}" for changes in table.slips.unnamed.values() for change in changes]
    grid = tabulate(
        rows, heads, maxcolwidths=[44, None, None], preserve_whitespace=True, colalign=("left", "left", "right")
    )
    return "\n".join([grid, *lines])


def write_page(chapters: Mapping[str, Sequence[KillTable]], file: Path) -> Path:
    """Write one page for instructors with the tables of the chapters, and return its file.

    Students must not see the page: it shows wrong answers, and the cases that catch them.
    """
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
    """Return ● if the case catches the mistake with every key, · if with none, otherwise the keys' first letters."""
    keys = line.caught.get(case, ())
    return "●" if keys == table.keys else "".join(name[0] for name in keys) or "·"


def _keeps(line: Line, table: KillTable) -> str:
    """Return the points that a mistake keeps: one number, or one for each key if they differ."""
    return f"{' or '.join(dict.fromkeys(f'{earned:g}' for earned in line.earned.values()))} of {table.points:g}"


def _about_pairs(table: KillTable) -> str:
    """Return a sentence about the pairs of mistakes that cases distinguish, and those that only one case does."""
    names = {line.slug: line.name for line in table.lines}
    by_one_case = [
        f"“{names[pair.one]}” and “{names[pair.other]}” ({listed(dict.fromkeys(sum(pair.cases.values(), ())))})"
        for pair in table.pairs
        if pair.fewest == 1
    ]
    distinguished = sum(pair.fewest > 0 for pair in table.pairs)
    sentence = f"distinguished: {distinguished} of {count(len(table.pairs), 'pair')}"
    sentence += f"; by only one case: {listed(by_one_case, 3)}" if by_one_case else ""
    return f"{sentence}; {about_both(table)}" if any(pair.both_named is not None for pair in table.pairs) else sentence


def about_both(table: KillTable) -> str:
    """Return how many pairs of mistakes are both reported if one answer makes both."""
    reported = [pair.both_named for pair in table.pairs if pair.both_named is not None]
    return f"both reported if an answer makes both: {sum(reported)} of {len(reported)}"


def about_slips(slips: SlipTable) -> str:
    """Return how many small slips in the reference get each kind of message."""
    counts = ", ".join(f"{slips.counts[kind]} {kind}" for kind in KINDS if slips.counts[kind])
    return f"small slips in the reference: {counts}; slips reported only as one slip or as wrong values:"
