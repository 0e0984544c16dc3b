"""Draw the student's array, the expected one and their difference, side by side where there is room.

The picture shows expected values, so it is for public cases only.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from check.comparing import relative_error

LARGEST, PANEL = 36, 216  # pixels: the sides of the largest cells, and of the largest panel
MAX_CELLS = 12  # rows and columns of a panel


def picture(expected: Any, value: Any, name: str) -> str:
    """Return a picture of the two-dimensional slice with the worst entry; "" if the arrays cannot be compared."""
    if not (isinstance(expected, np.ndarray) and isinstance(value, np.ndarray)):
        return ""
    if expected.shape != value.shape or not expected.size or expected.dtype.kind not in "fbiu":
        return ""
    with np.errstate(all="ignore"):
        error = np.nan_to_num(relative_error(expected, value), nan=1.0, posinf=1.0)
    worst = tuple(map(int, np.unravel_index(np.argmax(error), error.shape))) if error.ndim else ()
    slices = [_around(np.atleast_2d(array[worst[:-2]]), worst[-2:]) for array in (value, expected, error)]
    return _draw(slices, worst[:-2], name)


def _around(matrix: np.ndarray, worst: Sequence[int]) -> np.ndarray:
    """At most MAX_CELLS rows and columns around the worst entry."""
    centre = (0,) * (2 - len(worst)) + tuple(worst)
    starts = [max(0, min(index - MAX_CELLS // 2, n - MAX_CELLS)) for index, n in zip(centre, matrix.shape, strict=True)]
    return matrix[tuple(slice(start, start + MAX_CELLS) for start in starts)].astype(np.float64)


def _draw(slices: Sequence[np.ndarray], leading: Sequence[int], name: str) -> str:
    rows, columns = slices[0].shape
    side = min(LARGEST, PANEL // max(rows, columns))
    titles = ("yours", "expected", "difference")
    finite = np.abs(np.concatenate([s[np.isfinite(s)] for s in slices[:2]]))
    scale = finite.max(initial=0.0) or 1.0
    panels = "".join(
        f"<div>{title}<svg width='{columns * side}' height='{rows * side}' style='display:block'>"
        f"{_cells(matrix / (scale if i < 2 else matrix.max() or 1.0), side)}</svg></div>"
        for i, (title, matrix) in enumerate(zip(titles, slices, strict=True))
    )
    where = f" at index {[int(i) for i in leading]}" if leading else ""
    label = escape(f"{name}{where}: yours, expected, and the difference, entry by entry")
    row = "display:flex;flex-wrap:wrap;gap:.5em 1.5em;margin:.4em 0"
    return f"<div role='img' aria-label='{label}' style='{row}'>{panels}</div>"


def _cells(matrix: np.ndarray, side: int) -> str:
    return "".join(
        f"<rect x='{j * side}' y='{i * side}' width='{side - 1}' height='{side - 1}' fill='{_colour(entry)}'/>"
        for i, row in enumerate(matrix)
        for j, entry in enumerate(row)
    )


def _colour(share: float) -> str:
    """Orange above zero, blue below, paler towards zero, and black for NaN and infinity."""
    if not np.isfinite(share):
        return "#000"
    red, green, blue = (210, 95, 0) if share > 0 else (0, 100, 190)
    return f"rgba({red},{green},{blue},{max(0.08, min(1.0, abs(share))):.2f})"
