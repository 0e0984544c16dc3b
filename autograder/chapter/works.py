"""The bibliography as the text cites it: authors, shortened, and a year that tells apart what would read alike."""

from collections import defaultdict
from pathlib import Path
from string import ascii_lowercase

from pybtex.database import BibliographyData, Entry, parse_file


def read_works(path: Path) -> BibliographyData:
    """The works of a BibTeX file, told apart."""
    works = parse_file(path, "bibtex")
    tell_apart(works)
    return works


def tell_apart(works: BibliographyData) -> None:
    """Give a letter to the years of works that would be cited alike: 2023a, 2023b, in the order of the file.

    Works that have been told apart stay as they are.
    """
    alike = defaultdict(list)
    for work in works.entries.values():
        alike[cited(work)].append(work)
    for same in alike.values():
        if len(same) > 1:
            for work, letter in zip(same, ascii_lowercase, strict=False):
                work.fields["year"] = f"{cited(work)[1]}{letter}"


def cited(work: Entry) -> tuple[str, str]:
    """A work's authors, shortened, and its year: ("Vaswani et al.", "2017")."""
    names = [
        " ".join(map(str, person.rich_prelast_names + person.rich_last_names)) for person in work.persons["author"]
    ]
    authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return authors, work.fields.get("year", "n.d.")
