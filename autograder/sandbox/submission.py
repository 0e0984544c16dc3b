"""Run a submission in the sandbox: first its cells, then the calls. Broken code affects nothing else."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from autograder.sandbox.answering import AnsweredFunctions, Answerer
from autograder.sandbox.budget import Budget
from autograder.sandbox.cells_and_calls import Call, Cell, RunResult
from autograder.sandbox.limits import Limits, MachineTooBusy
from autograder.sandbox.process import Process
from autograder.sandbox.references import References
from autograder.sandbox.resuming import Progress
from autograder.sandbox.starting import SandboxLost
from autograder.sandbox.warm_parent import slow_imports
from check.allowed_imports import CHAPTER_DISTRIBUTIONS

# How many times to run a submission if the warm parent dies meanwhile, for example when memory is short.
_TRIES = 3


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
) -> RunResult:
    """Execute a submission's cells in a new process, then call its functions.

    An exception in a cell does not stop the other cells. A cell or function that hangs, dies or sends nonsense ends the
    process. Only this cell or function is marked as stopped, and the others continue in a new process. A stopped
    function is not called again.

    Args:
        cells: the setup cell and all cells that a student may edit, in the notebook's order.
        calls: in order. The calls of one function need not be adjacent.
        bundle: folder of the released chapter. The code can read it and import from it.
        limits: Limits() by default.
        budget: the time that the submission has left; by default that of the limits. Several runs may share a budget.
        kind: "bwrap", "user" for the same process without namespaces, or "none" for one without isolation, which can
            read and write whatever you can.
        answered: functions that the grader answers, even if the cells define their names. Any call can use them.
        references: processes that answer. By default this run has its own. All runs of a submission may share them.
        distributions: distributions that the cells can import, with their requirements, besides the standard library
            and the bundle.

    Raises:
        SandboxUnavailable: there is no sandbox, or it cannot start.
        MachineTooBusy: a sandbox did not start in time, or was lost; a second try may succeed. Student code can cause
            neither.
    """
    limits = limits or Limits()
    budget = budget or Budget(limits)
    bundle = Path(bundle).resolve()
    imports = slow_imports([cell.source for cell in cells])

    def tried(references: References) -> RunResult:
        def answerer() -> Answerer | None:
            if not answered:
                return None
            # If a function breaks the reference, the others get a new one.
            return Answerer(answered, references.holding(answered.modules, answered.folder, distributions), limits)

        answerers: defaultdict[str, Answerer | None] = defaultdict(answerer)
        progress = Progress(tuple(cells), tuple(calls), limits, budget, answerers)
        while not progress.complete:
            remaining = budget.processor_seconds, budget.sleep_seconds
            with Process(bundle, limits, kind, distributions, *remaining, imports) as process:
                progress.advance(process)
        answered_calls = {name: answerer.count for name, answerer in answerers.items() if answerer}
        long = frozenset(progress.long_experiments)
        return RunResult(progress.cells, progress.outcomes, progress.notes, answered_calls, long)

    with References(limits, kind) if references is None else nullcontext(references) as references:
        for _ in range(_TRIES):
            with suppress(SandboxLost), budget.uncharged_if_lost():
                return tried(references)
    raise MachineTooBusy(f"The sandbox was lost {_TRIES} times. The machine may have too little memory.")
