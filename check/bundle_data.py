"""The data beside `check` in a bundle: answer keys, and for each notebook its exercises and the book's sections."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

FOLDER = "CHECK_DATA"  # environment variable; the sandbox and the book's build name another folder with it


@dataclass(frozen=True)
class Notebook:
    """One chapter's notebook.

    exercises: their names, in the notebook's order. rests_on: digest of a given cell -> the exercises it needs.
    sections: title -> address in the book; empty if the book has no address. weights: points of the weights to hand in;
    0 if there are none. by_hand: name -> points of the texts that an instructor grades.
    """

    exercises: list[str]
    rests_on: dict[str, list[str]]
    sections: dict[str, str]
    weights: float = 0
    by_hand: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the notebook as JSON text, which `notebooks` reads."""
        return json.dumps(asdict(self), indent=1) + "\n"


def data_folder() -> Path:
    """Return the folder with `keys/` and `chapters/`: in a bundle, the folder of this package."""
    return Path(os.environ.get(FOLDER) or Path(__file__).parent)


def notebooks() -> dict[str, Notebook]:
    """Return chapter -> Notebook of the unzipped bundles; empty outside a bundle."""
    files = sorted((data_folder() / "chapters").glob("*.json"))
    return {file.stem: Notebook(**json.loads(file.read_text(encoding="utf-8"))) for file in files}


def sections_around(exercise: str) -> dict[str, str]:
    """The sections of an exercise's chapter: title -> address."""
    return next((book.sections for book in notebooks().values() if exercise in book.exercises), {})


def source_digest(source: str) -> str:
    """Return a short digest of a cell's source."""
    return hashlib.sha256(source.strip().encode()).hexdigest()[:16]
