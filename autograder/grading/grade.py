"""From a submitted file to its report: read, run in the sandbox, judge. No nbgrader here, and no course folder."""

import time
from pathlib import Path

from autograder.check import judge
from autograder.check.calling import Outcome
from autograder.check.words import listed, quoted
from autograder.grading import reading
from autograder.grading.assignment import Assignment, digest
from autograder.grading.magics import without_magics
from autograder.grading.report import Report
from autograder.grading.submitted_file import File
from autograder.sandbox import Call, Cell, run


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
