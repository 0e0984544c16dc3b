"""Read the released notebook of a chapter.

Grading takes the cells, their order, their points and their tags from the released notebook, never from a submission.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.errors import UserError
from autograder.layout import chapter_names, exercise_names
from check.weights_file import WEIGHTS


class NotReleased(UserError):
    """The course has no release of a chapter."""

    def __init__(self, course: Path, chapter: str) -> None:
        super().__init__(f"{chapter} is not released in {course}: run `autograder release {chapter}` first")


@dataclass(frozen=True)
class Handout:
    """A released notebook.

    chapter: "01_attention". notebook: its JSON.
    others: chapter -> grade ids and cell ids of its exercises and checks, for the other released chapters; grade ids
        alone for those of the book that are not released.
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
        """The chapter's heading, or its file name if it has none."""
        lines = "\n".join(map(self.source, range(len(self.cells)))).split("\n")
        return next((line[2:] for line in lines if line.startswith("# ")), self.chapter)

    @cached_property
    def nbgrader_cells(self) -> tuple[int, ...]:
        """Positions of all cells with nbgrader's metadata."""
        return tuple(i for i, cell in enumerate(self.cells) if "nbgrader" in cell["metadata"])

    @cached_property
    def editable(self) -> tuple[int, ...]:
        """Positions of the cells that students fill in."""
        return tuple(i for i in self.nbgrader_cells if self._nbgrader(i)["solution"])

    @cached_property
    def graded(self) -> dict[str, int]:
        """Name of each exercise, and WEIGHTS if weights are handed in -> position of its graded cell."""
        checks = (i for i in self.nbgrader_cells if self._nbgrader(i)["grade"] and not self._nbgrader(i)["solution"])
        return {exercise_of(self.grade_id(i)): i for i in checks}

    @cached_property
    def functions(self) -> dict[str, int]:
        """Name of each exercise -> position of its check cell."""
        return {name: position for name, position in self.graded.items() if name != WEIGHTS}

    @cached_property
    def setup(self) -> tuple[int, ...]:
        """Positions of the cells that run before the student's cells."""
        return tuple(i for i in self.nbgrader_cells if self.grade_id(i) == "setup")

    @cached_property
    def given(self) -> tuple[int, ...]:
        """Positions of the code cells that show something. Grading does not run them."""
        return tuple(i for i in range(len(self.cells)) if self.kind(i) == "code" and not self.affects_grading(i))

    @cached_property
    def tags(self) -> frozenset[str]:
        """All tags of the released cells."""
        return frozenset(tag for cell in self.cells for tag in cell["metadata"].get("tags", ()))

    @cached_property
    def _positions(self) -> tuple[dict[str, int], dict[str, int]]:
        """Grade id -> position, and cell id -> position."""
        return {self.grade_id(i): i for i in self.nbgrader_cells}, {self.cells[i]["id"]: i for i in self.nbgrader_cells}

    def position(self, grade_id: object, cell_id: object) -> int | None:
        """Return the position of a submitted cell: by its grade id, or by its cell id if a tool lost the metadata."""
        by_grade_id, by_cell_id = self._positions
        return by_grade_id.get(grade_id) if isinstance(grade_id, str) else by_cell_id.get(str(cell_id))

    def grade_id(self, position: int) -> str:
        return self._nbgrader(position)["grade_id"]

    def source(self, position: int) -> str:
        return _text(self.cells[position]["source"])

    def stub(self, exercise: str) -> str:
        """Return the released source of an exercise's cell."""
        return self.source(self._positions[0][exercise])

    def kind(self, position: int) -> str:
        return self.cells[position]["cell_type"]

    def points(self, position: int) -> float | None:
        return self._nbgrader(position).get("points")

    def affects_grading(self, position: int) -> bool:
        """Return whether grading uses a cell; it ignores text and demonstrations."""
        return position in (*self.editable, *self.graded.values(), *self.setup)

    def title(self, position: int) -> str:
        """Return what messages call a cell, such as "the check cell of softmax"."""
        if position == self.graded.get(WEIGHTS):
            return "the cell with `hand_in`"
        if position in self.functions.values():
            return f"the check cell of {exercise_of(self.grade_id(position))}"
        return f"the exercise cell of {self.grade_id(position)}" if position in self.editable else "the setup cell"

    @cached_property
    def unique_ids(self) -> frozenset[str]:
        """Grade ids and cell ids that no other chapter has."""
        return unique_ids(self.notebook)

    def other_chapter_with(self, ids: set[str]) -> str:
        """Return the other chapter that has most of these ids; "" if this chapter has any, or no chapter has one."""
        if ids & self.unique_ids:
            return ""
        shared = {chapter: len(ids & others) for chapter, others in self.others.items()}
        most = max(shared, key=lambda chapter: shared[chapter], default="")
        return most if shared.get(most) else ""

    def _nbgrader(self, position: int) -> dict[str, Any]:
        """Return nbgrader's metadata of a cell."""
        return self.cells[position]["metadata"]["nbgrader"]


def check_cell(exercise: str) -> str:
    """Return the grade id of the cell that checks an exercise, or WEIGHTS."""
    return f"check-{exercise}"


def exercise_of(cell: str) -> str:
    """Return the name that people use for a graded cell: the exercise's name for the cell that checks it."""
    return cell.removeprefix("check-")


def load_handout(course: Path, chapter: str) -> Handout:
    """Return the released notebook of a chapter. Raises NotReleased."""
    path = course / "release" / chapter / f"{chapter}.ipynb"
    if not path.exists():
        raise NotReleased(course, chapter)
    others = {name: _grade_ids(name) for name in chapter_names()}
    others |= {path.stem: unique_ids(_notebook(path)) for path in released_notebooks(course)}
    others.pop(chapter, None)
    return Handout(chapter, _notebook(path), others)


def released_notebooks(course: Path) -> list[Path]:
    """Return the paths of the released notebooks of a course, in order."""
    return sorted(path for path in (course / "release").glob("*/*.ipynb") if path.stem == path.parent.name)


def unique_ids(notebook: dict) -> frozenset[str]:
    """Return the grade ids and cell ids of a notebook's exercises and checks, which no other chapter has."""
    cells = ((cell["metadata"].get("nbgrader", {}), cell["id"]) for cell in notebook["cells"])
    pairs = (
        (fields["grade_id"], cell_id) for fields, cell_id in cells if fields.get("solution") or fields.get("grade")
    )
    return frozenset(name for pair in pairs for name in pair)


def _grade_ids(chapter: str) -> frozenset[str]:
    """Return the grade ids of a chapter's exercises and checks, whether the chapter is released or not."""
    exercises = exercise_names(chapter)
    return frozenset((*exercises, *map(check_cell, exercises)))


def _notebook(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _text(source: str | list[str]) -> str:
    return "".join(source) if isinstance(source, list) else source
