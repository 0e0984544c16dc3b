"""What a chapter can point at: sections, exercises, equations, figures, other chapters, and the literature."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pybtex.database import BibliographyData, parse_file
from pybtex.plugin import find_plugin

from autograder.chapter import myst
from autograder.chapter.myst import MystError


@dataclass
class Targets:
    """Every target of the book by its label.

    titles: label -> title of the section, exercise, theorem ... that it names.
    numbers: label of an equation, figure or table -> "1.3", the third one of chapter 1, as the book counts.
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
        work = self.works.entries[key]
        names = [" ".join(person.prelast_names + person.last_names) for person in work.persons["author"]]
        names = [name.replace("{", "").replace("}", "") for name in names]
        authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        return authors, work.fields.get("year", "n.d.")

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
        references.works = parse_file(folder / "references.bib", "bibtex")
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
        elif directive and directive.name in myst.CELLS:
            _read_cell(references, directive, number)
        elif directive:
            pending += [directive.options[option] for option in ("label", "name") if option in directive.options]
            kind = {"math": "equation", "figure": "figure", "list-table": "table"}.get(directive.name)
            if kind and (kind != "equation" or pending):
                references.numbers |= dict.fromkeys(pending, number(kind))
            pending = _name(references, pending, directive.argument)
            if kind is None:
                _read_blocks(references, myst.blocks(directive.body), number, directive.body_line)


def _read_cell(references, cell, number):
    figure = cell.options.get("mystnb", {}).get("figure", {})
    if "caption" in figure:
        references.captions[figure["caption"]] = references.numbers[figure.get("name", "")] = number("figure")


def _name(references, labels, title):
    references.titles |= dict.fromkeys(labels, title)
    return []
