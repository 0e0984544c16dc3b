"""Split a student's source into tokens. Nothing here runs or compiles it."""

import io
import tokenize
from collections.abc import Iterator

MAX_QUOTES = 1000  # in one line


def tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of a source, up to its first syntax error.

    It ends before a line with very many escaped quotes: for a string that does not end there, `tokenize` takes time
    with their number squared.

    Raises:
        tokenize.TokenError, SyntaxError: the source is not Python.
    """
    lines = iter(io.StringIO(source).readline, "")
    return tokenize.generate_tokens(lambda: _bounded(next(lines, "")))


def _bounded(line: str) -> str:
    """Return the line, or "" in place of one with very many escaped quotes."""
    return line if line.count("\\'") + line.count('\\"') <= MAX_QUOTES else ""
