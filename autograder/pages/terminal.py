"""Show how a class did as plain text tables."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from types import MappingProxyType

from tabulate import tabulate

from autograder.course.handout import check_cell, exercise_of
from autograder.gradebook.forecast import Forecast
from autograder.gradebook.score_log import LATE
from autograder.scores.marks import Marks
from autograder.scores.rows import StudentRow
from autograder.scores.voids import Voids
from check.scoring import Result
from check.words import count, listed, shown


def class_table(
    rows: Sequence[StudentRow],
    marks: Mapping[str, Marks],
    names: Mapping[str, str] = MappingProxyType({}),
    absent: Sequence[str] = (),
) -> str:
    """Return a line for each student with a column for each exercise, and below it the students worth a look.

    Args:
        marks: student -> the scores in the gradebook. A student without marks gets the scores of the report.
        names: student -> name; without any, the table has no column for names.
        absent: enrolled students without a submission in the course.
    """
    first, voids = rows[0].report, rows[0].voids
    exercises = [f"{result.function}\n({_points(result, voids)})" for result in first.results]
    marks_shown = {row.student: marks.get(row.student) or Marks.graded(row.report, voids) for row in rows}
    checks = [check_cell(result.function) for result in first.results]
    by_hand = sorted({cell for of_student in marks_shown.values() for cell in of_student.cells}.difference(checks))
    total = "total\n(with by hand)" if by_hand else f"total\n({rows[0].points:g})"
    heads = ["student", *(["name"] if names else []), *exercises, *(f"{cell}\n(by hand)" for cell in by_hand), total]
    table = []
    for row in rows:
        name = [shown(names.get(row.student, ""))] if names else []
        table.append([shown(row.student), *name, *_scores(marks_shown[row.student], [*checks, *by_hand], voids)])
    parts = [tabulate(table, headers=heads, floatfmt="g", disable_numparse=[0, 1] if names else [0])]

    differences = {
        row.student: "; ".join(replace(marks_shown[row.student], penalty=0.0).differences(row.report, voids))
        for row in rows
    }
    parts += ["\n".join(voids.sentences)] if voids.sentences else []
    sections = {
        "Several attempts:": {row.student: row.about_attempts for row in rows},
        "The gradebook differs from what grading computed:": differences,
        "Could not be graded, so the score is 0:": {row.student: row.report.trouble for row in rows},
        "Worth a look:": {row.student: " ".join(row.report.notes) for row in rows},
    }
    for heading, sentences in sections.items():
        about = [(_with_name(student, names), sentence) for student, sentence in sentences.items() if sentence]
        lines = [f"  {shown(student)}: {shown(sentence, 300)}" for student, sentence in about]
        parts += ["\n".join([heading, *lines])] if lines else []
    if late := _late(marks_shown):
        parts.append("\n".join(["Points taken off for late work:", *late]))
    if absent:
        students = (f"  {shown(_with_name(one, names))}" for one in absent)
        parts.append("\n".join(["No submission in the course:", *students]))
    return "\n\n".join(parts)


def _late(marks: Mapping[str, Marks]) -> list[str]:
    """Return a line for each share of the score that late work lost, because there may be many late students."""
    students: dict[str, list[str]] = {}
    for student, of_student in marks.items():
        if of_student.penalty:
            students.setdefault(f"{of_student.lost:.0%}", []).append(shown(student))
    return [f"  {share} from {count(len(ids), 'student')}: {listed(ids)}" for share, ids in students.items()]


def _points(result: Result, voids: Voids) -> str:
    """Return an exercise's points in the maximum, for the heading of its column."""
    cell = check_cell(result.function)
    points = voids.points(cell, result.points)
    kind = ["optional" if cell in voids.optional else "void"] if cell in voids.cells else []
    return ", ".join([*([f"{points:g}"] if points else []), *kind])


def _with_name(student: str, names: Mapping[str, str]) -> str:
    return f"{student} {names[student]}" if names.get(student) else student


def chapter_table(chapters: Mapping[str, Sequence[StudentRow]]) -> str:
    """Return a line for each chapter: its submissions, their mean computed score, and the most frequent mistake."""
    lines = [
        [
            chapter,
            len(rows),
            fmean(row.earned for row in rows),
            rows[0].points,
            _most_frequent_mistake(rows),
        ]
        for chapter, rows in chapters.items()
    ]
    heads = ["chapter", "submissions", "mean computed score", "of", "most frequent mistake"]
    return tabulate(lines, headers=heads, floatfmt=("", "", ".1f", "g", ""), disable_numparse=[0, 4])


def _most_frequent_mistake(rows: Sequence[StudentRow]) -> str:
    results = [result for row in rows for result in row.report.results]
    students = Counter((result.function, result.mistake.name) for result in results if result.mistake)
    return ", ".join(f"{function} {name} ({number})" for (function, name), number in students.most_common(1))


def _scores(marks: Marks, names: Iterable[str], voids: Voids) -> list[float | None]:
    """Return a score for each cell, and the total. An optional cell has none, unless points were given by hand."""
    cells = {name: marks.cells.get(name) for name in names}
    scores = [mark.score if mark and mark.is_graded else None for mark in cells.values()]
    shown = [score if score or name not in voids.optional else None for name, score in zip(cells, scores, strict=True)]
    return [*shown, marks.total]


def summary(rows: Sequence[StudentRow]) -> str:
    """Return how many submissions were graded, reports reused and scores written, and why they were written."""
    reused, written = sum(row.reused for row in rows), sum(row.written for row in rows)
    lines = [f"{len(rows) - reused} graded, {count(reused, 'report')} reused, {written} written to the gradebook."]
    reasons = Counter(row.why for row in rows if row.why)
    lines += [f"  {number} written: {why}" for why, number in reasons.most_common()]
    return "\n".join(lines)


def score_changes(forecasts: Sequence[Forecast], voids: Voids) -> str:
    """Return the scores that would change: before, after and why, for each changed part and then for the total.

    voids: the void exercises, which the scores and the maximum already take into account.
    """
    lines = [line for forecast in forecasts if forecast.changes for line in _change(forecast)]
    heads = ["student", "exercise", "score", "would be", "why"]
    table = [tabulate(lines, headers=heads, disable_numparse=True)] if lines else []
    n_changed = sum(forecast.changes for forecast in forecasts)
    changed = count(n_changed, "student")
    totals = f"{changed} would get a different score, {len(forecasts) - n_changed} the same. Nothing was written."
    return "\n\n".join([*table, *(["\n".join(voids.sentences)] if voids.sentences else []), totals])


def _change(forecast: Forecast) -> Iterator[list[str]]:
    before, after = forecast.before or Marks(), forecast.after
    for cell in {**before.cells, **after.cells}:
        scores = [None if mark is None else mark.score for mark in (before.cells.get(cell), after.cells.get(cell))]
        if scores[0] != scores[1]:
            exercise = exercise_of(cell)
            yield [
                shown(forecast.student),
                exercise,
                *("none" if s is None else f"{s:g}" for s in scores),
                forecast.why,
            ]
    if before.penalty != after.penalty:
        yield [shown(forecast.student), LATE, f"{-before.penalty or 0:g}", f"{-after.penalty or 0:g}", forecast.why]
    total = f"{before.total:g} of {forecast.points_before:g}" if forecast.before else "none"
    yield [shown(forecast.student), "total", total, f"{after.total:g} of {forecast.points:g}", ""]
