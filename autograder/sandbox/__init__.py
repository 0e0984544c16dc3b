"""Run student code in a sandbox. Only values that the grader can check, such as arrays, come back.

`submission.py` runs the cells and the calls of one submission, and `resuming.py` continues in a new process after one
was stopped. `process.py` sends questions to a process and reads its replies; `outcomes.py` makes outcomes of them and
trusts nothing in them.

`launch.py` starts a process. Most are forks of a warm parent, a process that has imported everything: `warm.py` keeps
these parents, `warm_parent.py` starts one, and `fork.py` asks it for forks. Inside, `inside/forking.py` makes the
forks and `inside/walls.py` puts the walls around each. Where the machine does not allow this, `launch.py` starts a
new process in bubblewrap (`bubblewrap.py`). The sandbox mounts `check/` and `inside/`, and no other code of ours.
`probe.py` tries each promise of the sandbox before it is used.

The grader answers some calls that student code makes. `answering.py` answers those of functions that the student got
wrong. `input_answers.py` answers those of functions among a case's inputs, such as the decoders of `leaks`, and sends
most values before the code needs them. `under_test.py` answers those of functions on which a student's test is tried.
"""

from autograder.sandbox.answering import AnsweredFunctions
from autograder.sandbox.budget import Budget
from autograder.sandbox.cells_and_calls import Call, Cell, RunResult
from autograder.sandbox.limits import Limits, MachineTooBusy, SandboxUnavailable
from autograder.sandbox.probe import probe
from autograder.sandbox.references import References
from autograder.sandbox.submission import run
from check.allowed_imports import CHAPTER_DISTRIBUTIONS

__all__ = [
    "CHAPTER_DISTRIBUTIONS",
    "AnsweredFunctions",
    "Budget",
    "Call",
    "Cell",
    "Limits",
    "MachineTooBusy",
    "References",
    "RunResult",
    "SandboxUnavailable",
    "probe",
    "run",
]
