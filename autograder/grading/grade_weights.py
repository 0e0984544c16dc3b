"""Grade handed-in weights: measure them on withheld words with the book's code in a sandbox, and award points.

No student code runs here. But the book's model decodes with untrusted numbers, so it runs in a sandbox of its own.
Outside, the numbers only pass once through its layers, which takes equally long for all numbers.
"""

import math
from collections.abc import Callable

import numpy as np

from autograder.authoring.hand_in import HandIn
from autograder.grading.audit import hidden_columns, likeness
from autograder.grading.reading import Submission
from autograder.sandbox import Call, Cell, RunResult
from check.calling import Outcome
from check.faults import Verdict
from check.handing_in import in_words
from check.scoring import Aspect, Result
from check.weights_file import WEIGHTS, UnusableWeights, unpack
from check.words import listed

Run = Callable[[list[Cell], list[Call]], RunResult]
BOOKS_OWN = "These are the book's own weights, or nearly. No other seed can have made them: train a model of your own."
NOT_READ = "The weights were not read, because the submission could not be read."


def grade_weights(submission: Submission, seed: int, hand_in: HandIn, run: Run) -> tuple[Result, list[str]]:
    """Return the result of handed-in weights, and the sandbox's notes.

    Args:
        submission: has the file of weights, or says why there is none.
        seed: chooses the withheld words. All students of a course have the same seed.
        hand_in: what the chapter asks for.
        run: runs cells and calls their functions in a sandbox.
    """
    file = submission.weights
    if submission.trouble:
        return _result(hand_in, Verdict(False, "unusable", NOT_READ)), []
    if file.trouble:
        return _result(hand_in, Verdict(False, "unusable", file.trouble)), []
    try:
        vector, recipe = unpack(file.raw, hand_in.expected)
    except UnusableWeights as error:
        return _result(hand_in, Verdict(False, "unusable", str(error))), []
    rows, right = hand_in.withheld(seed)
    if likeness(*(hidden_columns(each, hand_in, rows) for each in (vector, hand_in.book()))) >= hand_in.copy:
        return _result(hand_in, Verdict(False, "unusable", BOOKS_OWN)), []
    asked = {"measured": rows, "written": hand_in.encoded(hand_in.examples)}
    calls = [Call(function, {"weights": vector, "rows": some}) for function, some in asked.items()]
    ran = run([Cell("model", hand_in.model)], calls)
    measured, written = ran.outcomes
    figure = math.nan
    if _has_rows(measured, len(rows), "if") and _has_rows(written, len(hand_in.examples), "i"):
        figure = hand_in.figure(measured.value, right)
    if math.isnan(figure):
        reason = measured.stopped or written.stopped or "could not be used by the book's model"
        return _result(hand_in, Verdict(False, "unusable", f"The weights {reason}.")), ran.notes
    texts = [hand_in.spelled(row) or "nothing" for row in written.value]
    findings = (
        hand_in.sentence.format(figure=figure, n=len(rows)),
        f"The model says {listed(map(': '.join, zip(hand_in.examples, texts, strict=True)))}.",
        f"The recipe: {in_words(recipe)}.",
    )
    missed = next((tier for tier in hand_in.tiers if figure > tier.limit), None)
    verdict = Verdict(False, "error rate", f"The next points need {missed.name}.") if missed else None
    return _result(hand_in, verdict, figure, findings), ran.notes


def _has_rows(outcome: Outcome, n_rows: int, kinds: str) -> bool:
    value = outcome.value
    return isinstance(value, np.ndarray) and value.ndim == 2 and len(value) == n_rows and value.dtype.kind in kinds


def _result(hand_in: HandIn, verdict: Verdict | None, figure: float = math.inf, found: tuple[str, ...] = ()) -> Result:
    aspects = tuple(
        Aspect(tier.name, tier.points, tier.points if figure <= tier.limit else 0.0, int(figure <= tier.limit), 1)
        for tier in hand_in.tiers
    )
    return Result(
        function=WEIGHTS,
        earned=sum(aspect.earned for aspect in aspects),
        points=hand_in.points,
        aspects=aspects,
        verdict=verdict,
        case="",
        mistakes=(),
        section=hand_in.section,
        found=found,
    )
