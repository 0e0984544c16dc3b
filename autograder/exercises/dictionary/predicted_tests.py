import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.runs_to_order import UNSEEN
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.dictionary.flaws import FLAWS, MORE_AT_HOME, SHOWN, TESTS, asked, tests_that_find
from check.predictions import NAMES, ORDER
from solutions import dictionary as reference

predicted_tests = Exercise(
    reference.predicted_tests,
    outputs={"found_by": "n 3", "reasons": UNJUDGED, "counts": "2", "sentence": UNJUDGED},
    section="What the loss does not show",
    measure=ORDER,
    unseen=UNSEEN,
)
wrong = short_mistakes(predicted_tests)


def case(draw, names):
    names = [names[i] for i in draw.rng.permutation(len(names))]
    made = np.array([tests_that_find(name) for name in names])
    return {"programs": asked(names), "made": made, "moved": np.zeros(0), "asks": [NAMES, *TESTS]}


@predicted_tests.cases("the six of the chapter", points=1)
def _(draw):
    yield "six programs", case(draw, SHOWN)


@predicted_tests.cases("all programs", points=3)
def _(draw):
    everything = [name for names in FLAWS.values() for name in names]
    yield "all programs", case(draw, (*SHOWN, *MORE_AT_HOME) if draw.at_home else everything)


def expecting(change):
    """Return a prediction that changes the right tests of a program. change: from (program, tests) to other tests."""

    def predict(programs):
        return [
            change(program, tests) for program, tests in zip(programs, reference.predicted_tests(programs), strict=True)
        ]

    return predict


def with_one(test, *, where):
    """Return a prediction that adds a test to those of some programs. where: takes their tests."""
    return expecting(lambda program, tests: sorted({*tests, test}) if where(tests) else tests)


wrong("slope_sees_all", with_one("slope", where=lambda tests: "reference" in tests))("""
    expects that the slope shows a consistent mistake
    You expect "slope" where forward and backward pass fit each other. Then the gradient *is* the slope, of a function
    that you did not want. Only something from outside, such as a reference, can say that.""")
wrong("reference_sees_all", with_one("reference", where=lambda tests: "slope" in tests))("""
    expects that a reference shows a wrong gradient
    You expect "reference" where only the backward pass is wrong. The comparison reads the logits of a forward pass, and
    those are right.""")
wrong("mask_by_slope", with_one("slope", where=lambda tests: "later token" in tests))("""
    expects that the slope shows a leak
    You expect that the slope finds a wrong mask, because only the forward pass differs. The backward pass has no mask
    of its own: it reads the weights from the cache, so it fits whatever the forward pass did.""")
wrong("later_forgotten", expecting(lambda program, tests: [test for test in tests if test != "later token"]))("""
    does not expect anything of a later token
    You never expect "later token". A row that sees a later token moves when this token changes. This needs no
    reference, and it finds every leak.""")
wrong("later_for_all", with_one("later token", where=lambda tests: "reference" in tests))("""
    expects that a later token shows every change of the output
    You expect "later token" wherever the forward pass is wrong. This test compares the program with itself: do earlier
    rows move when a later token changes? As long as the mask is right, they do not, however wrong they are.""")


@predicted_tests.mistake("expects that the slope shows a wrong optimiser")
def optimiser_by_slope(programs):
    """You expect that a slope shows a wrong step of the optimiser. None of the three tests makes a step. Compare one
    step with a reference, too."""
    return expecting(lambda program, tests: ["slope"] if program["changes"] == "optimiser" else tests)(programs)


@predicted_tests.mistake("expects that the slope shows a wrong loss")
def loss_by_slope(programs):
    """You expect that a slope shows a wrong loss. Loss and gradient change together, so the gradient is the slope of
    the wrong loss."""
    return expecting(lambda program, tests: ["slope"] if program["changes"] == "loss" else tests)(programs)


@predicted_tests.mistake("expects that a reference shows a wrong loss")
def loss_by_reference(programs):
    """You expect that a reference shows a wrong loss. It compares the logits, from which the loss is computed later."""
    return expecting(lambda program, tests: ["reference"] if program["changes"] == "loss" else tests)(programs)


wrong(
    "forward_by_reference_alone",
    expecting(lambda program, tests: [test for test in tests if test != "slope"] if "reference" in tests else tests),
)("""
    forgets that a changed forward pass has another slope
    You expect "reference" alone where the forward pass changes and the backward pass does not. Then the gradient is the
    slope of the right function, and not that of this one. So the slope finds it, too.""")
wrong("consistent_unseen", expecting(lambda program, tests: [] if program["changes"] == "both" else tests))("""
    expects that nothing shows a consistent mistake
    You expect that no test finds a mistake which forward and backward pass share. The slope does not, but the logits
    differ from those of a reference.""")


@predicted_tests.mistake("expects that a reference shows where positions begin")
def positions_by_reference(programs):
    """You expect that a reference shows positions that begin elsewhere. If all positions are larger by the same number,
    all distances are as before, and so are all products of turned queries and keys."""
    return expecting(lambda program, tests: ["reference"] if "positions" in program["flaw"] else tests)(programs)


wrong("all_find_all", lambda programs: [list(TESTS) for _ in programs])("""
    expects everything of every test
    You expect that each test finds every program. Each of the three is blind to some mistakes: ask what it compares
    with what.""")


@predicted_tests.mistake("looks only where the code differs")
def by_place_alone(programs):
    """You predict only from the place of the change. Two kinds of programs need a second look: the backward pass reads
    the weights from the cache, so it fits a forward pass with another mask; and some changes leave every output as it
    is."""
    by_place = {"forward": ["slope", "reference"], "backward": ["slope"], "both": ["reference"]}
    return [by_place.get(program["changes"], []) for program in programs]


@predicted_tests.equivalent
def by_questions(programs):
    """Ask three questions about each program."""
    answers = []
    for program in programs:
        where, flaw = program["changes"], program["flaw"]
        leaks = flaw in ("has no mask", "sees the next token")
        moves_logits = where in ("forward", "both") and flaw != "counts positions from 1,000"
        fits = where in ("both", "loss", "optimiser") or leaks
        found = {"later token": leaks, "reference": moves_logits, "slope": not fits}
        answers.append(tuple(name for name, is_found in found.items() if is_found))
    return answers
