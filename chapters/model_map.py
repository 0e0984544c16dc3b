"""Draw the recurring picture in SVG: encoder and decoder, from the words at the bottom to the loss at the top.

Each element belongs to one or several parts of the model. Those of the highlighted part have the accent colour.
Coordinates are SVG units, y downwards. Use it through `figures.model_map`.
"""

# Name of each part that can be highlighted -> its description, for the alternative text.
PARTS = {
    "attention": "the three attention blocks",
    "backward": "the gradients, which run from the loss back down to the embeddings",
    "masking": "the masks of the three attention blocks",
    "multihead": "the parallel heads of the three attention blocks",
    "residual": "the residual connections, the layer normalisations and the feed-forward blocks",
    "position": "the embeddings and the positional encodings",
    "cross": "the cross-attention of the decoder and the memory it reads from the encoder",
    "model": "everything from the words to the next word's probabilities",
    "training": "the loss, which compares the prediction with the smoothed next word, and the way from the gradients "
    "over schedule and Adam to new parameters",
}
WIDTH, HEIGHT = 440, 548
ENCODER, DECODER, BOX = 112, 322, 144  # the two columns' centres, and the width of their boxes
CORNER = 7  # the radius of a line's corners
BLOCKS = "attention masking multihead model"  # the parts to which an attention block belongs

CAUSAL = ("X...", "XX..", "XXX.", "XXXX")
PADDING = ("XXX.",) * 4


def draw_model(lit, accent):
    """Return the picture's SVG elements.

    Args:
        lit: a key of PARTS.
        accent: the colour of the lit part.

    Returns:
        (elements, width, height, alternative text)

    Raises:
        ValueError: `lit` is not a part of the model.
    """
    if lit not in PARTS:
        raise ValueError(f"no part of the model is called {lit!r}; choose from {', '.join(PARTS)}")
    pen = _Pen(lit, accent)
    _frames(pen)
    _bottom(pen, ENCODER, "source words")
    _attention(pen, ENCODER, 352, "self-attention", PADDING)
    _around(pen, ENCODER, top=344, bottom=404, norm=314)
    _feed_forward(pen, ENCODER, 262)
    _around(pen, ENCODER, top=262, bottom=303, norm=224)
    _bottom(pen, DECODER, "target words so far")
    _attention(pen, DECODER, 352, "self-attention", CAUSAL)
    _around(pen, DECODER, top=344, bottom=404, norm=314)
    _attention(pen, DECODER, 252, "cross-attention", PADDING, also="cross")
    _around(pen, DECODER, top=244, bottom=302, norm=214)
    _feed_forward(pen, DECODER, 162)
    _around(pen, DECODER, top=162, bottom=203, norm=124)
    _memory(pen)
    _top(pen)
    _gradients(pen)
    alt = (
        "The whole model: an encoder on the left, a decoder on the right that reads the encoder's memory, "
        f"word embeddings below, the prediction and the loss above. Lit here: {PARTS[lit]}."
    )
    return "\n".join(pen.elements), WIDTH, HEIGHT, alt


class _Pen:
    """Collects SVG elements; each is drawn in the accent colour if it belongs to the highlighted part."""

    def __init__(self, lit, accent):
        self.lit, self.accent, self.elements = lit, accent, []

    def is_lit(self, parts):
        return self.lit in parts.split()

    def line(self, parts, *points, arrow=True, dashed=False):
        """Draw a line through `points`, with round corners and an arrowhead at its end."""
        path = f"M{points[0][0]:g},{points[0][1]:g}"
        for before, corner, after in zip(points, points[1:], points[2:], strict=False):
            (x0, y0), (x1, y1) = _towards(corner, before), _towards(corner, after)
            path += f" L{x0:g},{y0:g} Q{corner[0]:g},{corner[1]:g} {x1:g},{y1:g}"
        self.stroke(f"{path} L{points[-1][0]:g},{points[-1][1]:g}", parts, dashed)
        if arrow:
            self._arrowhead(points[-2], points[-1], parts)

    def stroke(self, path, parts, dashed=False):
        ink = f'stroke="{self.accent}" stroke-width="2.2"' if self.is_lit(parts) else _FAINT
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self.elements.append(f'<path d="{path}" fill="none" {ink}{dashes}/>')

    def box(self, parts, x, y, width, height, text="", radius=7):
        lit = f'fill="{self.accent}" fill-opacity="0.2" stroke="{self.accent}" stroke-width="1.8"'
        ink = lit if self.is_lit(parts) else f'fill="none" {_FAINT}'
        self.elements.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}" {ink}/>')
        if text:
            self.text(parts, x + width / 2, y + height / 2, text)

    def text(self, parts, x, y, text, anchor="middle"):
        weight, opacity = (600, 1) if self.is_lit(parts) else (400, 0.75)
        self.elements.append(
            f'<text x="{x:g}" y="{y:g}" dy="0.34em" text-anchor="{anchor}" fill="currentColor" '
            f'fill-opacity="{opacity}" style="font: {weight} 12.5px \'DejaVu Sans\'">{text}</text>'
        )

    def cell(self, parts, x, y, filled):
        colour, opacity = (self.accent, 1) if self.is_lit(parts) else ("currentColor", 0.45)
        self.elements.append(
            f'<rect x="{x:g}" y="{y:g}" width="4.4" height="4.4" fill="{colour if filled else "none"}" '
            f'opacity="{opacity}" stroke="{colour}" stroke-width="0.6"/>'
        )

    def _arrowhead(self, before, tip, parts):
        (x, y), (back_x, back_y) = tip, _towards(tip, before)
        dx, dy = (x - back_x) / CORNER, (y - back_y) / CORNER
        corners = [(x, y), (back_x - 3.6 * dy, back_y + 3.6 * dx), (back_x + 3.6 * dy, back_y - 3.6 * dx)]
        ink = f'fill="{self.accent}"' if self.is_lit(parts) else 'fill="currentColor" fill-opacity="0.55"'
        self.elements.append(f'<polygon points="{" ".join(f"{px:g},{py:g}" for px, py in corners)}" {ink}/>')


_FAINT = 'stroke="currentColor" stroke-opacity="0.38"'


def _towards(start, end):
    """The point CORNER units from `start` on the horizontal or vertical line to `end`."""
    length = abs(end[0] - start[0]) + abs(end[1] - start[1])
    return tuple(a + CORNER * (b - a) / length for a, b in zip(start, end, strict=True))


def _outside(column):
    return -1 if column == ENCODER else 1


def _frames(pen):
    pen.box("model", 12, 212, 186, 222, radius=14)
    pen.box("model", 236, 112, 186, 322, radius=14)
    pen.text("model", 20, 421, "encoder × N", anchor="start")
    pen.text("model", 414, 421, "decoder × N", anchor="end")


def _bottom(pen, column, words):
    """Draw the words, their embedding, and the position that is added to it."""
    pen.text("model", column, 537, words)
    pen.line("model", (column, 527), (column, 514))
    pen.box("position model", column - BOX / 2, 486, BOX, 26, "embedding")
    pen.line("position model", (column, 486), (column, 471))
    pen.box("position model", column - 8, 453, 16, 16, "+", radius=8)
    inside = -_outside(column)
    wave = "".join(f" q{5 * inside},{-14 if k % 2 == 0 else 14} {10 * inside},0" for k in range(5))
    pen.stroke(f"M{column + 9 * inside},461{wave}", "position model")
    pen.text("position model", (ENCODER + DECODER) / 2, 461, "position")
    pen.line("model", (column, 453), (column, 392))


def _attention(pen, column, y, text, mask, also=""):
    """Draw an attention block, with two more heads behind it and its mask beside its name."""
    x = column - BOX / 2
    for offset in (8, 4):
        back = f"M{x + offset},{y - offset + 4} V{y - offset} H{x + BOX + offset} V{y + 38 - offset} h-4"
        pen.stroke(back, "multihead model")
    name = f"{BLOCKS} {also}".replace("masking", "")
    pen.box(name, x, y, BOX, 38)
    for i, row in enumerate(mask):
        for j, cell in enumerate(row):
            pen.cell("masking model", x + 7 + 5 * j, y + 9.5 + 5 * i, cell == "X")
    pen.text(name, x + 31, y + 19, text, anchor="start")


def _feed_forward(pen, column, y):
    pen.box("residual model", column - BOX / 2, y, BOX, 30, "feed-forward")
    pen.line("model", (column, y + 52), (column, y + 32))


def _around(pen, column, top, bottom, norm):
    """Draw the line from a block up to its norm, and the residual path, which leaves below the block."""
    pen.line("model", (column, top), (column, norm + 24))
    lane, edge = column + _outside(column) * 87, column + _outside(column) * (BOX / 2 + 2)
    pen.line("residual model", (column, bottom), (lane, bottom), (lane, norm + 11), (edge, norm + 11))
    pen.box("residual model", column - BOX / 2, norm, BOX, 22, "add, norm")


def _memory(pen):
    edge = DECODER - BOX / 2 - 2
    pen.line("cross model", (ENCODER, 224), (ENCODER, 182), (217, 182), (217, 271), (edge, 271))
    pen.text("cross model", 166, 169, "memory")
    pen.line("cross model", (DECODER, 314), (DECODER, 292))


def _top(pen):
    edge = DECODER - BOX / 2
    pen.line("model", (DECODER, 124), (DECODER, 92))
    pen.box("model", edge, 64, BOX, 26, "linear, softmax")
    pen.line("training", (DECODER, 64), (DECODER, 42))
    pen.box("training", edge, 14, BOX, 26, "loss")
    pen.text("training", 172, 27, "smoothed next word", anchor="end")
    pen.line("training", (182, 27), (edge - 2, 27))


def _gradients(pen):
    """Draw the backward pass, and beside it how a training step uses the gradients."""
    right, left = DECODER + BOX / 2 + 2, ENCODER - BOX / 2 - 2
    pen.line("backward", (right, 27), (433, 27), (433, 499), (right + 1, 499), dashed=True)
    way = [(DECODER - BOX / 2 - 4, 283), (228, 283), (228, 444), (5, 444), (5, 499), (left, 499)]
    pen.line("backward", *way, dashed=True)
    pen.line("backward", (14, 60), (50, 60), dashed=True, arrow=False)
    pen.text("backward", 60, 60, "gradients", anchor="start")
    pen.line("training", (88, 69), (88, 86), dashed=True)
    pen.box("training", 16, 88, BOX, 26, "schedule, Adam")
    pen.line("training", (88, 114), (88, 131))
    pen.text("training", 88, 140, "new parameters")
