"""Small pieces of the sentences that reports are made of."""

from collections.abc import Iterable, Sequence

NOBODY_THERE = "input() cannot be used while grading: nobody is there to answer"


def listed(things: Iterable[str], limit: int = 6) -> str:
    """ "a, b and c", with the rest of a long list counted."""
    words = list(things)
    if len(words) > limit:
        words = [*words[:limit], f"{len(words) - limit} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def not_defined(name: str, instead: Sequence[str]) -> str:
    """Why a function cannot be called; instead: the functions that its cell defines."""
    why = f"its cell defines {', '.join(instead)} and no {name}." if instead else "was its cell deleted or did it fail?"
    return f"{name} is not defined: {why}"


def quoted(text: object) -> str:
    """Somebody else's words, short and on one line."""
    return f"“{shown(str(text)[:60])}{'…' if len(str(text)) > 60 else ''}”"


def shown(text: object, limit: int = 100) -> str:
    """A name or a message that came from outside, for a line of a terminal: on one line, control characters visible.

    Nothing in it can begin a line of its own, colour the terminal or turn the reading direction round.
    """
    line = str(text)
    cut = line if len(line) <= limit else f"{line[: limit // 2]} … {line[-limit // 2 :]}"
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in cut)


def count(number: int, thing: str) -> str:
    """ "1 cell", "2 cells"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def size(n_bytes: int) -> str:
    """ "105 MB"."""
    return f"{n_bytes / 1e6:.0f} MB"
