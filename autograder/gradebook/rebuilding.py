"""Build the notebook that instructors grade: the released one, with the student's work and our verdicts.

It takes only the text of cells from the student's notebook, and none of its ids, tags, metadata or outputs. The
chapter's own text and demonstrations are left out.
"""

import copy
import json
from typing import Any

import msgspec
import nbformat
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbformat.v4.rwbase import split_lines, strip_transient

from autograder.course.handout import Handout
from autograder.grading.cells_to_run import judged_in_another_cell
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
    elsewhere = judged_in_another_cell(submission, released)
    for position in range(len(released.cells)):
        if position + 1 in released.editable and released.kind(position) == "markdown":
            notebook.cells.append(_introduction(position, released))
        if position in graded:
            notebook.cells.append(_graded_cell(position, submission, report, released))
        if position in released.editable and released.grade_id(position) in elsewhere:
            notebook.cells[-1].metadata["judged"] = elsewhere[released.grade_id(position)]
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
        if check == position and not report.trouble:
            cell.outputs = [_verdict(report.result(function))]
    return cell


def _verdict(result: Result) -> NotebookNode:
    """Return the output of a check. nbformat's `new_output` also validates it, which takes longer than all the rest.

    It does not go to stderr, because formgrader would show it as an error.
    """
    data = {"text/html": as_html(result), "text/plain": as_text(result)}
    return nbformat.from_dict({"output_type": "display_data", "data": data, "metadata": {}})
