"""Choose the cells of a submission that run, and the exercises that count as written."""

from dataclasses import replace

from autograder.course.handout import Handout
from autograder.grading.given_definitions import needed
from autograder.grading.magics import without_magics
from autograder.grading.misspelled import defined_names
from autograder.grading.namespace import experiments
from autograder.grading.reading import Submission
from autograder.sandbox import Cell
from check.words import listed, quoted


def cells_to_run(submission: Submission, released: Handout) -> tuple[list[Cell], list[str]]:
    """Return the cells to run, in order, and notes.

    They are the setup as released, with what the other cells need of those that are not run; the cells that students
    may edit; and their own cells.
    """
    answers = [
        (i, Cell(released.grade_id(i), submission.answers[released.grade_id(i)]))
        for i in released.editable
        if released.kind(i) == "code" and released.grade_id(i) in submission.answers
    ]
    own = [
        (cell.after + 0.5, Cell(f"{n} of your own", cell.source, own=True))
        for n, cell in enumerate(submission.own, start=1)
        if cell.kind == "code"
    ]
    setup = [(i, Cell(released.grade_id(i), released.source(i))) for i in released.setup]
    cells: list[Cell] = []
    skipped: list[str] = []
    for _, cell in sorted([*setup, *answers, *own], key=lambda item: item[0]):
        source, commands = without_magics(cell.source)
        cells.append(replace(cell, source=source))
        skipped += commands
    definitions = needed([released.source(i) for i in released.given], [cell.source for cell in cells])
    starts = {cell.id for _, cell in setup}
    cells = [replace(cell, source=f"{cell.source}\n{definitions}") if cell.id in starts else cell for cell in cells]
    apart = experiments(cells, released.functions)
    cells = [replace(cell, experiment=cell.id in apart) for cell in cells]
    notes = [f"Notebook commands are not Python and were skipped: {listed(map(quoted, skipped))}."] if skipped else []
    return cells, notes


def written_exercises(submission: Submission, released: Handout) -> list[str]:
    """Return the exercises whose cells differ from the released ones, or whose names another written cell defines."""
    stubs = {released.grade_id(i): released.source(i) for i in released.editable}
    changed = {name: source for name, source in submission.answers.items() if source != stubs[name]}
    own = [cell.source for cell in submission.own if cell.kind == "code"]
    defined = defined_names(Cell("", source) for source in (*changed.values(), *own))
    return [name for name in released.functions if name in changed or name in defined]
