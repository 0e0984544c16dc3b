"""Build the notebook that nbgrader goes on with: the released one, with the student's work and our verdicts in it.

Only the text of cells is taken from the student's notebook, so no duplicated id, tag, metadata or output of theirs can
get in. The chapter's own text and demonstrations are left out, and what remains is what an instructor grades.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import nbformat
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbformat.v4.rwbase import split_lines, strip_transient

from autograder.course.handout import Handout
from autograder.grading.reading import Submission
from autograder.grading.report import Report
from check.messages import as_html, as_text
from check.scoring import Result


def rebuild(submission: Submission, report: Report, released: Handout) -> NotebookNode:
    """Return a notebook of exercises with introductions, checks with verdicts, and the student's own cells."""
    notebook = new_notebook(
        metadata={
            "kernelspec": released.notebook["metadata"]["kernelspec"],
            # By default nbconvert takes the lexer for IPython, which needs a minute for a very long "a.a.a.".
            "language_info": {"name": "python", "pygments_lexer": "python"},
            "title": released.heading,
            "autograder": {"report": report.digest, "recorded": False, **_for_feedback(report)},
        }
    )
    notebook.cells = [*_notes_cell(report), *_own_cells(submission, -1)]
    graded = (*released.editable, *released.graded.values())
    for position in range(len(released.cells)):
        if position + 1 in released.editable and released.kind(position) == "markdown":
            notebook.cells.append(_introduction(position, released))
        if position in graded:
            notebook.cells.append(_graded_cell(position, submission, report, released))
        notebook.cells += _own_cells(submission, position)
    return notebook


def notebook_text(notebook: NotebookNode) -> str:
    """Return what nbformat.writes returns. That takes twice as long, and validates what `rebuild` has made."""
    on_disk = strip_transient(split_lines(copy.deepcopy(notebook)))
    return msgspec.json.format(json.dumps(on_disk, ensure_ascii=False, sort_keys=True), indent=1)


def _for_feedback(report: Report) -> dict[str, Any]:
    """Return what the feedback page shows besides the cells."""
    return {"trouble": report.trouble, "notes": report.notes, "results": report.to_json()["results"]}


def _notes_cell(report: Report) -> list[NotebookNode]:
    """Return a cell with the problems and the notes of the report; no cell if it has none."""
    if report.trouble:
        text = f"## This submission could not be graded\n\n{report.trouble}"
    elif report.notes:
        text = "\n".join(["## What the grader noticed", "", *(f"- {note}" for note in report.notes)])
    else:
        return []
    return [new_markdown_cell(text, id="noticed")]


def _own_cells(submission: Submission, position: int) -> list[NotebookNode]:
    make = {"code": new_code_cell, "markdown": new_markdown_cell}
    own = enumerate(submission.own)
    return [make[cell.kind](cell.source, id=f"own-{n}") for n, cell in own if cell.after == position]


def _introduction(position: int, released: Handout) -> NotebookNode:
    """Return the cell before an exercise, from its last heading on: the exercise's card."""
    cell = nbformat.from_dict(released.cells[position])
    source = "\n" + released.source(position)
    cell.source = source[max(source.rfind("\n#"), 0) :].strip()
    return cell


def _graded_cell(position: int, submission: Submission, report: Report, released: Handout) -> NotebookNode:
    cell = nbformat.from_dict(released.cells[position])
    cell.source = submission.answers.get(released.grade_id(position), released.source(position))
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    for function, check in released.graded.items():
        if check == position:
            cell.outputs = list(_outputs(report.result(function), report))
    return cell


def _outputs(result: Result, report: Report) -> Iterator[NotebookNode]:
    """Yield the verdict, and the score in the form that nbgrader reads: the value of the cell.

    Nothing goes to stderr, because nbgrader gives zero to a cell that writes there.
    """
    if not report.trouble:
        yield _output("display_data", {"text/html": as_html(result), "text/plain": as_text(result)})
    score = min(result.earned, result.points)
    yield _output("execute_result", {"text/plain": repr(float(score))}, execution_count=1)


def _output(kind: str, data: dict[str, str], **others: int) -> NotebookNode:
    """Return an output of a cell. nbformat's `new_output` also validates it, which takes longer than all the rest."""
    return nbformat.from_dict({"output_type": kind, "data": data, "metadata": {}, **others})
