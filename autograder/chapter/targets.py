"""Collect the link targets of all pages: sections, exercises, equations, figures, pages, and the bibliography.

A citation names the authors and the year. If two works would be cited alike, letters behind the year distinguish them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase

from markdown_it.token import Token
from pybtex.database import BibliographyData, Entry, parse_file
from pybtex.plugin import find_plugin

from autograder.chapter import myst
from autograder.chapter.myst import MystError

# Function of a kind ("equation", "figure" or "table") that returns the number of the next one.
NextNumber = Callable[[str], str]


@dataclass
class Targets:
    """All link targets of the book.

    titles: label -> title of the section, exercise or theorem with that label.
    numbers: label of an equation, figure or table -> its number in the book: "1.3" for the third one of chapter 1, "3"
        for the third one of a page that is not a chapter.
    captions: caption of a code cell's figure -> the figure's number.
    documents: file name without its extension -> title of the page.
    works: the bibliography.
    """

    titles: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    captions: dict[str, str] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    works: BibliographyData = field(default_factory=BibliographyData)

    def citation(self, key: str) -> tuple[str, str]:
        """Return a work's shortened authors and its year: ("Vaswani et al.", "2017"). Raises KeyError."""
        return citation(self.works.entries[key])

    def bibliography(self, keys: Collection[str]) -> list[str]:
        """Return the works with these keys as lines of Markdown, in the order of the bibliography file."""
        cited = [key for key in self.works.entries if key in keys]
        style = find_plugin("pybtex.style.formatting", "plain")()
        backend = find_plugin("pybtex.backends", "markdown")()
        return [entry.text.render(backend) for entry in style.format_bibliography(self.works, cited)]


def read_targets(folder: Path) -> Targets:
    """Return the link targets of all pages in a folder, and the works in its references.bib if there is one.

    Raises MystError if the options of a directive are malformed.
    """
    targets = Targets()
    if (folder / "references.bib").exists():
        targets.works = read_works(folder / "references.bib")
    for page in sorted(folder.glob("*.md")):
        try:
            _read_page(targets, page.stem, page.read_text(encoding="utf-8"))
        except MystError as error:
            raise MystError(f"{folder.name}/{page.name}, {error}") from error
    return targets


def _read_page(targets: Targets, name: str, text: str) -> None:
    """Add the targets in a page. name: its file name without its extension."""
    chapter_number = re.match(r"0*(\d+)_", name)
    counts: Counter[str] = Counter()

    def next_number(kind: str) -> str:
        counts[kind] += 1
        return f"{chapter_number[1]}.{counts[kind]}" if chapter_number else str(counts[kind])

    tokens = myst.blocks(text)
    targets.documents[name] = next(
        (after.content for token, after in zip(tokens, tokens[1:], strict=False) if token.type == "heading_open"), name
    )
    _read_blocks(targets, tokens, next_number, line=0)


def _read_blocks(targets: Targets, tokens: Sequence[Token], next_number: NextNumber, line: int) -> None:
    """Add the targets in some blocks. line: number of the line on which the blocks' text begins."""
    pending: list[str] = []  # labels above the next heading or directive
    for i, token in enumerate(tokens):
        directive = myst.directive(token, line)
        if token.type == "myst_target":
            pending.append(token.content)
        elif token.type == "heading_open":
            targets.titles |= dict.fromkeys(pending, tokens[i + 1].content)
            pending = []
        elif token.type == "math_block_label":
            targets.numbers[token.info] = next_number("equation")
        elif token.type == "amsmath" and token.meta["numbered"] != "*":
            next_number("equation")
        elif directive and directive.name in myst.CELLS:
            _read_cell(targets, directive, next_number)
        elif directive:
            pending += [directive.options[option] for option in ("label", "name") if option in directive.options]
            if kind := _numbered_kind(directive):
                targets.numbers |= dict.fromkeys(pending, next_number(kind))
            targets.titles |= dict.fromkeys(pending, directive.argument)
            pending = []
            if directive.name not in myst.LEAVES:
                _read_blocks(targets, myst.blocks(directive.body), next_number, directive.body_line)


def _numbered_kind(directive: myst.Directive) -> str | None:
    """Return "equation" for one with a label, "figure" or "table" for one with a caption; else None."""
    match directive.name:
        case "math" if directive.options.keys() & {"label", "name"}:
            return "equation"
        case "figure" if directive.body:
            return "figure"
        case "table" | "list-table" if directive.argument:
            return "table"
    return None


def _read_cell(targets: Targets, cell: myst.Directive, next_number: NextNumber) -> None:
    """Add the target of a code cell that draws a figure with a caption."""
    figure = cell.options.get("mystnb", {}).get("figure", {})
    if "caption" in figure:
        targets.captions[figure["caption"]] = count = next_number("figure")
        targets.numbers |= {figure["name"]: count} if "name" in figure else {}


def read_works(path: Path) -> BibliographyData:
    """Return the works of a BibTeX file, with letters behind years where they are needed."""
    works = parse_file(path, "bibtex")
    add_year_letters(works)
    return works


def add_year_letters(works: BibliographyData) -> None:
    """Add letters to the years of works that would be cited alike: 2023a, 2023b, in the order of the file.

    A second call changes nothing.
    """
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for work in works.entries.values():
        groups[citation(work)].append(work)
    for (_, year), group in groups.items():
        if len(group) > 1:
            for work, letter in zip(group, ascii_lowercase, strict=False):
                work.fields["year"] = f"{year}{letter}"


def citation(work: Entry) -> tuple[str, str]:
    """Return a work's shortened authors and its year: ("Vaswani et al.", "2017")."""
    names = [
        " ".join(map(str, person.rich_prelast_names + person.rich_last_names)) for person in work.persons["author"]
    ]
    authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return authors, work.fields.get("year", "n.d.")
