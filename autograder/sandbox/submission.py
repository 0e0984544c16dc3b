"""Run one submission in the sandbox: first its cells, then the calls. Code that breaks affects only itself."""

import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from autograder.sandbox.answering import AnsweredFunctions, Answerer
from autograder.sandbox.budget import Budget
from autograder.sandbox.given import LikelyArguments, answering, functions_among
from autograder.sandbox.interpreter import CHAPTER_DISTRIBUTIONS
from autograder.sandbox.limits import Limits, MachineTooBusy
from autograder.sandbox.outcomes import NOT_AN_ANSWER, read_outcome, used_memory, used_processor, waited_longer
from autograder.sandbox.process import AnswerQuestion, Ended, Exhausted, Process, Slept
from autograder.sandbox.references import References
from autograder.sandbox.starting import SandboxLost
from autograder.sandbox.under_test import Points
from autograder.sandbox.zygote import slow_imports
from check import values
from check.calling import Outcome, Raised
from check.tested import FunctionUnderTest

# The task of a process: ("cell", its id) or ("function", its name).
Stage = tuple[str, str]
_NO_STAGE: Stage = ("", "")
# How often a submission is run if the warm process dies meanwhile, as where memory is short.
_TRIES = 3
_LONG = 0.5  # seconds of processor time after which an experiment takes long


@dataclass(frozen=True)
class Cell:
    """A cell of plain Python, without notebook commands; its id is unique in the submission.

    own: whether the student added it. experiment: whether no other cell depends on it. Then only the first process
    executes it if it takes long.
    """

    id: str
    source: str
    own: bool = False
    experiment: bool = False


@dataclass(frozen=True)
class Call:
    """A student's function, and the inputs (argument name -> value) of one case.

    likely: of a function among the inputs.
    group: calls of one function that differ in it run in different processes, so that none remembers another.
    """

    function: str
    inputs: dict[str, Any]
    likely: LikelyArguments | None = None
    group: str = ""


@dataclass(frozen=True)
class Run:
    """The result of running a submission.

    cells: id -> None if the cell ran, the exception it raised, or in plain words why it was stopped.
    outcomes: one for each call, in the order of the calls.
    notes: events for the instructor, such as the start of a new process.
    questions: function -> how many calls of answered functions it made.
    long_experiments: ids of cells that another run need not execute.
    """

    cells: dict[str, None | Raised | str]
    outcomes: list[Outcome]
    notes: list[str] = field(default_factory=list)
    questions: Mapping[str, int] = field(default_factory=dict)
    long_experiments: Collection[str] = ()


def run(
    cells: Sequence[Cell],
    calls: Sequence[Call],
    *,
    bundle: Path,
    limits: Limits | None = None,
    budget: Budget | None = None,
    kind: str = "bwrap",
    answered: AnsweredFunctions | None = None,
    references: References | None = None,
    distributions: tuple[str, ...] = CHAPTER_DISTRIBUTIONS,
) -> Run:
    """Execute a submission's cells in a new process, then call its functions.

    An exception in a cell does not stop the other cells. A cell or function that hangs, dies or sends nonsense ends
    the process; it alone is marked as stopped, and the others go on in a new process. A function that was stopped is
    not called again.

    Args:
        cells: the setup cell and all cells that a student may edit, in the notebook's order.
        calls: in order; the calls of one function need not be adjacent.
        bundle: folder of the released chapter; the code can read it and import from it.
        limits: Limits() by default.
        budget: the time that is left to the submission; by default that of its limits. Runs may share one.
        kind: "bwrap", or "none" for the same process without isolation: it can read and write whatever you can.
        answered: functions that the grader answers, whatever the cells define under their names. Any call can use them.
        references: processes that answer. By default they are of this run alone; a submission's runs may share them.
        distributions: what the cells can import besides the standard library and the bundle, with its requirements.

    Raises:
        SandboxUnavailable: there is no sandbox, or it cannot start.
        MachineTooBusy: a sandbox did not start in time, or was lost; a second try may succeed. Student code can cause
            neither.
    """
    limits = limits or Limits()
    budget = budget or Budget(limits)
    bundle = Path(bundle).resolve()
    imports = slow_imports([cell.source for cell in cells])

    def tried(references: References) -> Run:
        def answerer() -> Answerer | None:
            if not answered:
                return None
            # A function that breaks the reference costs the others nothing.
            return Answerer(answered, references.holding(answered.modules, answered.folder, distributions), limits)

        answerers: defaultdict[str, Answerer | None] = defaultdict(answerer)
        submission = _Submission(tuple(cells), tuple(calls), limits, budget, answerers)
        while not submission.complete:
            remaining = budget.processor_seconds, budget.sleep_seconds
            with Process(bundle, limits, kind, distributions, *remaining, imports) as process:
                submission.advance(process)
        questions = {name: answerer.count for name, answerer in answerers.items() if answerer}
        return Run(
            submission.cells, submission.outcomes, submission.notes, questions, frozenset(submission.long_experiments)
        )

    with References(limits, kind) if references is None else nullcontext(references) as references:
        for _ in range(_TRIES):
            with suppress(SandboxLost), budget.uncharged_if_lost():
                return tried(references)
    raise MachineTooBusy(f"The sandbox was lost {_TRIES} times. The machine may have too little memory.")


class _Submission:
    """How far a submission has been run."""

    def __init__(
        self,
        cells: tuple[Cell, ...],
        calls: tuple[Call, ...],
        limits: Limits,
        budget: Budget,
        answerers: defaultdict[str, Answerer | None],
    ):
        """answerers: function -> what answers it, if anything does."""
        self.limits, self.budget = limits, budget
        self.complete = False
        self.cells: dict[str, None | Raised | str] = {}
        self.outcomes: list[Outcome] = []
        self.notes: list[str] = []
        self.long_experiments: set[str] = set()
        self._all_cells, self._calls, self._answerers = cells, calls, answerers
        self._sources = {cell.id: cell.source for cell in cells}
        self._stopped: dict[Stage, str] = {}  # why each stage that is not tried again was stopped
        self._stage = self._previous = _NO_STAGE
        self._points: defaultdict[str, Points]  # of functions under test, by exercise; new for each process
        self._own_cells_seconds: float  # what a process has left for the cells that the student added

    def advance(self, process: Process) -> None:
        """Run as much as one process can: to the end, to a call of another group, or until the process breaks."""
        self._stage = self._previous = _NO_STAGE
        self._points = defaultdict(Points)
        self._own_cells_seconds = self.limits.own_cells_seconds
        groups: dict[str, str] = {}
        try:
            for cell in self._all_cells:
                if ("cell", cell.id) not in self._stopped and cell.id not in self.long_experiments:
                    self._execute(process, cell)
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

    def _execute(self, process: Process, cell: Cell) -> None:
        self._previous, self._stage = self._stage, ("cell", cell.id)
        question = {"do": "cell", "cell": cell.id, "source": cell.source}
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
        """Return a cell's processor time. Many long experiments leave most of a submission's time to its exercises."""
        most = self.limits.cell_seconds
        return min(most, max(round(self._own_cells_seconds / 2, 1), most / 5)) if cell.own else most

    def _call(self, process: Process, call: Call) -> Outcome:
        self._previous, self._stage = self._stage, ("function", call.function)
        given, answerer = functions_among(call.inputs), self._answerers[call.function]
        tree, arrays = values.pack({name: value for name, value in call.inputs.items() if name not in given})
        question = {
            "do": "call",
            "function": call.function,
            "inputs": tree,
            "given": {
                name: value.exercise if isinstance(value, FunctionUnderTest) else "" for name, value in given.items()
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
        """Return the outcome. answer_question: answers questions meanwhile; a cell runs before stand-ins are in place.

        If the code used up its processor time and obeyed the alarm, its stage is marked as stopped, and the process
        goes on.
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
        """Replace a function's last outcome: the function broke the process after its answer had been accepted."""
        last = max(i for i in range(len(self.outcomes)) if self._calls[i].function == function)
        self.outcomes[last] = Outcome(stopped=reason)

    def _give_up_all(self, limit: str) -> None:
        reason = f"was not finished when the whole submission {limit}"
        self.notes.append(f"{' '.join(self._stage)} {reason}")
        for cell in self._all_cells:
            self.cells.setdefault(cell.id, reason)
        for call in self._calls[len(self.outcomes) :]:
            self.outcomes.append(Outcome(stopped=self._stopped.get(("function", call.function), reason)))
        self.complete = True


class _OutOfTime(Exception):
    """The submission as a whole has used up its time by the wall clock."""
