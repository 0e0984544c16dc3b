"""From a submitted file to its report: read, run in the sandbox, judge. No nbgrader here, and no course folder."""

import time
from functools import partial
from pathlib import Path

from autograder.check import judge
from autograder.check.calling import Outcome
from autograder.check.words import listed, quoted
from autograder.grading import reading
from autograder.grading.assignment import Assignment, digest
from autograder.grading.follow_through import follow_through
from autograder.grading.magics import without_magics
from autograder.grading.report import Report
from autograder.grading.submitted_file import File
from autograder.sandbox import Call, Cell, Limits, Run, run


def grade_submission(
    file: File, assignment: Assignment, bundle: Path, solutions: Path, limits: Limits | None = None
) -> Report:
    """Grade one submitted file; bundle, solutions: where the assignment's are unpacked.

    Raises SandboxUnavailable, and nothing about the file itself.
    """
    started = time.perf_counter()
    submission = reading.read_submission(file, assignment.released)
    cells, notes = _cells_to_run(submission, assignment.released)
    limits = limits or Limits()
    sandboxed = partial(run, bundle=bundle, limits=limits, kind=assignment.environment["sandbox"])
    ran = _run(cells, submission, assignment, sandboxed)
    results = _judged(assignment.keys, ran.outcomes)
    log: list[str] = []
    if not submission.trouble:
        able = [cell for cell in cells if not isinstance(ran.cells[cell.id], str)]
        written = _written(submission, assignment.released)
        results, log = follow_through(
            results, able, written, assignment, solutions, sandboxed, patience=limits.wall_seconds
        )
    parts = assignment.report_parts(file)
    return Report(
        digest=digest(parts),
        chapter=assignment.released.chapter,
        trouble=submission.trouble,
        notes=(*submission.notes, *notes, *_cell_notes(ran)),
        log=(*ran.notes, *log),
        results=_blamed(assignment.keys, results),
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


def _written(submission, released):
    """The exercises whose cells are there, and are not as they were released."""
    return [
        name
        for name, source in submission.answers.items()
        if name in released.functions and source != released.source(released.position(name, None))
    ]


def _run(cells, submission, assignment, sandboxed):
    """The first run: each exercise with the student's own functions."""
    calls = [Call(key.function, case.inputs) for key in assignment.keys.values() for case in key.cases]
    if submission.trouble:
        return Run({}, [Outcome(stopped="could not be run: nothing was read")] * len(calls))
    return sandboxed(cells, calls)


def _cell_notes(ran):
    return [_cell_note(name, trouble) for name, trouble in ran.cells.items() if trouble]


def _cell_note(name, trouble):
    if isinstance(trouble, str):
        return f"The cell {name} {trouble}."
    where = f" ({trouble.line})" if trouble.line else ""
    return f"The cell {name} raised {trouble.type}: {quoted(trouble.message)}{where}."


def _judged(secret, outcomes):
    """Exercise -> how it came out."""
    rest = iter(outcomes)
    return {name: judge.grade(key, [next(rest) for _ in key.cases]) for name, key in secret.items()}


def _blamed(secret, results):
    """The results, those that fail with what is to be mended first, unless it was answered."""
    failing = {name for name, result in results.items() if not result.passed}
    return tuple(
        result if result.answered else judge.blame_what_is_used(result, secret[name], failing)
        for name, result in results.items()
    )
