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

# Creating these two takes a third as long as highlighting a cell.
_LEXER, _FORMATTER = PythonLexer(), HtmlFormatter(nowrap=True)


@lru_cache(maxsize=512)
def highlighted(source: str) -> Markup:
    """Return the beginning of a Python source as HTML for a <pre>. The page's style sheet colours its classes."""
    lines = (line.rstrip() for line in _beginning(source).splitlines())
    return Markup(highlight("\n".join(lines), _LEXER, _FORMATTER))


def omission(source: str) -> str:
    """Return a sentence about what `highlighted` leaves out, or "" if it leaves out nothing."""
    omitted = len(source.rstrip()) - len(_beginning(source))
    return f"The cell has {omitted:,} more characters, which are not shown here." if omitted > 0 else ""


def block(source: str, metadata: object = None) -> Markup:
    """Return a source as a block of HTML, with the sentence about what is left out.

    metadata: not used; nbconvert calls its filter `highlight_code` with a cell's metadata too.
    """
    sentence = omission(source)
    paragraph = Markup("<p>{}</p>").format(sentence) if sentence else ""
    return Markup('<div class="highlight"><pre>{}</pre></div>{}\n').format(highlighted(source), paragraph)


def _beginning(source: str) -> str:
    lines = source.rstrip()[:MAX_CHARACTERS].splitlines(keepends=True)
    return "".join(lines[:MAX_LINES])
