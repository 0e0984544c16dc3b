"""Plain text tables of how a class came out."""

from collections import Counter
from collections.abc import Sequence

from tabulate import tabulate

from autograder.check.words import count
from autograder.gradebook.rows import StudentRow


def of_class(rows: Sequence[StudentRow]) -> str:
    """One line for each student, one column for each exercise, and below it whom to look at."""
    first = rows[0].report
    exercises = [f"{result.function}\n({result.points:g})" for result in first.results]
    heads = ["student", *exercises, f"total\n({first.points:g})"]
    lines = [[row.student, *(result.earned for result in row.report.results), row.report.earned] for row in rows]
    parts = [tabulate(lines, headers=heads, floatfmt="g", disable_numparse=[0])]
    parts += _named("Could not be graded, and score 0:", {row.student: row.report.trouble for row in rows})
    parts += _named("Worth a look:", {row.student: " ".join(row.report.notes) for row in rows})
    return "\n\n".join(parts)


def summary(rows: Sequence[StudentRow]) -> str:
    """What was graded, what was reused and what was written, and why."""
    reused, written = sum(row.reused for row in rows), sum(row.written for row in rows)
    lines = [f"{len(rows) - reused} graded, {count(reused, 'report')} reused, {written} written to the gradebook."]
    lines += [f"  {number} written: {why}" for why, number in Counter(r.why for r in rows if r.why).most_common()]
    return "\n".join(lines)


def of_changes(rows: Sequence[StudentRow]) -> str:
    """Whose scores would change if these rows were written, from what to what, and why."""
    lines = [
        [row.student, result.function, "none" if before is None else f"{before:g}", result.earned, row.why]
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
    lines = [f"  {student}: {said}" for student, said in words.items() if said]
    return ["\n".join([heading, *lines])] if lines else []
