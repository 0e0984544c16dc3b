"""What a chapter can point at: sections, exercises, equations, figures, other chapters, and the literature."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pybtex.database import BibliographyData
from pybtex.plugin import find_plugin

from autograder.chapter import myst
from autograder.chapter.myst import MystError
from autograder.chapter.works import cited, read_works


@dataclass
class Targets:
    """Every target of the book by its label.

    titles: label -> title of the section, exercise, theorem ... that it names.
    numbers: label of an equation, figure or table -> "1.3", the third one of chapter 1, as the book counts; "3" for
        the third one of a page that is no chapter.
    captions: caption of a code cell's figure -> its number.
    documents: file name without its ending -> title of the page.
    works: the bibliography.
    """

    titles: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    captions: dict[str, str] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    works: BibliographyData = field(default_factory=BibliographyData)

    def cite(self, key: str) -> tuple[str, str]:
        """A work's authors, shortened, and its year: ("Vaswani et al.", "2017"). Raises KeyError."""
        return cited(self.works.entries[key])

    def full(self, keys) -> list[str]:
        """The works as lines of Markdown, in the order of the bibliography file."""
        known = [key for key in self.works.entries if key in keys]
        style = find_plugin("pybtex.style.formatting", "plain")()
        backend = find_plugin("pybtex.backends", "markdown")()
        return [entry.text.render(backend) for entry in style.format_bibliography(self.works, known)]


def read_targets(folder: Path) -> Targets:
    """The references of all pages in a folder, and of its references.bib if there is one.

    Raises:
        MystError: the options of a directive are not well formed.
    """
    references = Targets()
    if (folder / "references.bib").exists():
        references.works = read_works(folder / "references.bib")
    for page in sorted(folder.glob("*.md")):
        try:
            _read_page(references, page.stem, page.read_text(encoding="utf-8"))
        except MystError as error:
            raise MystError(f"{folder.name}/{page.name}, {error}") from error
    return references


def _read_page(references, name, text):
    chapter = re.match(r"0*(\d+)_", name)
    counts: Counter[str] = Counter()

    def number(kind):
        counts[kind] += 1
        return f"{chapter[1]}.{counts[kind]}" if chapter else str(counts[kind])

    tokens = myst.blocks(text)
    references.documents[name] = next(
        (after.content for token, after in zip(tokens, tokens[1:], strict=False) if token.type == "heading_open"), name
    )
    _read_blocks(references, tokens, number, line=0)


def _read_blocks(references, tokens, number, line):
    pending = []
    for i, token in enumerate(tokens):
        directive = myst.directive(token, line)
        if token.type == "myst_target":
            pending.append(token.content)
        elif token.type == "heading_open":
            pending = _name(references, pending, tokens[i + 1].content)
        elif token.type == "math_block_label":
            references.numbers[token.info] = number("equation")
        elif token.type == "amsmath" and token.meta["numbered"] != "*":
            number("equation")
        elif directive and directive.name in myst.CELLS:
            _read_cell(references, directive, number)
        elif directive:
            pending += [directive.options[option] for option in ("label", "name") if option in directive.options]
            if kind := _numbered(directive):
                references.numbers |= dict.fromkeys(pending, number(kind))
            pending = _name(references, pending, directive.argument)
            if directive.name not in myst.LEAVES:
                _read_blocks(references, myst.blocks(directive.body), number, directive.body_line)


def _numbered(directive):
    """As what the book counts a directive: an equation with a label, a figure or table with a caption; else None."""
    match directive.name:
        case "math" if directive.options.keys() & {"label", "name"}:
            return "equation"
        case "figure" if directive.body:
            return "figure"
        case "table" | "list-table" if directive.argument:
            return "table"
    return None


def _read_cell(references, cell, number):
    figure = cell.options.get("mystnb", {}).get("figure", {})
    if "caption" in figure:
        references.captions[figure["caption"]] = count = number("figure")
        references.numbers |= {figure["name"]: count} if "name" in figure else {}


def _name(references, labels, title):
    references.titles |= dict.fromkeys(labels, title)
    return []
