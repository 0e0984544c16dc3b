"""What the index pages show, made from the exercises and the chapters themselves, so that it cannot grow old."""

import html
from dataclasses import dataclass
from itertools import cycle

import figures
import numpy as np
from call_graph import reached
from docutils.nodes import make_id

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.chapter.cards import Card, cards
from autograder.chapter.chapter import text_of
from autograder.house import chapter_names
from check.words import count

CHAPTERS = chapter_names()
PHONE = 3.5  # inches: as wide as a figure on a phone, so that its letters are not made smaller there


@dataclass(frozen=True)
class Listed:
    """An exercise with its place in the book. needs: earlier exercises that it builds on, itself or by a helper."""

    exercise: Exercise
    chapter: str
    card: Card
    needs: tuple[str, ...]


class Html:
    """A piece of a page; as plain text it is what `words` says."""

    def __init__(self, source, words):
        self.source, self.words = source, words

    def _repr_html_(self):
        return self.source

    def __repr__(self):
        return self.words


class Markdown:
    """A piece of a page that the search finds, too."""

    def __init__(self, source):
        self.source = source

    def _repr_markdown_(self):
        return self.source

    def __repr__(self):
        return self.source


def link(chapter, title):
    """A link to a section of a chapter, by the section's title."""
    return f'<a href="{chapter}.html#{make_id(title)}">{html.escape(title)}</a>'


def listed():
    """All exercises of the book, by name, in its order."""
    found = {}
    for chapter in CHAPTERS:
        its_card = {card.function: card for card in cards(text_of(chapter))}
        for each in exercises_of(chapter):
            built_on = {*reached(each.reference, found), *each.uses}
            needs = tuple(name for name in found if name in built_on)
            found[each.name] = Listed(each, chapter, its_card[each.name], needs)
    return found


def mistakes(chapter):
    """A chapter's mistakes, by name and message, without their code: a fold for each exercise, an address for each.

    The folds are open; the page's script closes them. The section to reread is a link.
    """
    parts = []
    for each in exercises_of(chapter):
        number = count(len(each.mistakes), "mistake")
        parts += [
            f'<details open class="mistakes" id="mistakes-of-{_hyphened(each.name)}">',
            f"<summary><code>{each.name}</code> <span>{number}</span></summary>\n",
            f"Read again: {link(chapter, each.section)}\n",
        ]
        for slug, (mistake, _) in each.mistakes.items():
            address = f"{_hyphened(each.name)}-{_hyphened(slug)}"
            parts += [
                f'<div class="mistake" id="{address}">\n',
                f"*{mistake.name}.* {mistake.message} Reread “{link(chapter, mistake.reread)}”.",
                f'<a class="mistake-link" href="#{address}" title="Link to this mistake">#</a>\n',
                "</div>\n",
            ]
        parts.append("</details>\n")
    return Markdown("\n".join(parts))


def table():
    """Every exercise: its place, its card, what it builds on, and what builds on it."""
    every = listed()
    head = "".join(f"<th>{name}</th>" for name in ("exercise", "points", "effort", "builds on", "leads to"))
    rows = []
    for chapter in CHAPTERS:
        rows.append(f'<tr><th colspan="5" scope="rowgroup">Chapter {int(chapter[:2])}</th></tr>')
        for name, each in every.items():
            if each.chapter == chapter:
                leads = [other for other, its in every.items() if name in its.needs]
                effort = f"{each.card.difficulty}<br>{each.card.minutes}&nbsp;min"
                cells = [_to(each), f"{each.exercise.points:g}", effort]
                cells += ["".join(f"<div>{_to(every[n])}</div>" for n in names) for names in (each.needs, leads)]
                rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    source = f'<table class="table exercises"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return Html(source, f"a table of {len(every)} exercises")


def draw():
    """One line an exercise, from top to bottom; an arc leads from each to those that build on it."""
    every = {name: each for name, each in listed().items() if not name.startswith(("predicted_", "repaired_"))}
    at = {name: -row for row, name in enumerate(every)}
    colours = dict(zip(CHAPTERS, cycle(figures.PALETTE[:5])))
    fig, ax = figures.subplots(width=PHONE, height=0.2 * len(every) + 0.4)
    for name, each in every.items():
        for needed in each.needs:
            if needed in at:
                _arc(ax, at[needed], at[name], colours[every[needed].chapter])
        number = int(each.chapter[:2])
        ax.text(-0.2, at[name], f"{number}  {name}", ha="right", va="center", fontsize=9, color=colours[each.chapter])
    n_arcs = len(ax.lines)
    ax.set(xlim=(-25, 11), ylim=(-len(every), 1))
    ax.axis("off")
    alt = (
        f"{len(every)} functions in a column, coloured by chapter, and {n_arcs} arcs, from each to those that build "
        "on it; the table below has them all as text."
    )
    return figures.show(fig, alt=alt)


def _arc(ax, start, end, colour):
    angles = np.linspace(-np.pi / 2, np.pi / 2, 40)
    middle, radius = (start + end) / 2, (start - end) / 2
    width = 1 + 2 * radius**0.5
    ax.plot(
        width * np.cos(angles), middle - radius * np.sin(angles), color=colour, linestyle="-", linewidth=1, alpha=0.7
    )


def _hyphened(name):
    return name.replace("_", "-")


def _to(each):
    name = each.exercise.name.replace("_", "_<wbr>")
    return f'<a href="{each.chapter}.html#{each.card.label}"><code>{name}</code></a>'
