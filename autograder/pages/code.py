"""Highlight a student's code as HTML, within limits, so that no source takes a long time.

Pygments takes time quadratic in the blank lines before a line, and far more in languages other than Python. Therefore
spaces at the ends of lines are removed, only Python is highlighted, and very long cells are cut.
"""

from functools import lru_cache

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

# The book's longest solution has a third of the characters and a sixth of the lines.
MAX_CHARACTERS = 10_000
MAX_LINES = 400

# Creating these takes half as long as highlighting a cell. Blank lines at the top stay, because lines are counted.
_LEXER, _FORMATTER, _NUMBERING = PythonLexer(stripnl=False), HtmlFormatter(nowrap=True), HtmlFormatter(linenos="inline")


@lru_cache(maxsize=512)
def highlighted(source: str) -> Markup:
    """Return the beginning of a Python source as HTML for a <pre>. The page's style sheet colours its classes."""
    return Markup(highlight(_lines(source), _LEXER, _FORMATTER))


def omission(source: str) -> str:
    """Return a sentence about what `highlighted` leaves out, or "" if it leaves out nothing."""
    omitted = len(source.rstrip()) - len(_beginning(source))
    return f"The cell has {omitted:,} more characters, which are not shown here." if omitted > 0 else ""


def block(source: str) -> Markup:
    """Return a source as a block of HTML, with the sentence about what is left out."""
    return Markup('<div class="highlight"><pre>{}</pre></div>{}\n').format(highlighted(source), _about_omission(source))


def numbered_block(source: str, metadata: object = None) -> Markup:
    """Return a block with a number before each line, for formgrader.

    metadata: not used; nbconvert calls its filter `highlight_code` with a cell's metadata too.
    """
    return Markup(highlight(_lines(source), _LEXER, _NUMBERING)) + _about_omission(source)


def _about_omission(source: str) -> Markup:
    sentence = omission(source)
    return Markup("<p>{}</p>").format(sentence) if sentence else Markup("")


def _lines(source: str) -> str:
    """Return the lines that are shown, without spaces at their ends."""
    return "\n".join(line.rstrip() for line in _beginning(source).splitlines())


def _beginning(source: str) -> str:
    lines = source.rstrip()[:MAX_CHARACTERS].splitlines(keepends=True)
    return "".join(lines[:MAX_LINES])
