"""The tables of the page for teachers, made from the chapters, so that points, minutes and mistakes are right."""

from collections.abc import Iterable, Sequence
from functools import cache

import indexes

from autograder.chapter.cards import cards
from autograder.chapter.chapter import text_of
from autograder.chapter.reading_time import Effort, core_path, estimate
from check.showing import Shown
from check.words import count

_listed = cache(indexes.listed)


def calendar(*weeks: Sequence[str]) -> Shown:
    """Return a table of weeks with the hours that a student needs for each, to read and to solve.

    Args:
        weeks: the pages of each week. "08_model" is a whole page, "08_model < The loss" everything before the section
            of this title, and "08_model > The loss" that section and the rest.

    Raises:
        ValueError: a page has no such section.
    """
    rows = []
    for number, pages in enumerate(weeks, start=1):
        estimates = [estimate(_text(page)) for page in pages]
        hours = [_hours(efforts) for efforts in zip(*((both.core, both.whole) for both in estimates), strict=True)]
        rows.append((number, "; ".join(map(_page_link, pages)), *hours))
    return indexes.table_of(("Week", "Pages", "Core path", "Everything"), rows, f"a calendar of {len(weeks)} weeks")


def assignment(chapter: str, add: Sequence[str] = ()) -> indexes.Markdown:
    """List the exercises of a chapter to assign and those to skip, with their points and minutes, and the command.

    Args:
        chapter: "01_attention".
        add: exercises off the core path to assign, by name.

    Raises:
        ValueError: the chapter has no such exercise off its core path.
    """
    core = {card.function for card in cards(core_path(_text(chapter)))}
    names = [name for name, entry in _listed().items() if entry.chapter == chapter]
    if not set(add) <= set(names) - core:
        raise ValueError(f"{chapter}: add {list(add)} from off the core path")
    assigned = [name for name in names if name in {*core, *add}]
    skipped = [name for name in names if name not in assigned]
    command = " ".join([f"autograder assign {chapter} --core", *(["--add", *add] if add else [])])
    return indexes.Markdown(
        f"{_sentence('Assign', assigned)}\n\n{_sentence('Skip', skipped)}\n\n**Command:** `{command}`"
    )


def hardest() -> Shown:
    """Return a table of the exercises with three dots: minutes, points, and how many mistakes the grader knows."""
    rows = [
        (
            _exercise_link(name),
            int(entry.chapter[:2]),
            entry.card.minutes,
            entry.card.points,
            len(entry.exercise.mistakes),
        )
        for name, entry in _listed().items()
        if entry.card.difficulty == "●●●"
    ]
    names = "Exercise", "Chapter", "Minutes", "Points", "Known mistakes"
    return indexes.table_of(names, rows, "a table of hard exercises")


def _text(page: str) -> str:
    """The text of a page or of a part of it."""
    name, sign, title = _parts(page)
    text = text_of(name)
    before, heading, after = text.partition(f"\n## {title}\n") if sign else (text, "", "")
    if sign and not heading:
        raise ValueError(f"{name}.md has no section {title!r}")
    return heading + after if sign == ">" else before


def _page_link(page: str) -> str:
    name, sign, title = _parts(page)
    part = {"": "", "<": f", up to “{title}”", ">": f", from “{title}”"}[sign]
    return f'<a href="{name}.html">Chapter {int(name[:2])}</a>{part}'


def _parts(page: str) -> tuple[str, str, str]:
    name, sign, title = page.partition(" < ") if " < " in page else page.partition(" > ")
    return name, sign.strip(), title


def _hours(efforts: Iterable[Effort]) -> str:
    return f"{sum(effort.reading + effort.practice for effort in efforts) / 60:.1f} h"


def _sentence(verb: str, names: Sequence[str]) -> str:
    entries = [_listed()[name] for name in names]
    points, minutes = (sum(getattr(entry.card, size) for entry in entries) for size in ("points", "minutes"))
    return f"**{verb}** ({count(points, 'point')}, {minutes} minutes): {', '.join(map(_exercise_link, names))}."


def _exercise_link(name: str) -> str:
    entry = _listed()[name]
    return f'<a href="{entry.chapter}.html#{entry.card.label}"><code>{name}</code></a>'
