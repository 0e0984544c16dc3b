"""The sandbox: where a student's code runs, and from where nothing but arrays comes back."""

from autograder.sandbox.answering import Answers
from autograder.sandbox.interpreter import BROUGHT
from autograder.sandbox.limits import Limits, SandboxUnavailable
from autograder.sandbox.probe import probe
from autograder.sandbox.submission import Call, Cell, Run, run

__all__ = ["BROUGHT", "Answers", "Call", "Cell", "Limits", "Run", "SandboxUnavailable", "probe", "run"]
