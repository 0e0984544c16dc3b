"""Split a student's source into tokens, without running or compiling it."""

import io
import tokenize
from collections.abc import Iterator

MAX_QUOTES = 500  # escaped quotes in a source


def tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of a source, up to its first syntax error, or to a line with too many escaped quotes.

    In a string that does not end, `tokenize` starts again at each quote, so its time grows with their number squared.

    Raises:
        tokenize.TokenError, SyntaxError: the source is not Python.
    """
    lines = _lines(source)
    return tokenize.generate_tokens(lambda: next(lines, ""))


def _lines(source: str) -> Iterator[str]:
    quotes = 0
    for line in io.StringIO(source):
        quotes += line.count("\\'") + line.count('\\"')
        if quotes > MAX_QUOTES:
            return
        yield line
