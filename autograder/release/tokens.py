"""Split a text that may contain code into tokens; comments, quotes, line breaks and indentation do not count."""

import builtins
import keyword
import re

# Names that do not count as variables, because code means the same thing by them everywhere.
FIXED_NAMES = frozenset(
    {*keyword.kwlist, *dir(builtins), "np", "math", "torch", "nn", "self", "axis", "keepdims", "dtype"}
)
_TOKEN = re.compile(
    r"""["'][A-Za-z_]\w*["'] | \.?[A-Za-z_]\w* | \d[\w.]*(?:(?<=e)-\d+)? | \*\* | // | [=!<>]= | [^\s\w"']""",
    re.VERBOSE,
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[#\s][^\n\v]*", re.MULTILINE)


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a text that may contain code, without comments."""
    return _TOKEN.findall(_COMMENT.sub(_blank, text))


def lines_of_tokens(text: str) -> list[int]:
    """Return the number of the line, from 1, of each token of a text."""
    text = _COMMENT.sub(_blank, text)
    lines, line, last = [], 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", last, token.start())
        last = token.start()
        lines.append(line)
    return lines


def is_variable(token: str) -> bool:
    """Return whether a token is a name that its author chose: no keyword, attribute, or name of Python or NumPy."""
    return token.isidentifier() and token not in FIXED_NAMES


def _blank(comment: re.Match[str]) -> str:
    return " " * len(comment[0])
