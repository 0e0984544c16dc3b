"""Choose the cells of a submission that run, and the exercises that count as written."""

from dataclasses import replace

from autograder.course.handout import Handout
from autograder.grading.given_definitions import needed
from autograder.grading.judged_definitions import Placed, judged_cells, later_notes, with_checks
from autograder.grading.misspelled import defined_names
from autograder.grading.namespace import experiments
from autograder.grading.reading import Submission
from autograder.sandbox import Cell
from check.magics import without_magics
from check.words import listed, quoted


def cells_to_run(submission: Submission, released: Handout) -> tuple[list[Cell], list[str]]:
    """Return the cells to run, in order, and notes.

    These are the released setup cells, together with the definitions that a submission needs from the cells that do not
    run; the cells that students may edit; and the cells that they added.
    """
    placed, skipped = _placed(submission, released)
    judged = judged_cells(placed, submission, released)
    definitions = needed([released.source(i) for i in released.given], [one.cell.source for one in placed])
    apart = experiments([one.cell for one in placed], released.functions)
    starts = {released.grade_id(i) for i in released.setup}
    cells = [
        replace(
            cell,
            source=f"{cell.source}\n{definitions}" if cell.id in starts else cell.source,
            experiment=cell.id in apart,
        )
        for cell in with_checks(placed, judged)
    ]
    notes = [f"Notebook commands are not Python and were skipped: {listed(map(quoted, skipped))}."] if skipped else []
    if any(command.startswith("%%writefile") for command in skipped):
        notes.append("Grading reads no files, so what a cell writes with `%%writefile` does not count.")
    return cells, [*notes, *later_notes(judged)]


def judged_in_another_cell(submission: Submission, released: Handout) -> dict[str, str]:
    """Return exercise -> the source of the judged cell, for exercises judged in a cell other than their own."""
    placed, _ = _placed(submission, released)
    judged = judged_cells(placed, submission, released)
    sources = {one.cell.id: one.cell.source for one in placed}
    return {name: sources[about.cell] for name, about in judged.items() if about.cell != name}


def _placed(submission: Submission, released: Handout) -> tuple[list[Placed], list[str]]:
    """Return the cells in order, with notebook commands commented out, and these commands."""
    answers = [
        Placed(i, Cell(released.grade_id(i), submission.answers[released.grade_id(i)]))
        for i in released.editable
        if released.kind(i) == "code" and released.grade_id(i) in submission.answers
    ]
    own = [
        Placed(cell.after + 0.5, Cell(f"{n} of your own", cell.source, own=True))
        for n, cell in enumerate(submission.own, start=1)
        if cell.kind == "code"
    ]
    setup = [Placed(i, Cell(released.grade_id(i), released.source(i))) for i in released.setup]
    placed: list[Placed] = []
    skipped: list[str] = []
    for one in sorted([*setup, *answers, *own], key=lambda one: one.place):
        source, commands = without_magics(one.cell.source)
        placed.append(replace(one, cell=replace(one.cell, source=source)))
        skipped += commands
    return placed, skipped


def written_exercises(submission: Submission, released: Handout) -> list[str]:
    """Return the exercises whose cell was changed, or whose name another changed or added cell defines."""
    stubs = {released.grade_id(i): released.source(i) for i in released.editable}
    changed = {name: source for name, source in submission.answers.items() if source != stubs[name]}
    own = [cell.source for cell in submission.own if cell.kind == "code"]
    defined = defined_names(Cell("", source) for source in (*changed.values(), *own))
    return [name for name in released.functions if name in changed or name in defined]
