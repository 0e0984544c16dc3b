"""Describe a walk through a graph of arrays. The page's explorer `steps` shows its steps, one for each arrow.

    numbers = walks.table("dx", dx, words, features)
    walks.Walk("squares", {"x": (0, 0), "L": (2, 0)}, {"dx": walks.step("L", "x", dx, numbers)})

The chapter computes the numbers, the explorer shows them, and the page's own Markdown has the formulas. A notebook
shows only the names of the steps. This file needs NumPy.
"""

import json

import numpy as np

DIGITS = 2  # of a number in a table
RECORD = "application/papermill.record/"  # keeps an output for another place: myst-nb shows none of this type


class Walk:
    """The last expression of a cell, from which the explorer below gets its data.

    Args:
        name: the name in the directive, `:walk: NAME`.
        places: dict, name of an array -> (across, up), its place in the picture.
        steps: dict, name of a gradient -> `step(...)`, in the order of the walk.

    Raises:
        ValueError: an arrow begins or ends at an array that has no place.
    """

    def __init__(self, name, places, steps):
        strangers = {arrow[end] for arrow in steps.values() for end in ("from", "to")} - places.keys()
        if strangers:
            raise ValueError(f"no place is given for {', '.join(sorted(strangers))}")
        self.name, self.places, self.steps = name, places, steps

    def __repr__(self):
        return f"{len(self.steps)} steps: {', '.join(self.steps)}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        walk = {"places": self.places, "steps": [{"name": name} | arrow for name, arrow in self.steps.items()]}
        text = json.dumps(walk, ensure_ascii=False)  # under a name of our own, a notebook can store only text
        return {f"{RECORD}application/json": text}, {"scrapbook": {"name": self.name, "mime_prefix": RECORD}}


def step(start, end, gradient, *tables):
    """Return one arrow of a walk.

    Args:
        start, end: names of the arrays between which the arrow runs.
        gradient: the array that arrives at `end`; its shape is shown.
        tables: `table(...)` of the numbers that it is made from, and last of its own.
    """
    return {"from": start, "to": end, "shape": list(np.shape(gradient)), "tables": list(tables)}


def table(name, matrix, rows, columns):
    """Return a table of numbers, with a label for each row and each column.

    Args:
        name: str, what the numbers are.
        matrix: (n_rows, n_columns)
        rows, columns: labels.

    Raises:
        ValueError: there are more or fewer labels than rows or columns.
    """
    if np.shape(matrix) != (len(rows), len(columns)):
        raise ValueError(f"{name} has shape {np.shape(matrix)}, and labels for {(len(rows), len(columns))}")
    numbers = np.round(np.asarray(matrix, dtype=float), DIGITS).tolist()
    return {"name": name, "columns": list(columns), "rows": [list(row) for row in zip(rows, numbers, strict=True)]}
