"""A student's code as HTML, in the colours of the page: as much of it as anybody reads, in time that grows with that.

Pygments goes back over the blank lines before each line, and over far more in languages other than Python. So no line
keeps the spaces at its end, nothing but Python is coloured, and a cell that goes on and on is cut.
"""

from functools import lru_cache

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

# Three times the longest solution of the book in characters, six times in lines.
MAX_CHARACTERS = 10_000
MAX_LINES = 400


@lru_cache(maxsize=512)
def coloured(source: str) -> Markup:
    """The beginning of some Python as HTML, for a <pre>; the colours of its classes are the page's."""
    lines = (line.rstrip() for line in _beginning(source).splitlines())
    return Markup(highlight("\n".join(lines), PythonLexer(), HtmlFormatter(nowrap=True)))


def what_is_cut(source: str) -> str:
    """What `coloured` leaves out, in a sentence; empty if it leaves out nothing."""
    more = len(source.rstrip()) - len(_beginning(source))
    return f"The cell goes on for {more:,} more characters, which are not shown here." if more > 0 else ""


def block(source: str, metadata: object = None) -> Markup:
    """Both, where no template sets them; nbconvert gives its filter `highlight_code` a cell's metadata, too."""
    cut = Markup("<p>{}</p>").format(what_is_cut(source)) if what_is_cut(source) else ""
    return Markup('<div class="highlight"><pre>{}</pre></div>{}\n').format(coloured(source), cut)


def _beginning(source):
    lines = source.rstrip()[:MAX_CHARACTERS].splitlines(keepends=True)
    return "".join(lines[:MAX_LINES])
