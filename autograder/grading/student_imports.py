"""Find the modules that a student's cells import. This reads tokens, and neither runs nor compiles the source."""

import tokenize
from collections.abc import Iterator, Sequence
from functools import lru_cache

from check.source_tokens import tokens

_SEPARATORS = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)


@lru_cache(maxsize=256)  # all runs of a submission have the same cells, and all submissions share the unchanged ones
def imported_modules(source: str) -> tuple[str, ...]:
    """Return the top-level names of the modules that a cell imports, in order and without repeats."""
    if "import" not in source:  # most cells have none, and need not be split into tokens
        return ()
    return tuple(dict.fromkeys(top for words in _statements(source) for top in _tops(words)))


def _tops(words: Sequence[str]) -> Iterator[str]:
    """Yield "a" and "c" for ["import", "a", ".", "b", ",", "c"]; a relative import has no top-level name."""
    starts = [0] if words[0] == "from" else [0, *(i for i, word in enumerate(words) if word == ",")]
    yield from (words[i + 1] for i in starts if words[i + 1 : i + 2] and words[i + 1].isidentifier())


def _statements(source: str) -> Iterator[list[str]]:
    """Yield the import statements of a source as lists of words, up to its first syntax error."""
    words: list[str] = []
    begins = True
    try:
        for token in tokens(source):
            ends = token.type in _SEPARATORS or token.string == ";"
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
