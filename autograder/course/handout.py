"""The released notebook of a chapter, as grading looks at it: the truth about cells, order, points and tags."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from autograder.errors import UserError


class NotReleased(UserError):
    """The course has no release of a chapter."""

    def __init__(self, course: Path, chapter: str):
        super().__init__(f"{chapter} is not released in {course}: run `autograder release {chapter}` first")


@dataclass(frozen=True)
class Handout:
    """A released notebook.

    chapter: "01_attention". notebook: its JSON.
    others: chapter -> grade ids of exercises and checks, for the other chapters that are released.
    """

    chapter: str
    notebook: dict
    others: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def cells(self) -> list[dict]:
        return self.notebook["cells"]

    @property
    def kernel(self) -> str:
        return self.notebook["metadata"]["kernelspec"]["name"]

    @cached_property
    def heading(self) -> str:
        """The chapter's heading; the file's name if it has none."""
        lines = "\n".join(map(self.source, range(len(self.cells)))).split("\n")
        return next((line[2:] for line in lines if line.startswith("# ")), self.chapter)

    @cached_property
    def known(self) -> tuple[int, ...]:
        """Positions of all cells that nbgrader knows."""
        return tuple(i for i, cell in enumerate(self.cells) if "nbgrader" in cell["metadata"])

    @cached_property
    def editable(self) -> tuple[int, ...]:
        """Positions of the cells whose source is the student's."""
        return tuple(i for i in self.known if self._about(i)["solution"])

    @cached_property
    def functions(self) -> dict[str, int]:
        """Name of each graded exercise -> position of its check cell."""
        checks = (i for i in self.known if self._about(i)["grade"] and not self._about(i)["solution"])
        return {self.grade_id(i).removeprefix("check-"): i for i in checks}

    @cached_property
    def setup(self) -> tuple[int, ...]:
        """Positions of the cells that run before the student's own."""
        return tuple(i for i in self.known if self.grade_id(i) == "setup")

    @cached_property
    def tags(self) -> frozenset[str]:
        """All tags of the released cells."""
        return frozenset(tag for cell in self.cells for tag in cell["metadata"].get("tags", ()))

    @cached_property
    def _positions(self):
        return {self.grade_id(i): i for i in self.known}, {self.cells[i]["id"]: i for i in self.known}

    def position(self, grade_id: object, cell_id: object) -> int | None:
        """Where a handed-in cell belongs: by its grade id; by its cell id where a tool lost the metadata."""
        by_grade_id, by_cell_id = self._positions
        return by_grade_id.get(grade_id) if isinstance(grade_id, str) else by_cell_id.get(str(cell_id))

    def grade_id(self, position: int) -> str:
        return self._about(position)["grade_id"]

    def source(self, position: int) -> str:
        return _text(self.cells[position]["source"])

    def kind(self, position: int) -> str:
        return self.cells[position]["cell_type"]

    def points(self, position: int) -> float | None:
        return self._about(position).get("points")

    def matters(self, position: int) -> bool:
        """Whether a cell takes part in grading; the others are text and demonstrations."""
        return position in (*self.editable, *self.functions.values(), *self.setup)

    def title(self, position: int) -> str:
        """What to call a cell: "the check cell of softmax"."""
        if position in self.functions.values():
            return f"the check cell of {self.grade_id(position).removeprefix('check-')}"
        return f"the exercise cell of {self.grade_id(position)}" if position in self.editable else "the setup cell"

    @cached_property
    def distinctive(self) -> frozenset[str]:
        """Grade ids and cell ids that no other chapter has."""
        return distinctive(self.notebook)

    def whose(self, grade_ids: set[str]) -> str:
        """The other chapter that these grade ids are of; empty if they are of this one, or of none."""
        if grade_ids & self.distinctive:
            return ""
        shared = {chapter: len(grade_ids & ids) for chapter, ids in self.others.items()}
        most = max(shared, key=lambda chapter: shared[chapter], default="")
        return most if shared.get(most) else ""

    def _about(self, position):
        return self.cells[position]["metadata"]["nbgrader"]


def load_handout(course: Path, chapter: str) -> Handout:
    """Return the released notebook of a chapter. Raises NotReleased."""
    path = course / "release" / chapter / f"{chapter}.ipynb"
    if not path.exists():
        raise NotReleased(course, chapter)
    others = {path.stem: distinctive(_notebook(path)) for path in released_notebooks(course) if path.stem != chapter}
    return Handout(chapter, _notebook(path), others)


def released_notebooks(course: Path) -> list[Path]:
    """The released notebooks of a course."""
    return sorted(path for path in (course / "release").glob("*/*.ipynb") if path.stem == path.parent.name)


def distinctive(notebook: dict) -> frozenset[str]:
    """Grade ids and cell ids of the exercises and checks of a notebook, which no other chapter has."""
    about = ((cell["metadata"].get("nbgrader", {}), cell["id"]) for cell in notebook["cells"])
    known = ((a["grade_id"], cell_id) for a, cell_id in about if a.get("solution") or a.get("grade"))
    return frozenset(name for names in known for name in names)


def _notebook(path):
    return json.loads(path.read_text(encoding="utf-8"))


def _text(source):
    return "".join(source) if isinstance(source, list) else source
