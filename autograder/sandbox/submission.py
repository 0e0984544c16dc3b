"""Run one submission in the sandbox: first its cells, then the calls. Code that breaks affects only itself."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from autograder.sandbox.answering import AnsweredFunctions, Answerer
from autograder.sandbox.budget import Budget
from autograder.sandbox.cells_and_calls import Call, Cell, Run
from autograder.sandbox.interpreter import CHAPTER_DISTRIBUTIONS
from autograder.sandbox.limits import Limits, MachineTooBusy
from autograder.sandbox.process import Process
from autograder.sandbox.progress import Progress
from autograder.sandbox.references import References
from autograder.sandbox.starting import SandboxLost
from autograder.sandbox.zygote import slow_imports

# How often a submission is run if the warm process dies meanwhile, as where memory is short.
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
        progress = Progress(tuple(cells), tuple(calls), limits, budget, answerers)
        while not progress.complete:
            remaining = budget.processor_seconds, budget.sleep_seconds
            with Process(bundle, limits, kind, distributions, *remaining, imports) as process:
                progress.advance(process)
        questions = {name: answerer.count for name, answerer in answerers.items() if answerer}
        return Run(progress.cells, progress.outcomes, progress.notes, questions, frozenset(progress.long_experiments))

    with References(limits, kind) if references is None else nullcontext(references) as references:
        for _ in range(_TRIES):
            with suppress(SandboxLost), budget.uncharged_if_lost():
                return tried(references)
    raise MachineTooBusy(f"The sandbox was lost {_TRIES} times. The machine may have too little memory.")
