"""The cells and calls of a submission that run, and the result."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from autograder.sandbox.input_answers import LikelyArguments
from check.calling import Outcome, Raised


@dataclass(frozen=True)
class Cell:
    """A cell of plain Python, without notebook commands; its id is unique in the submission.

    own: whether the student added the cell. experiment: whether no other cell depends on it. If an experiment takes
    long, only the first process runs it. checks: the exercise whose check stands here. Such a cell has no source. The
    exercise is called with the values that names have here.
    """

    id: str
    source: str
    own: bool = False
    experiment: bool = False
    checks: str = ""


@dataclass(frozen=True)
class Call:
    """A student's function, and the inputs (argument name -> value) of one case.

    likely: the likely arguments of a function among the inputs.
    group: calls of one function in different groups run in different processes, so that none remembers another.
    """

    function: str
    inputs: dict[str, Any]
    likely: LikelyArguments | None = None
    group: str = ""


@dataclass(frozen=True)
class RunResult:
    """The result of running a submission.

    cells: id -> None if the cell ran, the exception it raised, or in plain words why it was stopped.
    outcomes: one for each call, in the order of the calls.
    notes: events for the instructor, such as the start of a new process.
    answered_calls: function -> how many calls of answered functions it made.
    long_experiments: ids of cells that another run need not execute.
    """

    cells: dict[str, None | Raised | str]
    outcomes: list[Outcome]
    notes: list[str] = field(default_factory=list)
    answered_calls: Mapping[str, int] = field(default_factory=dict)
    long_experiments: Collection[str] = ()
