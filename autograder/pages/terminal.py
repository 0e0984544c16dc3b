"""Show how a class did as plain text tables."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

from tabulate import tabulate

from autograder.gradebook.marks import Marks
from autograder.gradebook.rows import StudentRow
from check.words import count, shown


def class_table(rows: Sequence[StudentRow], marks: Mapping[str, Marks]) -> str:
    """Return a line for each student with a column for each exercise, and below it the students worth a look.

    marks: student -> the scores in the gradebook. A student without marks gets the scores of the report.
    """
    first = rows[0].report
    exercises = [f"{result.function}\n({result.points:g})" for result in first.results]
    heads = ["student", *exercises, f"total\n({first.points:g})"]
    marks_shown = {row.student: marks.get(row.student) or Marks.graded(row.report) for row in rows}
    lines = [_line(row, marks_shown[row.student]) for row in rows]
    parts = [tabulate(lines, headers=heads, floatfmt="g", disable_numparse=[0])]
    differences = {row.student: "; ".join(marks_shown[row.student].differences(row.report)) for row in rows}
    parts += _section("The gradebook differs from what grading computed:", differences)
    parts += _section("Could not be graded, so the score is 0:", {row.student: row.report.trouble for row in rows})
    parts += _section("Worth a look:", {row.student: " ".join(row.report.notes) for row in rows})
    return "\n\n".join(parts)


def chapter_table(chapters: Mapping[str, Sequence[StudentRow]]) -> str:
    """Return a line for each chapter: its submissions, their mean score, the known mistake that most students made."""
    lines = [
        [
            chapter,
            len(rows),
            fmean(row.report.earned for row in rows),
            rows[0].report.points,
            _most_frequent_mistake(rows),
        ]
        for chapter, rows in chapters.items()
    ]
    heads = ["chapter", "submissions", "mean", "of", "most frequent mistake"]
    return tabulate(lines, headers=heads, floatfmt=("", "", ".1f", "g", ""), disable_numparse=[0, 4])


def _most_frequent_mistake(rows: Sequence[StudentRow]) -> str:
    results = [result for row in rows for result in row.report.results]
    students = Counter((result.function, result.mistake.name) for result in results if result.mistake)
    return ", ".join(f"{function} {name} ({number})" for (function, name), number in students.most_common(1))


def _line(row: StudentRow, marks: Marks) -> list[str | float | None]:
    cells = (marks.cells.get(f"check-{result.function}") for result in row.report.results)
    return [shown(row.student), *(mark.score if mark else None for mark in cells), marks.total]


def summary(rows: Sequence[StudentRow]) -> str:
    """Return how many submissions were graded, reports reused and scores written, and why they were written."""
    reused, written = sum(row.reused for row in rows), sum(row.written for row in rows)
    lines = [f"{len(rows) - reused} graded, {count(reused, 'report')} reused, {written} written to the gradebook."]
    reasons = Counter(row.why for row in rows if row.why)
    lines += [f"  {number} written: {why}" for why, number in reasons.most_common()]
    return "\n".join(lines)


def score_changes(rows: Sequence[StudentRow]) -> str:
    """Return which scores would change if these rows were written, from what to what, and why."""
    lines = [
        [shown(row.student), result.function, "none" if before is None else f"{before:g}", result.earned, row.why]
        for row in rows
        for result in row.report.results
        if (before := row.before.get(result.function)) != result.earned
    ]
    unchanged = sum(
        all(row.before.get(result.function) == result.earned for result in row.report.results) for row in rows
    )
    heads = ["student", "exercise", "score", "would be", "why"]
    table = [tabulate(lines, headers=heads, floatfmt="g", disable_numparse=[0, 1])] if lines else []
    changed = count(len(rows) - unchanged, "student")
    totals = f"{changed} would get a different score, {unchanged} the same. Nothing was written."
    return "\n\n".join([*table, totals])


def _section(heading: str, sentences: Mapping[str, str]) -> list[str]:
    """Return a heading with a line for each student who has a sentence; nothing if no student has one."""
    lines = [f"  {shown(student)}: {shown(sentence, 2000)}" for student, sentence in sentences.items() if sentence]
    return ["\n".join([heading, *lines])] if lines else []
