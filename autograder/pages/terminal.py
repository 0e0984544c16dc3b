"""Plain text tables of how a class came out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

from tabulate import tabulate

from autograder.gradebook.marks import Marks
from autograder.gradebook.rows import StudentRow
from check.words import count, shown


def class_table(rows: Sequence[StudentRow], marks: Mapping[str, Marks]) -> str:
    """One line for each student, one column for each exercise, and below it whom to look at.

    marks: student -> what the gradebook says, which is what the table shows; where it has nothing, the report's.
    """
    first = rows[0].report
    exercises = [f"{result.function}\n({result.points:g})" for result in first.results]
    heads = ["student", *exercises, f"total\n({first.points:g})"]
    said = {row.student: marks.get(row.student) or Marks.graded(row.report) for row in rows}
    lines = [_line(row, said[row.student]) for row in rows]
    parts = [tabulate(lines, headers=heads, floatfmt="g", disable_numparse=[0])]
    differs = {row.student: "; ".join(said[row.student].differences(row.report)) for row in rows}
    parts += _named("The gradebook says something else than grading came to:", differs)
    parts += _named("Could not be graded, and score 0:", {row.student: row.report.trouble for row in rows})
    parts += _named("Worth a look:", {row.student: " ".join(row.report.notes) for row in rows})
    return "\n\n".join(parts)


def chapter_table(chapters: Mapping[str, Sequence[StudentRow]]) -> str:
    """Return one line for each chapter: its submissions, their mean score, the known mistake that most of them made."""
    lines = [
        [chapter, len(rows), fmean(row.report.earned for row in rows), rows[0].report.points, _commonest(rows)]
        for chapter, rows in chapters.items()
    ]
    heads = ["chapter", "submissions", "mean", "of", "most frequent mistake"]
    return tabulate(lines, headers=heads, floatfmt=("", "", ".1f", "g", ""), disable_numparse=[0, 4])


def _commonest(rows):
    made = Counter((r.function, r.mistake.name) for row in rows for r in row.report.results if r.mistake)
    return ", ".join(f"{function} {name} ({number})" for (function, name), number in made.most_common(1))


def _line(row, marks):
    cells = (marks.cells.get(f"check-{result.function}") for result in row.report.results)
    return [shown(row.student), *(cell and cell.score for cell in cells), marks.total]


def summary(rows: Sequence[StudentRow]) -> str:
    """What was graded, what was reused and what was written, and why."""
    reused, written = sum(row.reused for row in rows), sum(row.written for row in rows)
    lines = [f"{len(rows) - reused} graded, {count(reused, 'report')} reused, {written} written to the gradebook."]
    lines += [f"  {number} written: {why}" for why, number in Counter(r.why for r in rows if r.why).most_common()]
    return "\n".join(lines)


def score_changes(rows: Sequence[StudentRow]) -> str:
    """Whose scores would change if these rows were written, from what to what, and why."""
    lines = [
        [shown(row.student), result.function, "none" if before is None else f"{before:g}", result.earned, row.why]
        for row in rows
        for result in row.report.results
        if (before := row.before.get(result.function)) != result.earned
    ]
    same = sum(all(row.before.get(r.function) == r.earned for r in row.report.results) for row in rows)
    heads = ["student", "exercise", "score", "would be", "why"]
    changed = [tabulate(lines, headers=heads, floatfmt="g", disable_numparse=[0, 1])] if lines else []
    said = f"{count(len(rows) - same, 'student')} would get another score, {same} the same. Nothing was written."
    return "\n\n".join([*changed, said])


def _named(heading, words):
    lines = [f"  {shown(student)}: {shown(said, 2000)}" for student, said in words.items() if said]
    return ["\n".join([heading, *lines])] if lines else []
