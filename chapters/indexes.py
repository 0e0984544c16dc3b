"""What the index pages show, made from the exercises and the chapters themselves, so that it cannot grow old."""

import html
from dataclasses import dataclass

import exercise_graph
from call_graph import reached
from docutils.nodes import make_id

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.chapter.cards import Card, cards
from autograder.chapter.chapter import text_of
from autograder.house import chapter_names
from check.words import count

CHAPTERS = chapter_names()


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
    """Every exercise: its place, its card, and what it builds on. A script adds the reader's state."""
    every = listed()
    head = "".join(f"<th>{name}</th>" for name in ("exercise", "points", "builds on"))
    bodies = []
    for chapter in CHAPTERS:
        rows = [f'<tr><th colspan="3" scope="rowgroup">Chapter {int(chapter[:2])}</th></tr>']
        for each in every.values():
            if each.chapter == chapter:
                effort = f"<span>{each.card.difficulty}</span> <span>{each.card.minutes}&nbsp;min</span>"
                points = f"<span>{each.exercise.points:g}</span> {effort}"
                cells = [_to(each), points, "".join(_to(every[name]) for name in each.needs)]
                rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
        bodies.append(f"<tbody>{''.join(rows)}</tbody>")
    source = f'<table class="table exercises"><thead><tr>{head}</tr></thead>{"".join(bodies)}</table>'
    return Html(source, f"a table of {len(every)} exercises")


def graph():
    """Every exercise that builds on another one, or that another one builds on, below what it builds on."""
    every = listed()
    wanted = {name: each.needs for name, each in every.items() if not name.startswith(("predicted_", "repaired_"))}
    needs = exercise_graph.connected(wanted)
    source = exercise_graph.graph(
        needs,
        heading=lambda name: f"Chapter {int(every[name].chapter[:2])}",
        link=lambda name: _address(every[name]),
    )
    return Html(source, f"a graph of {len(needs)} exercises; the table has the same as text")


def _hyphened(name):
    return name.replace("_", "-")


def _address(each):
    return f"{each.chapter}.html#{each.card.label}"


def _to(each):
    name = each.exercise.name.replace("_", "_<wbr/>")
    return f'<a href="{_address(each)}"><code>{name}</code></a>'
