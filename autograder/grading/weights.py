"""Grade handed-in weights: decode withheld words with the book's code in a sandbox, and compare the error rate.

No code of the student's runs here. The numbers are untrusted, and the book's decoding computes with them, so it gets a
sandbox of its own.
"""

import math
from collections.abc import Callable

import numpy as np

from autograder.authoring.hand_in import HandIn
from autograder.grading.audit import correlation, is_in_matrix
from autograder.grading.reading import Submission
from autograder.sandbox import Call, Cell, Run
from check.calling import Outcome
from check.faults import Verdict
from check.handing_in import in_words
from check.scoring import Aspect, Result
from check.weights_file import WEIGHTS, UnusableWeights, unpack
from check.words import listed

Decode = Callable[[list[Cell], list[Call]], Run]
BOOKS_OWN = "These are the book's own weights, or nearly. No other seed can have made them: train a model of your own."
NOT_READ = "The weights were not read, because the submission could not be read."


def grade_weights(submission: Submission, seed: int, hand_in: HandIn, decode: Decode) -> tuple[Result, list[str]]:
    """Return the result of handed-in weights, and the sandbox's notes.

    Args:
        submission: holds the file of weights, or says why there is none.
        seed: chooses the withheld words. It is the same for all students of a course.
        hand_in: what the chapter asks for.
        decode: runs cells and calls their functions in a sandbox.
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
    matrices = is_in_matrix(hand_in.expected)
    if correlation(vector[matrices], hand_in.book()[matrices]) >= hand_in.copy:
        return _result(hand_in, Verdict(False, "unusable", BOOKS_OWN)), []
    rows, right = hand_in.withheld(seed)
    asked = rows, hand_in.encoded(hand_in.examples)
    calls = [Call("transcribed", {"weights": vector, "rows": some}) for some in asked]
    run = decode([Cell("decoder", hand_in.decoder)], calls)
    written, examples = run.outcomes
    if not (_is_written(written, len(rows)) and _is_written(examples, len(hand_in.examples))):
        reason = written.stopped or examples.stopped or "could not be used to decode words"
        return _result(hand_in, Verdict(False, "unusable", f"The weights {reason}.")), run.notes
    rate = hand_in.error_rate(written.value, right)
    spoken = [hand_in.spelled(row) or "nothing" for row in examples.value]
    findings = (
        f"{rate:.1%} of the sounds of {len(rows):,} withheld words are wrong.",
        f"The model says {listed(map(': '.join, zip(hand_in.examples, spoken, strict=True)))}.",
        f"The recipe: {in_words(recipe)}.",
    )
    missed = next((tier for tier in hand_in.tiers if rate > tier.limit), None)
    verdict = Verdict(False, "error rate", f"The next points need {missed.name}.") if missed else None
    return _result(hand_in, verdict, rate, findings), run.notes


def _is_written(outcome: Outcome, n_rows: int) -> bool:
    tokens = outcome.value
    return isinstance(tokens, np.ndarray) and tokens.ndim == 2 and len(tokens) == n_rows and tokens.dtype.kind == "i"


def _result(hand_in: HandIn, verdict: Verdict | None, rate: float = math.inf, found: tuple[str, ...] = ()) -> Result:
    aspects = tuple(
        Aspect(tier.name, tier.points, tier.points if rate <= tier.limit else 0.0, int(rate <= tier.limit), 1)
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
