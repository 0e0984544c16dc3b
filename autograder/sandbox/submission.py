"""One submission in the sandbox: its cells, then the calls; whatever breaks costs only itself."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.sandbox import outcomes
from autograder.sandbox.answering import Answerer, Answers
from autograder.sandbox.interpreter import BROUGHT
from autograder.sandbox.limits import Limits
from autograder.sandbox.process import Ended, Exhausted, Process
from check import values
from check.calling import Outcome, Raised


@dataclass(frozen=True)
class Cell:
    """A cell of plain Python, its magics stripped; id is unique in the submission."""

    id: str
    source: str


@dataclass(frozen=True)
class Call:
    """A function of the student's, and the inputs (argument name -> value) of one case."""

    function: str
    inputs: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What became of a submission.

    cells: id -> None if the cell ran, what it raised, or in plain words why it was stopped.
    outcomes: one for each call, in their order.
    notes: what an instructor may want to know, a fresh start for instance.
    questions: how many values of answered functions were asked for.
    """

    cells: dict[str, None | Raised | str]
    outcomes: list[Outcome]
    notes: list[str] = field(default_factory=list)
    questions: int = 0


def run(
    cells: Sequence[Cell],
    calls: Sequence[Call],
    *,
    bundle: Path,
    limits: Limits | None = None,
    kind: str = "bwrap",
    answered: Answers | None = None,
    distributions: tuple[str, ...] = BROUGHT,
) -> Run:
    """Execute a submission's cells in a fresh process, and call its functions.

    A cell that raises stops nothing. A cell or function that hangs, dies or sends nonsense ends the process;
    it is charged alone, and the others go on in a fresh one. A function stopped so is not called again.

    Args:
        cells: the setup cell and all cells a student may edit, in the notebook's order.
        calls: in order; a function's calls need not stand together.
        bundle: folder of the released chapter; the code can read it and import from it.
        limits: Limits() unless told.
        kind: "bwrap", or "none": the same process without isolation. It reads and writes what you can.
        answered: functions whose values are asked for, whatever the cells made of them.
        distributions: what the cells can import besides Python's own library and the bundle, and what that needs.

    Raises:
        SandboxUnavailable: there is no sandbox, or it does not start. Never the student's doing.
    """
    limits = limits or Limits()
    with Answerer(answered, limits, kind, distributions) if answered else nullcontext() as answerer:
        submission = _Submission(tuple(cells), tuple(calls), limits, answerer)
        while not submission.complete:
            left = submission.processor_seconds
            with Process(Path(bundle).resolve(), limits, kind, distributions, left) as process:
                submission.advance(process)
    return Run(submission.cells, submission.outcomes, submission.notes, answerer.count if answerer else 0)


class _Submission:
    """Where a submission stands. A stage is ("cell", id) or ("function", name); `lost` ones are not tried again."""

    def __init__(self, cells, calls, limits, answerer):
        self.limits = limits
        self.complete = False
        self.cells = {}
        self.outcomes = []
        self.notes = []
        self._all_cells, self._calls, self._answerer = cells, calls, answerer
        self._sources = {cell.id: cell.source for cell in cells}
        self._lost = {}
        self._stage = self._previous = ("", "")
        self._deadline = time.monotonic() + limits.wall_seconds
        self.processor_seconds = limits.processor_seconds  # left, for all processes that are still to come

    def advance(self, process):
        """Go as far as one process goes: to the end, or to where it breaks."""
        self._stage = self._previous = ("", "")
        try:
            for cell in self._all_cells:
                if ("cell", cell.id) not in self._lost:
                    self._execute(process, cell)
            while len(self.outcomes) < len(self._calls):
                call = self._calls[len(self.outcomes)]
                lost = self._lost.get(("function", call.function))
                self.outcomes.append(Outcome(stopped=lost) if lost else self._call(process, call))
            self.complete = True
        except Ended as ended:
            by_previous = ended.by_previous and self._previous != ("", "")
            self._lose(self._previous if by_previous else self._stage, ended.words)
        except _OutOfTime:
            self._give_up(f"had taken {self.limits.wall_seconds:g} seconds")
        except Exhausted:
            self._give_up(f"had used {self.limits.processor_seconds:g} seconds of the processor")
        finally:
            self.processor_seconds -= process.processor_seconds

    def _execute(self, process, cell):
        self._previous, self._stage = self._stage, ("cell", cell.id)
        question = {"do": "cell", "cell": cell.id, "source": cell.source}
        outcome = self._ask(process, question, [], {}, self.limits.cell_seconds)
        # In a fresh process a cell runs again; what it did the first time is what counts.
        self.cells.setdefault(cell.id, outcome.stopped or outcome.raised)

    def _call(self, process, call):
        self._previous, self._stage = self._stage, ("function", call.function)
        tree, arrays = values.pack(call.inputs)
        question = {"do": "call", "function": call.function, "inputs": tree}
        question["stand_ins"] = self._answerer.functions if self._answerer else {}
        return self._ask(process, question, arrays, call.inputs, self.limits.call_seconds)

    def _ask(self, process, question, arrays, inputs, seconds):
        """The outcome; if the code was stopped for its time, its stage is lost, though the process goes on."""
        stop = time.monotonic() + seconds + self.limits.patience
        try:
            message = {**question, "milliseconds": round(seconds * 1000)}
            reply, back = process.ask(message, arrays, min(stop, self._deadline), self._answer(question))
            known = {"inputs": inputs, "sources": self._sources, "limits": self.limits}
            outcome = outcomes.outcome(reply, back, seconds=seconds, **known)
        except TimeoutError:
            if stop > self._deadline:
                raise _OutOfTime from None
            raise Ended(outcomes.took_longer(seconds)) from None
        except values.Malformed:
            raise Ended(outcomes.NOT_AN_ANSWER) from None
        if outcome.stopped == outcomes.took_longer(seconds):
            self._lost[self._stage] = outcome.stopped
        if outcome.stopped == outcomes.used_too_much(self.limits):
            raise Ended(outcome.stopped)  # the memory may still be held, and the others need it
        return outcome

    def _answer(self, question):
        """What answers while this is asked: a cell runs before anything stands in for an exercise."""
        return self._answerer.answer if self._answerer and question["do"] == "call" else None

    def _lose(self, stage, words):
        self._lost[stage] = words
        what, name = stage
        self.notes.append(f"{what} {name} {words}; the rest went on in a fresh process")
        if what == "cell":
            self.cells[name] = words
        elif stage == self._stage:
            self.outcomes.append(Outcome(stopped=words))
        else:
            self._correct(name, words)

    def _correct(self, function, words):
        """A function was found out after its answer had been taken: the answer does not stand."""
        last = max(i for i in range(len(self.outcomes)) if self._calls[i].function == function)
        self.outcomes[last] = Outcome(stopped=words)

    def _give_up(self, why):
        words = f"was not finished when the whole submission {why}"
        self.notes.append(f"{' '.join(self._stage)} {words}")
        for cell in self._all_cells:
            self.cells.setdefault(cell.id, words)
        for call in self._calls[len(self.outcomes) :]:
            self.outcomes.append(Outcome(stopped=self._lost.get(("function", call.function), words)))
        self.complete = True


class _OutOfTime(Exception):
    """The submission as a whole has used up its time."""
