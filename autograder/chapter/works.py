"""Read the bibliography, and shorten its entries to what the text cites: authors and year.

If two works would be cited alike, letters behind the year distinguish them.
"""

from collections import defaultdict
from pathlib import Path
from string import ascii_lowercase

from pybtex.database import BibliographyData, Entry, parse_file


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
