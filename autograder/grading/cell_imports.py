"""What a student's cells import, told from their tokens: nothing here runs or compiles the source."""

import io
import tokenize
from collections.abc import Iterator

_BETWEEN = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)


def imported(source: str) -> list[str]:
    """The tops of the modules that a cell's import statements name, in their order, each once."""
    if "import" not in source:  # as in most cells, whose tokens would take some time
        return []
    return list(dict.fromkeys(top for words in _statements(source) for top in _tops(words)))


def _tops(words):
    """["import", "a", ".", "b", ",", "c"] -> "a", "c"; what is imported relatively has no top."""
    starts = [0] if words[0] == "from" else [0, *(i for i, word in enumerate(words) if word == ",")]
    yield from (words[i + 1] for i in starts if words[i + 1 : i + 2] and words[i + 1].isidentifier())


def _statements(source: str) -> Iterator[list[str]]:
    """The import statements of a source, as words; what was seen before a mistake in it stands."""
    words: list[str] = []
    begins = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            ends = token.type in _BETWEEN or token.string == ";"
            if words and not ends:
                words.append(token.string)
            elif words:
                yield words
                words = []
            elif begins and token.string in ("import", "from"):
                words = [token.string]
            begins = ends or token.string == ":"
    except (tokenize.TokenError, SyntaxError):
        pass
    if words:
        yield words
