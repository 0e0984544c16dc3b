"""A wrong True, False, word or whole number gets a sentence on which cases are wrong, and in which direction."""

import pytest

from autograder.authoring.exercise import Exercise, find_exercise
from autograder.authoring.make_key import make_key, public_key
from check.calling import Outcome, run
from check.comparing import difference
from check.faults import faults
from check.scoring import grade
from solutions.masking import diagnose_masks, leaks

pytestmark = pytest.mark.autograder


def message_about(exercise, function):
    key = public_key(find_exercise(exercise))
    return grade(key, [run(function, case.inputs) for case in key.cases]).verdict.message


def clears_some(decoder, sequences):
    return leaks(decoder, sequences) and len(sequences[0]) % 2 == 0


def convicts_some(decoder, sequences):
    return leaks(decoder, sequences) or len(sequences[0]) % 2 == 0


@pytest.mark.parametrize(
    ("function", "value", "sentence"),
    [
        (clears_some, "False", "cases in which `leaks` should be True, it is False, and never the other way round."),
        (convicts_some, "True", "cases in which `leaks` should be False, it is True, and never the other way round."),
    ],
)
def test_a_wrong_verdict_says_which_kind_of_case_it_judges_wrongly(function, value, sentence):
    message = message_about("leaks", function)
    assert f"`leaks` has the wrong value, {value}. In " in message
    assert message.endswith(sentence)


def test_wrong_verdicts_of_both_kinds_are_counted_apart():
    message = message_about("leaks", lambda decoder, sequences: leaks(decoder, sequences) == (len(sequences[0]) % 2))
    assert "should be True, it is False, and in" in message and "should be False, it is True." in message


def renamed(old, new):
    def function(weights, tokens, pad):
        bug, first = diagnose_masks(weights, tokens, pad)
        return (new if bug in old else bug), first

    return function


def test_one_name_for_several_bugs_is_said():
    message = message_about("diagnose_masks", renamed(("no padding mask", "mask inverted"), "no causal mask"))
    assert message.endswith(
        "`bug` has the wrong value, 'no causal mask'. Wherever `bug` is wrong, it is 'no causal mask'."
    )


def test_a_name_that_no_case_has_is_not_repeated():
    """Such a name could spell out hidden inputs."""
    message = message_about("diagnose_masks", renamed(("no padding mask", "mask inverted"), "no mask"))
    assert "Wherever" not in message


@pytest.fixture(scope="module")
def counting():
    exercise = Exercise(lambda n: 2 * n, outputs={"count": ""}, section="Counting")
    exercise.reference.__name__ = "count"

    @exercise.cases("numbers", points=1)
    def _(draw):
        yield from ((f"{n}", {"n": n}) for n in (3, 5, 8))

    return make_key(exercise, seed=1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda n: 2 * n + 1, "Wherever `count` is wrong, it is one too large."),
        (lambda n: 2 * n - 1, "Wherever `count` is wrong, it is one too small."),
        (lambda n: n, "Wherever `count` is wrong, it is too small."),
        (lambda n: 2 * n + (1 if n > 3 else -1), ""),
    ],
)
def test_a_number_is_said_to_be_too_large_or_too_small_if_it_always_is(counting, change, sentence):
    message = grade(counting, [run(change, case.inputs) for case in counting.cases]).verdict.message
    assert message.endswith(sentence) if sentence else message == "`count` has the wrong value."


def test_no_label_of_the_students_own_is_quoted_in_a_hidden_case():
    key = public_key(find_exercise("diagnose_masks"))
    expected = next(case.expected for case in key.cases if case.expected.value[0] == "nothing")
    said = next(faults(key, expected, Outcome(value=("the inputs", None), quoted=False)))
    assert said.message == "`bug` has the wrong value."
    assert difference("nothing", "the inputs", "bug").message == "`bug` has the wrong value, 'the inputs'."
