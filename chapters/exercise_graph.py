"""Draw the graph of the exercises as HTML: links to the exercises, and lines from each exercise to those that use it.

Every exercise is below all those that it builds on. `static/exercise_graph.js` highlights these.
"""

from collections.abc import Callable, Iterable
from itertools import groupby

COLUMNS = 4  # and half a column, by which every second row is shifted, so that lines pass between the names
WIDTH, ROW, HEADING = 142, 62, 26  # pixels: of a column, of a row, and of a chapter's heading
LINK_WIDTH, LINK_HEIGHT = 134, 40  # pixels; two lines of a name in `exercise_graph.css`


def graph(needs: dict[str, Iterable[str]], heading: Callable[[str], str], link: Callable[[str], str]) -> str:
    """Return the HTML of a graph.

    Args:
        needs: exercise -> the exercises before it that it builds on.
        heading: exercise -> title of its chapter. All exercises of a chapter follow each other in `needs`.
        link: exercise -> address.
    """
    places, headings, height = _layout(needs, heading)
    lines = [_line(needed, name, places) for name in needs for needed in needs[name]]
    links = [_link(name, needs[name], places[name], link(name)) for name in sorted(places, key=_from_top(places))]
    titles = [f'<p style="top: {top}px">{title}</p>' for title, top in headings.items()]
    size = f"width: {COLUMNS * WIDTH + WIDTH // 2}px; height: {height}px"
    return (
        f'<div class="exercise-graph"><div style="{size}">'
        f'<svg xmlns="http://www.w3.org/2000/svg" aria-hidden="true">{"".join(lines)}</svg>'
        f"{''.join(titles)}{''.join(links)}</div></div>"
    )


def connected(needs: dict[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return the exercises with at least one line in the graph, each with those that it builds on."""
    within = {name: [needed for needed in needs[name] if needed in needs] for name in needs}
    used = {needed for names in within.values() for needed in names}
    return {name: names for name, names in within.items() if names or name in used}


def _layout(needs, heading):
    """Name -> the upper left corner of its link, title -> the top of its heading, and the height of all."""
    places, headings, top, shift = {}, {}, 0, 0
    for title, names in groupby(needs, key=heading):
        headings[title] = top
        top += HEADING
        for row in _rows(list(names), needs):
            wanted = {name: _mean([places[needed][0] for needed in needs[name]]) for name in row}
            for name, column in _columns(wanted).items():
                places[name] = column * WIDTH + shift, top
            top, shift = top + ROW, WIDTH // 2 - shift
    return places, headings, top


def _columns(wanted):
    """Name -> column, in the order of the wanted columns and as near to them as the other names allow."""
    columns, free = {}, 0
    for rest, name in zip(range(len(wanted) - 1, -1, -1), sorted(wanted, key=wanted.get), strict=True):
        columns[name] = min(max(round(wanted[name] / WIDTH), free), COLUMNS - 1 - rest)
        free = columns[name] + 1
    return columns


def _rows(names, needs):
    """The names of one chapter in rows of at most `COLUMNS`, each below what it builds on."""
    depth = {}
    for name in names:
        depth[name] = 1 + max((depth[needed] for needed in needs[name] if needed in depth), default=-1)
    levels = [[name for name in names if depth[name] == level] for level in range(max(depth.values()) + 1)]
    return [level[first : first + COLUMNS] for level in levels for first in range(0, len(level), COLUMNS)]


def _mean(numbers):
    return sum(numbers) / len(numbers) if numbers else 0


def _from_top(places):
    return lambda name: places[name][::-1]


def _line(start, end, places):
    (x1, y1), (x2, y2) = places[start], places[end]
    x1, x2, y1 = x1 + LINK_WIDTH // 2, x2 + LINK_WIDTH // 2, y1 + LINK_HEIGHT
    bend = max((y2 - y1) // 2, 12)
    path = f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"
    return f'<path d="{path}" data-from="{start}" data-to="{end}"/>'


def _link(name, needed, place, address):
    left, top = place
    shown = name.replace("_", "_<wbr/>")
    return (
        f'<a href="{address}" style="left: {left}px; top: {top}px" data-name="{name}" data-needs="{" ".join(needed)}">'
        f"<code>{shown}</code></a>"
    )
