"""The pages use one word for each thing, and none of the words that chapters/vocabulary.yml replaces."""

import re

import pytest
import yaml

from autograder.layout import REPO

LISTED = yaml.safe_load((REPO / "chapters" / "vocabulary.yml").read_text(encoding="utf-8"))
ENTRIES = [entry for group in LISTED.values() for entry in group]
PAGES = [
    *sorted((REPO / "chapters").glob("*.md")),
    *(REPO / name for name in ("README.md", "CONTRIBUTING.md", "deploy/README.md", "benchmarks/README.md")),
]
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


def test_dropped_words_are_found_over_a_line_break_but_not_in_code():
    page = "The wrong answers are told\napart.\n\n```{code-cell} python\n# nobody\n```\n`whoever` and $shall$\n"
    assert dropped_words(prose(page)) == [(1, "told\napart", "distinguish")]
