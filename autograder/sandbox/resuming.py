"""Run a submission in one process after another: the next process continues where the last one broke."""

import time
from collections import defaultdict
from typing import Any

import numpy as np

from autograder.sandbox.answering import Answerer
from autograder.sandbox.budget import Budget
from autograder.sandbox.cells_and_calls import Call, Cell
from autograder.sandbox.input_answers import answering, functions_among
from autograder.sandbox.limits import Limits
from autograder.sandbox.outcomes import NOT_AN_ANSWER, read_outcome, used_memory, used_processor, waited_longer
from autograder.sandbox.process import AnswerQuestion, Ended, Exhausted, Process, Slept
from autograder.sandbox.under_test import Points
from check import values
from check.calling import Outcome, Raised
from check.tested import FunctionUnderTest

# The task of a process: ("cell", its id) or ("function", its name).
Stage = tuple[str, str]
_NO_STAGE: Stage = ("", "")
_LONG = 0.5  # an experiment takes long after this many seconds of processor time


class Progress:
    """How far a submission has been run."""

    def __init__(
        self,
        cells: tuple[Cell, ...],
        calls: tuple[Call, ...],
        limits: Limits,
        budget: Budget,
        answerers: defaultdict[str, Answerer | None],
    ):
        """answerers: function -> the answerer of its questions, if there is one."""
        self.limits, self.budget = limits, budget
        self.complete = False
        self.cells: dict[str, None | Raised | str] = {}
        self.outcomes: list[Outcome] = []
        self.notes: list[str] = []
        self.long_experiments: set[str] = set()
        self._all_cells, self._calls, self._answerers = cells, calls, answerers
        self._sources = {cell.id: cell.source for cell in cells}
        self._stopped: dict[Stage, str] = {}  # stage that will not be tried again -> why it was stopped
        self._stage = self._previous = _NO_STAGE
        self._points: defaultdict[str, Points]  # exercise -> the points of its tested functions in this process
        self._own_cells_seconds: float  # the time left in this process for cells that the student added

    def advance(self, process: Process) -> None:
        """Run as much as one process can: to the end, up to a call of another group, or until the process breaks."""
        self._stage = self._previous = _NO_STAGE
        self._points = defaultdict(Points)
        self._own_cells_seconds = self.limits.own_cells_seconds
        groups: dict[str, str] = {}
        try:
            checked: list[str] = []  # since the last cell that ran
            for cell in self._all_cells:
                if cell.checks:
                    checked.append(cell.checks)
                elif ("cell", cell.id) not in self._stopped and cell.id not in self.long_experiments:
                    self._execute(process, cell, checked)
                    checked = []
            while len(self.outcomes) < len(self._calls):
                call = self._calls[len(self.outcomes)]
                if groups.setdefault(call.function, call.group) != call.group:
                    return
                reason = self._stopped.get(("function", call.function))
                self.outcomes.append(Outcome(stopped=reason) if reason else self._call(process, call))
            self.complete = True
        except Ended as ended:
            by_previous = ended.by_previous and self._previous != _NO_STAGE
            self._give_up_stage(self._previous if by_previous else self._stage, ended.reason)
        except _OutOfTime:
            self._give_up_all(f"had taken {self.limits.wall_seconds:g} seconds")
        except Exhausted as exhausted:
            self.budget.stopped_by_clock |= isinstance(exhausted, Slept)
            self._give_up_all(str(exhausted))
        finally:
            self.budget.processor_seconds -= process.processor_seconds
            self.budget.sleep_seconds -= process.sleep_seconds

    def _execute(self, process: Process, cell: Cell, checked: list[str]) -> None:
        """Run a cell. checked: the exercises with checks directly before it."""
        self._previous, self._stage = self._stage, ("cell", cell.id)
        question = {"do": "cell", "cell": cell.id, "source": cell.source, "checked": checked}
        before = process.processor_seconds
        outcome = self._ask(process, question, [], {}, self._seconds_for(cell))
        seconds = process.processor_seconds - before
        if cell.own:
            self._own_cells_seconds -= seconds
        if cell.experiment and seconds > _LONG:
            self.long_experiments.add(cell.id)
        # A new process runs the cell again, but its first result counts.
        self.cells.setdefault(cell.id, outcome.stopped or outcome.raised)

    def _seconds_for(self, cell: Cell) -> float:
        """Return a cell's processor time, so that long experiments leave most of the time to the exercises."""
        most = self.limits.cell_seconds
        return min(most, max(round(self._own_cells_seconds / 2, 1), most / 5)) if cell.own else most

    def _call(self, process: Process, call: Call) -> Outcome:
        self._previous, self._stage = self._stage, ("function", call.function)
        functions, answerer = functions_among(call.inputs), self._answerers[call.function]
        tree, arrays = values.pack({name: value for name, value in call.inputs.items() if name not in functions})
        question = {
            "do": "call",
            "function": call.function,
            "inputs": tree,
            "functions": {
                name: value.exercise if isinstance(value, FunctionUnderTest) else ""
                for name, value in functions.items()
            },
            "stand_ins": answerer.functions if answerer else {},
        }
        answer = answering(call.inputs, call.likely, answerer.answer if answerer else None, self._points)
        return self._ask(process, question, arrays, call.inputs, self.limits.call_seconds, answer)

    def _ask(
        self,
        process: Process,
        question: dict[str, Any],
        arrays: list[np.ndarray],
        inputs: dict[str, Any],
        seconds: float,
        answer_question: AnswerQuestion | None = None,
    ) -> Outcome:
        """Return the outcome. answer_question: answers the questions that the code asks during a call. A cell asks
        none, because it runs before there are stand-ins.

        If the code used up its processor time and obeyed the alarm, its stage is marked as stopped, and the process
        continues.
        """
        on_the_wall = seconds * self.limits.wall_factor
        stop = time.monotonic() + on_the_wall
        try:
            reply, reply_arrays = process.ask(
                question,
                arrays,
                seconds=seconds,
                deadline=min(stop, self.budget.deadline),
                answer_question=answer_question,
            )
            outcome = read_outcome(
                reply, reply_arrays, inputs=inputs, sources=self._sources, seconds=seconds, limits=self.limits
            )
        except TimeoutError:
            self.budget.stopped_by_clock = True
            if stop > self.budget.deadline:
                raise _OutOfTime from None
            raise Ended(waited_longer(on_the_wall)) from None
        except values.Malformed:
            raise Ended(NOT_AN_ANSWER) from None
        if outcome.stopped == used_processor(seconds):
            self._stopped[self._stage] = outcome.stopped
        if outcome.stopped == used_memory(self.limits):
            raise Ended(outcome.stopped)  # the process may still hold the memory, and the other calls need it
        return outcome

    def _give_up_stage(self, stage: Stage, reason: str) -> None:
        self._stopped[stage] = reason
        kind, name = stage
        self.notes.append(f"{kind} {name} {reason}; the rest ran in a new process")
        if kind == "cell":
            self.cells[name] = reason
        elif stage == self._stage:
            self.outcomes.append(Outcome(stopped=reason))
        else:
            self._withdraw_last_outcome(name, reason)

    def _withdraw_last_outcome(self, function: str, reason: str) -> None:
        """Replace a function's last outcome, because the function broke the process after we accepted its answer."""
        last = max(i for i in range(len(self.outcomes)) if self._calls[i].function == function)
        self.outcomes[last] = Outcome(stopped=reason)

    def _give_up_all(self, limit: str) -> None:
        reason = f"was not finished when the whole submission {limit}"
        self.notes.append(f"{' '.join(self._stage)} {reason}")
        for cell in self._all_cells:
            if not cell.checks:
                self.cells.setdefault(cell.id, reason)
        for call in self._calls[len(self.outcomes) :]:
            self.outcomes.append(Outcome(stopped=self._stopped.get(("function", call.function), reason)))
        self.complete = True


class _OutOfTime(Exception):
    """The submission as a whole has used up its time by the wall clock."""
