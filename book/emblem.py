"""Draw the book's emblem, a causal mask: `python -m book.emblem` writes the icon of its tab and its card.

The card is what a chat or a social network shows beside a link to the book.
"""

import io
from pathlib import Path

from matplotlib import style
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

STATIC = Path(__file__).resolve().parent / "static"
ACCENT, WHITE, INK, MUTED = "#2768a8", "#ffffff", "#1f2328", "#57606a"
ROWS = 4
TITLE = "The Transformer\nby Hand"
LEAD = """Nine chapters from one weighted average to a model that translates:
derived, written in NumPy, differentiated by hand."""


def cells():
    """The cells of a causal mask: (row, column, whether the query of this row may attend to this key)."""
    return [(row, column, column <= row) for row in range(ROWS) for column in range(ROWS)]


def icon():
    """The emblem on 32 by 32 units, as SVG: what may be seen is white on the accent, light or dark around it."""
    squares = "\n".join(
        f'<rect x="{5 + 6 * column}" y="{5 + 6 * row}" width="4.5" height="4.5" rx="0.8" fill="{WHITE}" '
        f'fill-opacity="{1 if seen else 0.28}"/>'
        for row, column, seen in cells()
    )
    frame = f'<rect width="32" height="32" rx="6" fill="{ACCENT}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\n{frame}\n{squares}\n</svg>\n'


@style.context("default")  # whatever the style of figures is
def card(width=1200, height=630):
    """The title beside the emblem, as PNG, in pixels."""
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=WHITE)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    side, step, left, top = 62, 76, 80, 166
    for row, column, seen in cells():
        colour = {"facecolor": ACCENT, "alpha": 1 if seen else 0.16}
        axes.add_patch(Rectangle((left + step * column, top + step * row), side, side, linewidth=0, **colour))
    text = {"x": 450, "ha": "left", "family": "DejaVu Serif"}
    axes.text(y=250, s=TITLE, va="center", fontsize=44, color=INK, linespacing=1.25, **text)
    axes.text(y=410, s=LEAD, va="center", fontsize=14, color=MUTED, linespacing=1.6, **text)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    return drawn.getvalue()


if __name__ == "__main__":
    (STATIC / "icon.svg").write_text(icon(), encoding="utf-8")
    (STATIC / "card.png").write_bytes(card())
