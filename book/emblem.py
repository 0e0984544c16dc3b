"""Draw the book's emblem, a causal mask: `python -m book.emblem` writes the icon of the browser's tab and the card.

Chats and social networks show the card beside a link to the book.
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
LEAD = """From one weighted average to a model that translates:
every formula derived, written in NumPy, differentiated by hand."""


def cells() -> list[tuple[int, int, bool]]:
    """Return the cells of a causal mask: (row, column, whether the query of this row may attend to this key)."""
    return [(row, column, column <= row) for row in range(ROWS) for column in range(ROWS)]


def icon() -> str:
    """Return the emblem as SVG of 32 by 32 units. It is white on the accent colour, for light and dark tabs."""
    squares = "\n".join(
        f'<rect x="{5 + 6 * column}" y="{5 + 6 * row}" width="4.5" height="4.5" rx="0.8" fill="{WHITE}" '
        f'fill-opacity="{1 if visible else 0.28}"/>'
        for row, column, visible in cells()
    )
    frame = f'<rect width="32" height="32" rx="6" fill="{ACCENT}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\n{frame}\n{squares}\n</svg>\n'


@style.context("default")  # without the style of the book's figures
def card() -> bytes:
    """Return the title beside the emblem as PNG."""
    width, height = 1200, 630  # pixels
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=WHITE)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    side, step, left, top = 62, 76, 80, 166
    for row, column, visible in cells():
        corner, opacity = (left + step * column, top + step * row), 1 if visible else 0.16
        axes.add_patch(Rectangle(corner, side, side, linewidth=0, facecolor=ACCENT, alpha=opacity))
    serif = {"ha": "left", "va": "center", "family": "DejaVu Serif"}
    axes.text(450, 250, TITLE, serif, fontsize=44, color=INK, linespacing=1.25)
    axes.text(450, 410, LEAD, serif, fontsize=14, color=MUTED, linespacing=1.6)
    png = io.BytesIO()
    figure.savefig(png, format="png", metadata={"Software": None})
    return png.getvalue()


if __name__ == "__main__":
    (STATIC / "icon.svg").write_text(icon(), encoding="utf-8")
    (STATIC / "card.png").write_bytes(card())
