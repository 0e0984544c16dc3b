"""Phrase the parts of sentences that messages share."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

NO_INPUT = "input() cannot be used while grading: no one can type an answer"


def listed(things: Iterable[str], limit: int = 6) -> str:
    """Return "a, b and c"; of a long list, the last items are only counted."""
    words = list(things)
    if len(words) > limit:
        words = [*words[:limit], f"{len(words) - limit} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def not_defined(name: str, instead: Sequence[str]) -> str:
    """Return why a function cannot be called. instead: names of the functions that its cell does define."""
    why = f"its cell defines {', '.join(instead)} and no {name}." if instead else "was its cell deleted or did it fail?"
    return f"{name} is not defined: {why}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean `softmax`?" for the known name that is closest to a name; "" if none is close."""
    closest = get_close_matches(name, known, n=1, cutoff=0.75)
    return f"; did you mean `{closest[0]}`?" if closest else ""


def not_installed(module: str) -> str:
    return f"{module} is not installed here. Write your functions with NumPy."


def prints_its_result(name: str) -> str:
    """Return what to do with a function that prints its result instead of returning it."""
    return f"You print the result of `{name}`. Return it: the checks read only what it returns."


def quoted(text: object) -> str:
    """Return a foreign text in quotation marks, short and on one line."""
    return f"“{shown(str(text)[:60])}{'…' if len(str(text)) > 60 else ''}”"


def shown(text: object, limit: int = 100) -> str:
    """Return a foreign text for one line of a terminal, with control characters escaped.

    It cannot start a new line, colour the terminal or change the reading direction.
    """
    line = str(text)
    cut = line if len(line) <= limit else f"{line[: limit // 2]} … {line[-limit // 2 :]}"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)


def count(number: int, thing: str) -> str:
    """Return "1 cell", "2 cells"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def size(n_bytes: int) -> str:
    """Return "105 MB"."""
    return f"{n_bytes / 1e6:.0f} MB"
