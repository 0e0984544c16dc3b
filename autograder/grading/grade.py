"""From a submitted file to its report: read, run in the sandbox, judge. No nbgrader here, and no course folder."""

import hashlib
import platform
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import make_key
from autograder.check import judge
from autograder.check.calling import Outcome
from autograder.check.key import Key
from autograder.check.words import listed, quoted
from autograder.course.handout import Handout, load_handout
from autograder.course.seed import secret_seed
from autograder.grading import reading
from autograder.grading.magics import without_magics
from autograder.grading.report import Report
from autograder.grading.submitted_file import File
from autograder.sandbox import Call, Cell, run

# The files that decide what a submission earns; a change to one of them asks for new reports.
DECIDING = ("check/*.py", "sandbox/*.py", "sandbox/inside/*.py", "grading/*.py", "course/handout.py")


@dataclass(frozen=True)
class Assignment:
    """Everything that grading a chapter's submissions has in common; it can be sent to another machine.

    released: the released notebook. keys: exercise name -> its secret key, in the notebook's order.
    bundle: the zip that students got. environment: what else decides a score, by name.
    """

    released: Handout
    keys: dict[str, Key]
    bundle: bytes
    environment: dict[str, str]

    @cached_property
    def made_from(self) -> dict[str, str]:
        """What reports are made from besides the submission: the part's name -> its version or fingerprint."""
        keys = {f"key of {name}": key.digest[:16] for name, key in self.keys.items()}
        notebook = repr((self.released.chapter, self.released.notebook)).encode()
        return {"release": _sha256([notebook, self.bundle])[:16], **keys, **self.environment}

    def report_parts(self, file: File) -> dict[str, str]:
        """All that the report of a submitted file is made from."""
        return {"submission": fingerprint(file), **self.made_from}


def fingerprint(file: File) -> str:
    """SHA-256 of a submitted file, or of why there is none, in hex."""
    return _sha256([file.trouble.encode("utf-8", "replace"), file.raw])


def digest(parts: dict[str, str]) -> str:
    """The name of the report that is made from these parts."""
    return _sha256(text.encode() for part in parts.items() for text in part)


def environment(sandbox: str) -> dict[str, str]:
    """What decides a score on this machine, besides keys and release; sandbox: "bwrap" or "none"."""
    here = Path(__file__).parent.parent
    files = sorted(file for pattern in DECIDING for file in here.glob(pattern))
    return {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "grader": _sha256(file.read_bytes() for file in files)[:16],
        "sandbox": sandbox,
    }


def open_assignment(course: Path, chapter: str, sandbox: str = "bwrap", seed: int | None = None) -> Assignment:
    """Load a released chapter and make its keys, from the course's secret seed if no other is given.

    Raises FileNotFoundError if it is not released.
    """
    notebook = load_handout(course, chapter)
    exercises = {each.name: each for each in exercises_of(chapter)}
    seed = secret_seed(course) if seed is None else seed
    keys = {name: make_key(exercises[name], seed) for name in notebook.functions}
    bundle = (course / "release" / f"{chapter}.zip").read_bytes()
    return Assignment(notebook, keys, bundle, environment(sandbox))


def grade_submission(file: File, assignment: Assignment, bundle: Path) -> Report:
    """Grade one submitted file; bundle: where the assignment's is unpacked.

    Raises SandboxUnavailable, and nothing about the file itself.
    """
    started = time.perf_counter()
    submission = reading.read_submission(file, assignment.released)
    cells, notes = _cells_to_run(submission, assignment.released)
    outcomes, more, log = _run(cells, submission, assignment, bundle)
    parts = assignment.report_parts(file)
    return Report(
        digest=digest(parts),
        chapter=assignment.released.chapter,
        trouble=submission.trouble,
        notes=(*submission.notes, *notes, *more),
        log=log,
        results=_results(assignment.keys, outcomes),
        seconds=round(time.perf_counter() - started, 3),
        made_from=parts,
    )


# ------------------------------------------------------------------------------------------------


def _cells_to_run(submission, released):
    """The setup as released, then what students may edit and their own cells, in the notebook's order."""
    setup = [(i, released.grade_id(i), released.source(i)) for i in released.setup]
    answers = [
        (i, released.grade_id(i), submission.answers[released.grade_id(i)])
        for i in released.editable
        if released.kind(i) == "code" and released.grade_id(i) in submission.answers
    ]
    own = [
        (cell.after + 0.5, f"{n} of your own", cell.source)
        for n, cell in enumerate(submission.own, start=1)
        if cell.kind == "code"
    ]
    cells: list[Cell] = []
    skipped: list[str] = []
    for _, name, source in sorted([*setup, *answers, *own], key=lambda item: item[0]):
        source, commands = without_magics(source)
        cells.append(Cell(name, source))
        skipped += commands
    notes = [f"Notebook commands are no Python and were skipped: {listed(map(quoted, skipped))}."] if skipped else []
    return cells, notes


def _run(cells, submission, assignment, bundle):
    """The outcome of each call, notes on cells that did not run to their end, and the sandbox's own notes."""
    calls = [Call(key.function, case.inputs) for key in assignment.keys.values() for case in key.cases]
    if submission.trouble:
        return [Outcome(stopped="could not be run: nothing was read")] * len(calls), [], ()
    ran = run(cells, calls, bundle=bundle, kind=assignment.environment["sandbox"])
    failed = [_cell_note(name, trouble) for name, trouble in ran.cells.items() if trouble]
    return ran.outcomes, failed, tuple(ran.notes)


def _cell_note(name, trouble):
    if isinstance(trouble, str):
        return f"The cell {name} {trouble}."
    where = f" ({trouble.line})" if trouble.line else ""
    return f"The cell {name} raised {trouble.type}: {quoted(trouble.message)}{where}."


def _results(secret, outcomes):
    """The outcomes of all calls, judged exercise by exercise."""
    rest, results = iter(outcomes), {}
    for name, key in secret.items():
        results[name] = judge.grade(key, [next(rest) for _ in key.cases])
    failing = {name for name, result in results.items() if not result.passed}
    return tuple(judge.blame_what_is_used(results[name], key, failing) for name, key in secret.items())


def _sha256(parts):
    digest = hashlib.sha256()
    for part in parts:
        # Each part's length comes first: "ab", "c" and "a", "bc" are told apart.
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
