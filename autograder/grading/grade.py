"""From a submitted file to its report: read, run in the sandbox, judge. No nbgrader here, and no course folder."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from autograder.grading import reading
from autograder.grading.assignment import Assignment, digest
from autograder.grading.cell_imports import imported
from autograder.grading.follow_through import follow_through
from autograder.grading.magics import without_magics
from autograder.grading.questions import exercises_by_name, judged, questions_of
from autograder.grading.report import Report
from autograder.grading.submitted_file import File
from autograder.grading.telling import fit_to_tell, own_words
from autograder.sandbox import Call, Cell, Limits, run
from check import judge
from check.allowed_imports import is_ours
from check.calling import Outcome, Raised
from check.judge import Result
from check.words import listed, quoted, shown

MAX_NOTES = 20  # of the cells, and of the sandbox


def grade_submission(
    file: File,
    seeds: dict[str, int],
    assignment: Assignment,
    bundle: Path,
    solutions: Path,
    limits: Limits | None = None,
) -> Report:
    """Grade one submitted file.

    Args:
        seeds: exercise -> the seed of its cases. bundle, solutions: where the assignment's are unpacked.

    Raises SandboxUnavailable, and nothing about the file itself.
    """
    started = time.perf_counter()
    submission = reading.read_submission(file, assignment.released)
    cells, notes = _cells_to_run(submission, assignment.released)
    limits = limits or Limits()
    sandboxed = partial(_sandboxed, assignment, bundle, limits)
    questions = questions_of(assignment.released.chapter, seeds)
    if submission.trouble:
        results, troubles, log = _nothing(questions), {}, []
    else:
        results, troubles, log = _first_run(cells, questions, assignment, sandboxed)
        written = _written(submission, assignment.released)
        able, wall = _able(cells, troubles), limits.wall_seconds
        results, more = follow_through(
            results, able, written, questions, assignment, solutions, sandboxed, patience=wall
        )
        log += more
    parts = assignment.report_parts(file)
    return Report(
        digest=digest(parts),
        chapter=assignment.released.chapter,
        trouble=submission.trouble,
        notes=(*submission.notes, *notes, *_import_note(cells, assignment), *_cell_notes(troubles, assignment.modules)),
        log=_first(log, "were noted"),
        results=_blamed(questions, results),
        seconds=round(time.perf_counter() - started, 3),
        made_from=parts,
    )


# ------------------------------------------------------------------------------------------------


def _sandboxed(assignment, bundle, limits, cells, calls, **more):
    """The run of a submission, its exceptions fit to be told."""
    ran = run(cells, calls, bundle=bundle, limits=limits, kind=assignment.environment["sandbox"], **more)
    if not assignment.hidden:
        return ran
    ours = own_words(cells)
    return replace(ran, outcomes=[fit_to_tell(outcome, ours) for outcome in ran.outcomes])


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


def _nothing(questions):
    """The results where nothing was read."""
    unread = Outcome(stopped="could not be run: nothing was read")
    return {name: judge.grade(key, [unread] * len(key.cases)) for name, key in questions.items()}


def _first_run(cells, questions, assignment, sandboxed):
    """Each exercise with the student's own functions: results by name, what became of each cell, what was noted.

    Those in PyTorch have a run of their own, since all others are written without it.
    """
    exercises = exercises_by_name(assignment.released.chapter)
    results: dict[str, Result] = {}
    troubles: dict[str, None | Raised | str] = {}
    notes: list[str] = []
    for distributions, keys in _by_distributions(questions, assignment).items():
        calls = [Call(name, case.inputs) for name, key in keys.items() for case in key.cases]
        ran = sandboxed(_able(cells, troubles), calls, distributions=distributions)
        outcomes = iter(ran.outcomes)
        for name, key in keys.items():
            results[name] = judged(exercises[name], key, [next(outcomes) for _ in key.cases])
        # Of an exercise's cell counts how it ran where its exercise was called.
        others = questions.keys() - keys.keys() if troubles else ()
        troubles |= {cell: trouble for cell, trouble in ran.cells.items() if cell not in others}
        notes += [note for note in ran.notes if note not in notes]
    return {name: results[name] for name in questions}, troubles, notes


def _by_distributions(questions, assignment):
    """What exercises may be written with -> the questions of those that may."""
    found: dict[tuple[str, ...], dict] = {}
    for name, key in questions.items():
        found.setdefault(assignment.distributions(name), {})[name] = key
    return found


def _able(cells, troubles):
    """The cells that were not stopped; nobody waits for the others again."""
    return [cell for cell in cells if not isinstance(troubles.get(cell.id), str)]


def _import_note(cells, assignment):
    """What the student's cells import and should not, in a sentence, if there is any."""
    named = [
        f"{name} (cell {cell.id})"
        for cell in cells
        if cell.id != "setup"
        for name in imported(cell.source)
        if not (is_ours(name) or name in _more(cell, assignment))
    ]
    if named:
        yield f"Imports that the chapter does not make, and of which nothing counts: {listed(named)}."


def _more(cell, assignment):
    """What else a cell may import: an exercise in NumPy nothing, any other cell what one of the chapter's may."""
    if cell.id in assignment.modules:
        return assignment.distributions(cell.id)
    return {name for exercise in assignment.modules for name in assignment.distributions(exercise)}


def _cell_notes(troubles, exercises):
    """What became of cells that did not run to their end, the exercises' own first."""
    named = sorted(filter(troubles.get, troubles), key=lambda name: name not in exercises)
    return _first([_cell_note(name, troubles[name]) for name in named], "cells raised an exception or were stopped")


def _first(notes, more):
    """The first of many notes, and how many more there were."""
    rest = len(notes) - MAX_NOTES
    return (*notes[:MAX_NOTES], f"And {rest} more {more}.") if rest > 0 else tuple(notes)


def _cell_note(name, trouble):
    if isinstance(trouble, str):
        return f"The cell {name} {trouble}."
    where = f" ({shown(trouble.line)})" if trouble.line else ""
    return f"The cell {name} raised {trouble.type}: {quoted(trouble.message)}{where}."


def _blamed(questions, results):
    """The results, those that fail with what is to be mended first, unless it was answered."""
    failing = {name for name, result in results.items() if not result.passed}
    return tuple(
        result if result.answered else judge.blame_what_is_used(result, questions[name], failing)
        for name, result in results.items()
    )
