"""Walk through trees of dicts, lists and tuples, such as the parameters of a model."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """Return a tree with `change` applied to everything that is not a dict, list or tuple."""
    if isinstance(tree, dict):
        return {name: mapped(change, part) for name, part in tree.items()}
    if isinstance(tree, tuple | list):
        return type(tree)(mapped(change, part) for part in tree)
    return change(tree)


def arrays_by_path(tree: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Yield each array of a tree after its path, such as "['encoder'][0]"."""
    if isinstance(tree, np.ndarray):
        yield path, tree
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, tuple | list) else ()
    for name, part in items:
        yield from arrays_by_path(part, f"{path}[{name!r}]")
