"""What is shown has two forms: HTML where there is HTML, plain text elsewhere."""

import sys
from dataclasses import dataclass
from typing import Any

from check.render import as_code, boxed


@dataclass(frozen=True, repr=False)
class Shown:
    """Something to show, in both forms."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def note(sentence: str) -> Shown:
    """A sentence about what is neither right nor wrong."""
    return Shown(sentence, boxed(as_code(sentence), None))


def shell() -> Any:
    """The shell that runs a notebook's cells; None outside one."""
    # IPython is there in every notebook and need not be anywhere else.
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def show(shown: Shown) -> None:
    """Show it below the cell that runs, or print it."""
    if shell():
        sys.modules["IPython"].display.display(shown)
    else:
        print(shown)
