"""Add up a score from computed points, points given by hand, void exercises and the penalty for late work.

Nothing else adds up a score, so a dry run, the best attempt, an export and the gradebook agree.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from autograder.grading.report import Report
from autograder.scores.late import LateRules
from autograder.scores.marks import Mark, Marks
from autograder.scores.voids import Voids

Penalty = Callable[[float, float], float | None]


def counted(
    report: Report,
    by_hand: Mapping[str, Mark],
    rules: LateRules,
    voids: Voids,
    seconds_late: float,
    *,
    texts: Mapping[str, float],
    penalty: Penalty,
) -> Marks:
    """Return a student's marks with new computed scores and a new penalty. Points given by hand stay.

    Args:
        by_hand: cell -> the mark so far. The computed score of an exercise in it does not count.
        texts: cell -> points of the texts that only people grade, which are in no report.
        penalty: (score, seconds late) -> points to take off, where `rules` has no steps.
    """
    void_texts = {cell: points for cell, points in texts.items() if cell in voids.cells}
    cells = {cell: Mark(voids.points(cell, points), None, None) for cell, points in void_texts.items()} | dict(by_hand)
    computed = voids.scores(report) | {cell: voids.points(cell, points) for cell, points in void_texts.items()}
    cells |= {cell: replace(cells.get(cell, Mark(None, None, None)), auto=score) for cell, score in computed.items()}
    return with_penalty(Marks(cells), rules, seconds_late, penalty)


def with_penalty(marks: Marks, rules: LateRules, seconds_late: float, penalty: Penalty) -> Marks:
    """Return the marks with the penalty for work this late, which is never more than its score."""
    if seconds_late <= 0:
        return replace(marks, penalty=0.0)
    raw = marks.raw
    lost = raw * (1 - rules.share(seconds_late)) if rules.steps else penalty(raw, seconds_late)
    return replace(marks, penalty=min(max(lost or 0.0, 0.0), raw))
