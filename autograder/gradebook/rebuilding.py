"""The notebook nbgrader goes on with: the released one, with the student's work and our verdicts in it.

Nothing of the student's notebook gets in but the text of cells, so duplicated ids, tags, metadata and outputs
are gone by construction. The chapter's own text and demonstrations stay out: what is left is what one grades.
"""

import nbformat
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder.course.handout import Handout
from autograder.grading.reading import Submission
from autograder.grading.report import Report
from check.render import as_html, as_text


def rebuild(submission: Submission, report: Report, released: Handout) -> NotebookNode:
    """Exercises with the cell that introduces each, checks with their verdicts, and the student's own cells."""
    notebook = new_notebook(
        metadata={
            "kernelspec": released.notebook["metadata"]["kernelspec"],
            # The one for IPython, which is what nbconvert takes otherwise, needs a minute for "a.a.a." without end.
            "language_info": {"name": "python", "pygments_lexer": "python"},
            "title": released.heading,
            "autograder": {"report": report.digest, "recorded": False, **_for_feedback(report)},
        }
    )
    notebook.cells = [*_noticed(report), *_own(submission, -1)]
    graded = (*released.editable, *released.functions.values())
    for position in range(len(released.cells)):
        if position + 1 in released.editable and released.kind(position) == "markdown":
            notebook.cells.append(_introduction(position, released))
        if position in graded:
            notebook.cells.append(_cell(position, submission, report, released))
        notebook.cells += _own(submission, position)
    return notebook


def _for_feedback(report):
    """What the feedback page says besides the cells."""
    return {"trouble": report.trouble, "notes": report.notes, "results": report.to_json()["results"]}


def _noticed(report):
    """A cell that tells what was odd about the submission, if anything was."""
    if report.trouble:
        text = f"## This submission could not be graded\n\n{report.trouble}"
    elif report.notes:
        text = "\n".join(["## What the grader noticed", "", *(f"- {note}" for note in report.notes)])
    else:
        return []
    return [new_markdown_cell(text, id="noticed")]


def _own(submission, position):
    make = {"code": new_code_cell, "markdown": new_markdown_cell}
    own = enumerate(submission.own)
    return [make[cell.kind](cell.source, id=f"own-{n}") for n, cell in own if cell.after == position]


def _introduction(position, released):
    """What stands before an exercise, from its last heading on: the exercise's card."""
    cell = nbformat.from_dict(released.cells[position])
    source = "\n" + released.source(position)
    cell.source = source[max(source.rfind("\n#"), 0) :].strip()
    return cell


def _cell(position, submission, report, released):
    cell = nbformat.from_dict(released.cells[position])
    cell.source = submission.answers.get(released.grade_id(position), released.source(position))
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    for function, check in released.functions.items():
        if check == position:
            cell.outputs = _outputs(report.result(function), report)
    return cell


def _outputs(result, report):
    """The verdict, and the score in the form nbgrader reads: the value of the cell. Never stderr, which means zero."""
    shown = {} if report.trouble else {"text/html": as_html(result), "text/plain": as_text(result)}
    outputs = [new_output("display_data", shown)] if shown else []
    score = min(result.earned, result.points)
    return [*outputs, new_output("execute_result", {"text/plain": repr(float(score))}, execution_count=1)]
