"""Say what Gradescope shows about a report, as its results.json."""

from collections.abc import Iterator
from typing import Any

from autograder.course.handout import Handout, check_cell
from autograder.grading.report import Report
from autograder.scores.marks import Marks, rounded
from autograder.scores.voids import Voids
from check.messages import as_text
from check.scoring import Result
from check.weights_file import WEIGHTS
from check.words import count

# Every file gets the same hidden runs or words, or nearly. If students saw these points at once, they could
# hand in again until the answers fit.
SAME_FOR_ALL = frozenset({"diagnose_log", "predicted_ablations", "predicted_tests", WEIGHTS})


def results(report: Report, released: Handout, voids: Voids) -> dict[str, Any]:
    """Return the content of results.json: one test for each exercise, which explains it, and one for each aspect."""
    tests = [test for number, result in enumerate(report.results, 1) for test in _tests(number, result, voids)]
    return {
        "score": rounded(Marks.graded(report, voids).raw),
        "execution_time": report.seconds,
        "output": "\n\n".join(filter(None, [report.trouble, *report.notes])),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": [*tests, *(_by_hand(name, points) for name, points in texts(released).items())],
    }


def texts(released: Handout) -> dict[str, float]:
    """Return name -> points of the texts that only people grade."""
    points = {released.grade_id(position): released.points(position) for position in released.editable}
    return {name: of_text for name, of_text in points.items() if of_text is not None}


def _tests(number: int, result: Result, voids: Voids) -> Iterator[dict[str, Any]]:
    cell = check_cell(result.function)
    if cell in voids.cells:
        points = voids.points(cell, result.points)
        scores = {"score": points, "max_score": points} if points else {}
        yield {**_test(str(number), result.function, True, voids.sentence(cell)), **scores}
        return
    visible = {"visibility": "after_due_date" if result.function in SAME_FOR_ALL else "visible"}
    yield {**_test(str(number), result.function, result.passed, as_text(result)), **visible}
    for part, aspect in enumerate(result.aspects, 1):
        passed = "" if result.function == WEIGHTS else f"{aspect.passed} of {count(aspect.total, 'case')} pass."
        test = _test(f"{number}.{part}", aspect.name, aspect.holds, passed)
        yield {**test, "score": rounded(aspect.earned), "max_score": aspect.points, **visible}


def _test(number: str, name: str, passed: bool, output: str) -> dict[str, Any]:
    """Return a test without points."""
    return {"number": number, "name": name, "status": "passed" if passed else "failed", "output": output}


def _by_hand(name: str, points: float) -> dict[str, Any]:
    return {"name": name, "output": f"Your instructor grades this text: {points:g} points, not included above."}
