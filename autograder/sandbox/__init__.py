"""Run student code in a sandbox. Only values that the grader can check, such as arrays, come back."""

from autograder.sandbox.answering import AnsweredFunctions
from autograder.sandbox.budget import Budget
from autograder.sandbox.cells_and_calls import Call, Cell, Run
from autograder.sandbox.interpreter import CHAPTER_DISTRIBUTIONS
from autograder.sandbox.limits import Limits, MachineTooBusy, SandboxUnavailable
from autograder.sandbox.probe import probe
from autograder.sandbox.references import References
from autograder.sandbox.submission import run

__all__ = [
    "CHAPTER_DISTRIBUTIONS",
    "AnsweredFunctions",
    "Budget",
    "Call",
    "Cell",
    "Limits",
    "MachineTooBusy",
    "References",
    "Run",
    "SandboxUnavailable",
    "probe",
    "run",
]
