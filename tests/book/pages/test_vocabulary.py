"""Pages and code use one word for each thing, and none of the words that chapters/vocabulary.yml replaces."""

import io
import re
import tokenize

import pytest
import yaml

from autograder.layout import REPO

LISTED = yaml.safe_load((REPO / "chapters" / "vocabulary.yml").read_text(encoding="utf-8"))
ENTRIES = [entry for group in LISTED.values() for entry in group]
PAGES = [
    *sorted((REPO / "chapters").glob("*.md")),
    *(
        REPO / name
        for name in ("README.md", "CONTRIBUTING.md", "autograder/hub/deploy/README.md", "benchmarks/README.md")
    ),
]
# The modules of solutions/ are not among them: their docstrings are in the notebooks that students have.
CODE = [path for folder in ("autograder", "benchmarks", "book", "check") for path in (REPO / folder).rglob("*.py")]
# Settings, code, formulas, headings and links, which keep the words that other pages know them by.
NOT_PROSE = re.compile(
    r"\A---\n.*?\n---\n|^(`{3,})(?!\{(?:dropdown|admonition|figure|tab)).*?^\1$|^#.*?$|\$\$.*?\$\$|`[^`]*`|\$[^$]*\$"
    r"|\[[^]]*\]\([^)]*\)|https?://\S+",
    re.DOTALL | re.MULTILINE,
)


def prose(text):
    """Return a page's text with everything that is not prose replaced by line breaks, so that line numbers stay."""
    return NOT_PROSE.sub(lambda match: "\n" * match[0].count("\n") or " ", text)


def dropped_words(text):
    """Return (line number, the words of the page, the words to use) for each dropped word in a page's text."""
    return [
        (text.count("\n", 0, match.start()) + 1, match[0], entry["use"])
        for entry in ENTRIES
        for words in entry["not"]
        for match in re.finditer(pattern(words), text, re.IGNORECASE)
    ]


def pattern(words):
    if words.startswith("/"):
        return words.strip("/")
    return r"\b" + r"\s+".join(map(re.escape, words.split())) + r"\b"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_no_dropped_words(page):
    words = dropped_words(prose(page.read_text(encoding="utf-8")))
    assert not words, "\n".join(f"{page.name}:{line}: {old!r}: write {new}" for line, old, new in words)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["use"])
def test_the_words_to_use_are_not_dropped(entry):
    assert not dropped_words(entry["use"])


def written(source):
    """Return the comments and strings of Python code as (line number, text), without the expressions in f-strings."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], re.sub(r"\{[^{}]*\}", "", token.string)


def test_comments_docstrings_and_messages_have_no_dropped_words():
    plain = [words for entry in LISTED["style"] for words in entry["not"] if not words.startswith("/")]
    dropped = re.compile("|".join(map(pattern, plain)), re.IGNORECASE)
    assert len(CODE) > 200
    assert not [
        f"{path.relative_to(REPO)}:{line}: {match[0]!r}"
        for path in CODE
        for line, text in written(path.read_text(encoding="utf-8"))
        for match in dropped.finditer(text)
    ]


def test_dropped_words_are_found_over_a_line_break_but_not_in_code():
    page = "The wrong answers are told\napart.\n\n```{code-cell} python\n# nobody\n```\n`whoever` and $shall$\n"
    assert dropped_words(prose(page)) == [(1, "told\napart", "distinguish")]
