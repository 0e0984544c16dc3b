"""Show messages as HTML in a notebook and as plain text elsewhere."""

import sys
from dataclasses import dataclass
from typing import Any

from check.messages import boxed, sentence_as_html


@dataclass(frozen=True, repr=False)
class Shown:
    """A message in both forms."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def note(sentence: str) -> Shown:
    """Return a sentence about an exercise that is neither right nor wrong yet."""
    return Shown(sentence, boxed(sentence_as_html(sentence), None))


def shell() -> Any:
    """Return the shell that runs a notebook's cells, or None outside a notebook."""
    # Every notebook has imported IPython; elsewhere it may not even be installed.
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def show(shown: Shown) -> None:
    """Show a message below the running cell, or print it outside a notebook."""
    if shell():
        sys.modules["IPython"].display.display(shown)
    else:
        print(shown)
