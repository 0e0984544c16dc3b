"""Draw figures in the book's style: one size, one font, one palette, and inline SVG for light and dark pages.

    fig, ax = figures.subplots()
    ax.plot(steps, losses, label="training")
    figures.show(fig, alt="The loss falls from 5.2 to 1.1 within 600 steps.")

Draw several panels as several figures. They are side by side on a wide page, and one below the other on a phone.

    figs, (left, right) = figures.panels(2)
    figures.show(*figs, alt="...")

Needs matplotlib and NumPy. Ink is the page's own text colour; every other colour has a contrast of at least 3 on
white and on #121212 (a test computes it), which is too little for text. Lines also differ in their dashes.
"""

import hashlib
import html
import io
import re

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from model_map import draw_model

WIDTH, HEIGHT = 5.6, 3.3  # inches; on the page a figure is as wide as this or as wide as the phone
PANEL_GAP = 0.15  # inches, between panels
FONT = "'House Sans', system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
BLUE, ORANGE, GREEN, PURPLE, RED, GREY = "#2f7cc4", "#c8690c", "#1f8a5f", "#9467c4", "#d04a5e", "#7d7d7d"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY)
DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (10, 2)), (0, (1, 1)))
STRONGEST = 0.72  # opacity of a heatmap's fullest cell: the number written on it keeps a contrast of 4.5
INK = "#010203"  # stands for the page's text colour until `show` puts `currentColor` in its place

matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "the transformer by hand", "savefig.transparent": True,
    "figure.figsize": (WIDTH, HEIGHT), "font.family": "DejaVu Sans", "font.size": 11, "mathtext.fontset": "dejavusans",
    "axes.titlesize": 12, "axes.titlelocation": "left", "axes.titlepad": 10, "axes.labelsize": 11,
    "xtick.labelsize": 11, "ytick.labelsize": 11, "legend.fontsize": 11, "legend.frameon": False,
    "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.facecolor": "none", "figure.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False,
    "axes.linewidth": 0.8, "axes.grid": True, "grid.color": INK, "grid.alpha": 0.12, "grid.linewidth": 0.8,
    "axes.axisbelow": True, "lines.linewidth": 2, "axes.prop_cycle": cycler(color=PALETTE) + cycler(linestyle=DASHES),
})  # fmt: skip


class Picture:
    """One SVG or a row of them. Notebooks and the book show the picture, a terminal its alternative text."""

    def __init__(self, svg, alt):
        self.svg, self.alt = svg, alt

    def _repr_html_(self):
        return self.svg

    def __repr__(self):
        return self.alt


def subplots(rows=1, columns=1, width=WIDTH, height=HEIGHT, **options):
    """Return a figure in the book's style, and its axes; like `plt.subplots`, but nothing is drawn until `show`.

    Args:
        rows, columns: the grid of axes.
        width, height: inches. Keep the width: it decides how large the letters are on a phone, where letters of 11
            points have 9 pixels in a figure of this width.
        options: for `Figure.subplots`: sharex, width_ratios, ...

    Returns:
        (figure, axes), axes being one Axes, or an array of them.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def panels(n, width=None, height=2.6, columns=None, **options):
    """Make figures of one Axes each, for `show(*figures, alt=...)`, which puts them side by side if the page is wide.

    On a phone a reader sees one at a time. So give each figure its own title and labels, and give the same limits to
    panels that readers should compare.

    Args:
        n: how many.
        width: inches, of each; by default, `columns` of them fit side by side into WIDTH.
        height: inches, of each.
        columns: int, at most this many side by side; by default n.
        options: for `Figure.subplots`: subplot_kw, ...

    Returns:
        (figures, axes): two lists of n.
    """
    columns = columns or n
    width = width or (WIDTH - (columns - 1) * PANEL_GAP) / columns
    pairs = [subplots(width=width, height=height, **options) for _ in range(n)]
    return [figure for figure, _ in pairs], [ax for _, ax in pairs]


def show(figure, *others, alt):
    """Return the figure as a Picture. Make it the last expression of a cell.

    Args:
        figure: a matplotlib Figure.
        others: more of them, the panels of one picture. They are side by side if the page is wide enough, and
            otherwise one below the other, so that their letters keep their size. Their frames get the same margins, so
            that they are aligned.
        alt: str, what someone who cannot see the figure must know: what is drawn, and what it shows. One text for
            all panels.

    Returns:
        Picture, the same to the last byte whenever it is drawn again.

    Raises:
        ValueError: `alt` is empty.
    """
    _require(alt)
    if others:
        _align((figure, *others))
    drawings = [_draw(panel) for panel in (figure, *others)]
    return Picture(_side_by_side(drawings, alt) if others else _inline(*drawings[0], alt), alt)


def heatmap(matrix, rows=None, columns=None, *, row_title="", column_title="", title="", full=None, ax=None):
    """Draw a matrix as a grid of cells: attention weights, masks, gradients.

    With up to 10 columns, each cell shows its number. Positive cells are blue and negative cells orange; the opacity is
    the size relative to `full`. In a boolean matrix True is a filled cell and False a small cross.

    Args:
        matrix: (n_rows, n_columns), float, int or bool.
        rows, columns: labels, for example tokens; None for no labels.
        row_title, column_title, title: str.
        full: the size of an entry from which its cell has the fullest colour; by default that of the largest entry.
        Maps that are compared with each other need the same.
        ax: the Axes to draw on, for several maps in one figure; by default a new figure.

    Returns:
        the Figure.

    Raises:
        ValueError: `matrix` is not 2-D, or there are more or fewer labels than rows or columns.
    """
    matrix = np.asarray(matrix)
    if matrix.ndim != 2:
        raise ValueError(f"heatmap draws a matrix; this array has shape {matrix.shape}")
    for labels, length, name in ((rows, matrix.shape[0], "rows"), (columns, matrix.shape[1], "columns")):
        if labels is not None and len(labels) != length:
            raise ValueError(f"{len(labels)} labels for {length} {name}")
    if ax is None:
        width = min(WIDTH, 0.58 * matrix.shape[1] + 1.4)
        _, ax = subplots(width=width, height=min(1.6 * WIDTH, (width - 1.1) * matrix.shape[0] / matrix.shape[1] + 0.9))
    _draw_cells(ax, _colours(matrix, full))
    ax.set(title=title, xlabel=column_title, ylabel=row_title)
    ax.xaxis.set(label_position="top", ticks_position="top")
    ax.tick_params(length=0, bottom=False)
    ax.set_xticks(range(matrix.shape[1]) if columns is not None else [], columns)
    ax.set_yticks(range(matrix.shape[0]) if rows is not None else [], rows)
    if columns is not None and max(map(_letters, columns), default=0) > 4:
        ax.tick_params(axis="x", rotation=45)
        for label in ax.get_xticklabels():
            label.set(ha="left", rotation_mode="anchor")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    if matrix.shape[1] <= 10:
        for i, j in np.ndindex(matrix.shape):
            ax.text(j, i, _written(matrix[i, j]), ha="center", va="center", fontsize=10)
    return ax.figure


def model_map(lit):
    """Return the recurring picture of the whole model, with one part highlighted.

    Args:
        lit: the name of the part, a key of `model_map.PARTS`.

    Returns:
        Picture, with its alternative text.

    Raises:
        ValueError: any other word.
    """
    body, width, height, alt = draw_model(lit, accent=BLUE)
    return Picture(_inline(body, width, height, alt), alt)


def _align(panels):
    """Give figures of one Axes each the same margins, in inches, wide enough for the text in them."""
    if any(len(panel.axes) != 1 for panel in panels):
        return
    margins = []
    for panel in panels:
        panel.draw_without_rendering()  # lays it out
        box, (width, height) = panel.axes[0].get_position(original=True), panel.get_size_inches()
        margins.append((box.x0 * width, box.y0 * height, (1 - box.x1) * width, (1 - box.y1) * height))
    left, bottom, right, top = np.max(margins, axis=0)
    for panel in panels:
        width, height = panel.get_size_inches()
        panel.set_layout_engine("none")
        share = left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height
        panel.axes[0].set_position(share)


def _draw(figure):
    """A figure as SVG: (the content of its svg element, width in points, height in points)."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    if figure.canvas.manager:  # made by pyplot, which would draw it a second time
        import matplotlib.pyplot

        matplotlib.pyplot.close(figure)
    drawing = buffer.getvalue()
    width, height = re.search(r'viewBox="0 0 (\S+) (\S+)"', drawing).groups()
    body = drawing[drawing.index(">", drawing.index("<svg")) + 1 : drawing.rindex("</svg>")]
    return body, float(width), float(height)


def _require(alt):
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError("a figure needs alternative text: show(fig, alt='what it shows')")


def _letters(label):
    """The number of letters in a label, without TeX's signs."""
    return len(re.sub(r"\\[a-zA-Z]+|[${}_^]", "", str(label)))


def _colours(matrix, full):
    values = np.nan_to_num(matrix.astype(float))
    full = full or np.abs(values).max(initial=0) or 1
    colours = np.empty((*matrix.shape, 4))
    colours[..., :3] = np.where(values[..., None] < 0, *(matplotlib.colors.to_rgb(hue) for hue in (ORANGE, BLUE)))
    colours[..., 3] = STRONGEST * np.minimum(np.abs(values) / full, 1)
    return colours


def _draw_cells(ax, colours):
    """Draw tiles with gaps between them, or one embedded image if the tiles would be too small to distinguish."""
    n_rows, n_columns = colours.shape[:2]
    if n_rows * n_columns > 400:
        ax.imshow(colours, interpolation="none", aspect="auto")
        return
    tiles = [Rectangle((j - 0.48, i - 0.48), 0.96, 0.96) for i, j in np.ndindex(n_rows, n_columns)]
    ax.add_collection(PatchCollection(tiles, facecolors=colours.reshape(-1, 4), edgecolors="none"))
    ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5), aspect="equal")


def _written(value):
    if isinstance(value, np.bool_):
        return "" if value else "×"
    if isinstance(value, np.integer) or not np.isfinite(value):
        return str(value)
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")  # adding zero turns −0 into 0


def _side_by_side(drawings, alt):
    """Several SVG elements as one picture with one name, in rows that wrap."""
    svgs = "\n".join(_inline(*drawing, alt, panel) for panel, drawing in enumerate(drawings))
    return (
        f'<div class="figure-panels" role="img" aria-label="{html.escape(alt)}" '
        f'style="display: flex; flex-wrap: wrap; justify-content: center; align-items: flex-start; '
        f'gap: {PANEL_GAP * 96:.0f}px">\n{svgs}\n</div>'
    )


def _inline(body, width, height, alt, panel=None):
    """An SVG element for a page: its own ids, the page's text colour, a name, and no wider than the page.

    The panels of a row are numbered, and have no names because their row has one.
    """
    body = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL)
    body = body.replace(INK, "currentColor").replace("'DejaVu Sans'", FONT)
    own = "f" + hashlib.sha256((body + alt).encode()).hexdigest()[:10] + ("" if panel is None else f"-{panel}")
    body = re.sub(r'\bid="', f'id="{own}-', body)
    body = re.sub(r'(url\(#|href="#)', rf"\g<1>{own}-", body)
    body = re.sub(r"\s*\n\s*", "\n", body).strip()
    words = html.escape(alt)
    name = f'role="img" aria-label="{words}"' if panel is None else 'aria-hidden="true"'
    title = f"<title>{words}</title>\n" if panel is None else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="figure-drawing" '
        f'{name} viewBox="0 0 {width:g} {height:g}" '
        f'style="width: {width * 4 / 3:.0f}px; max-width: 100%; height: auto; stroke-linejoin: round">'
        f"{title}{body}\n</svg>"
    )
