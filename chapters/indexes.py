"""Make the content of the index pages from the exercises and the chapters, so that it is never out of date."""

import html
import re
from dataclasses import dataclass

import exercise_graph
import yaml
from docutils.nodes import make_id

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.authoring.inherited import called_exercises
from autograder.chapter.cards import Card, cards
from autograder.chapter.chapter import text_of
from autograder.layout import chapter_names
from check.showing import Shown
from check.words import count

CHAPTERS = chapter_names()
STATE = '<{0} class="live-state pst-js-only">{1}</{0}>'


@dataclass(frozen=True)
class Listed:
    """An exercise with its place in the book. needs: earlier exercises that it calls, directly or through a helper."""

    exercise: Exercise
    chapter: str
    card: Card
    needs: tuple[str, ...]


class Markdown:
    """A piece of a page that the search can find."""

    def __init__(self, source):
        self.source = source

    def _repr_markdown_(self):
        return self.source

    def __repr__(self):
        return self.source


def link(chapter, title):
    """Return a link to a section of a chapter, given the section's title."""
    return f'<a href="{chapter}.html#{make_id(title)}">{html.escape(title)}</a>'


def contents():
    """Return the front page's table of the chapters: number, title, and what the reader will have made.

    Raises:
        ValueError: the front matter of a chapter does not say what the reader will have made.
    """
    rows = []
    for chapter in CHAPTERS:
        front_matter, _, text = text_of(chapter).partition("\n---\n")
        title, made = re.search(r"^# (.+)", text, re.MULTILINE)[1], yaml.safe_load(front_matter).get("made")
        if not made:
            raise ValueError(f"{chapter}.md: say in its front matter, after `made:`, what the reader will have made")
        link = f'<a href="{chapter}.html">{html.escape(title)}</a>'
        rows.append((int(chapter[:2]), link, html.escape(made)))
    return table_of(("No.", "Chapter", "What you will have made"), rows, f"a table of {len(CHAPTERS)} chapters")


def table_of(names, rows, words):
    """Return a table whose cells are HTML, because MyST-NB reads no tables in the Markdown that a cell returns."""
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return Shown(words, f'<table class="table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')


def listed():
    """Return all exercises of the book by name, in the book's order."""
    exercises = {}
    for chapter in CHAPTERS:
        card_of = {card.function: card for card in cards(text_of(chapter))}
        for exercise in exercises_of(chapter):
            built_on = {called.name for called in called_exercises(exercise.reference)}
            needs = tuple(name for name in exercises if name in built_on)
            exercises[exercise.name] = Listed(exercise, chapter, card_of[exercise.name], needs)
    return exercises


def mistakes(chapter):
    """Return a chapter's mistakes by name and message, without their code. Each mistake is a link target.

    The folds are open; the page's script closes them. The section to reread is a link.
    """
    parts = []
    for exercise in exercises_of(chapter):
        number = count(len(exercise.mistakes), "mistake")
        parts += [
            f'<details open class="mistakes" id="mistakes-of-{_hyphened(exercise.name)}">',
            f"<summary><code>{exercise.name}</code> <span>{number}</span></summary>\n",
            f"Read again: {link(chapter, exercise.section)}\n",
        ]
        for slug, (mistake, _) in exercise.mistakes.items():
            address = f"{_hyphened(exercise.name)}-{_hyphened(slug)}"
            parts += [
                f'<div class="mistake" id="{address}">\n',
                f"*{mistake.name}.* {mistake.message} Reread “{link(chapter, mistake.reread)}”.",
                f'<a class="mistake-link" href="#{address}" title="Link to this mistake">#</a>\n',
                "</div>\n",
            ]
        parts.append("</details>\n")
    return Markdown("\n".join(parts))


def table():
    """Return the table of all exercises: place, card, what each builds on, and whether it passes.

    The last column shows the state before the reader has done any. The page's script updates it, and without the script
    the page hides it.
    """
    every = listed()
    head = "".join(f"<th>{name}</th>" for name in ("exercise", "points", "builds on")) + STATE.format("th", "state")
    bodies = []
    for chapter in CHAPTERS:
        rows = [f'<tr><th colspan="4" scope="rowgroup">Chapter {int(chapter[:2])}</th></tr>']
        for entry in every.values():
            if entry.chapter == chapter:
                effort = f"<span>{entry.card.difficulty}</span> <span>{entry.card.minutes}&nbsp;min</span>"
                points = f"<span>{entry.exercise.points:g}</span> {effort}"
                cells = [_to(entry), points, "".join(_to(every[name]) for name in entry.needs)]
                state = "needs PyTorch" if isinstance(entry.exercise.reference, type) else "not yet"
                row = "".join(f"<td>{cell}</td>" for cell in cells) + STATE.format("td", state)
                rows.append(f"<tr>{row}</tr>")
        bodies.append(f"<tbody>{''.join(rows)}</tbody>")
    source = f'<table class="table exercises"><thead><tr>{head}</tr></thead>{"".join(bodies)}</table>'
    return Shown(f"a table of {len(every)} exercises", source)


def graph():
    """Return the graph of the exercises, without those that have no line in it."""
    every = listed()
    wanted = {name: entry.needs for name, entry in every.items() if not name.startswith(("predicted_", "repaired_"))}
    needs = exercise_graph.connected(wanted)
    source = exercise_graph.graph(
        needs,
        heading=lambda name: f"Chapter {int(every[name].chapter[:2])}",
        link=lambda name: _address(every[name]),
    )
    return Shown(f"a graph of {len(needs)} exercises; the table has the same as text", source)


def _hyphened(name):
    return name.replace("_", "-")


def _address(entry):
    return f"{entry.chapter}.html#{entry.card.label}"


def _to(entry):
    name = entry.exercise.name.replace("_", "_<wbr/>")
    return f'<a href="{_address(entry)}"><code>{name}</code></a>'
