"""The judge names the first fault and known mistakes, and computes the points."""

from dataclasses import replace

import numpy as np
import pytest

from autograder.authoring.exercise import Exercise, find_exercise
from autograder.authoring.make_key import make_key, public_key
from check import comparing
from check.calling import Outcome, run
from check.comparing import difference, precision_difference
from check.key import Mistake, load, save
from check.messages import as_html, as_text, sentence_as_html, without_emphasis
from check.scoring import Result, grade

pytestmark = pytest.mark.autograder


def graded(key, function):
    return grade(key, [run(function, case.inputs) for case in key.cases])


def right(x):
    if x.shape[-1] == 0:
        raise ValueError("nothing to share")
    return x / x.sum(axis=-1, keepdims=True), "a cache of the student's own"


def test_a_right_function_earns_everything(key):
    result = graded(key, right)
    assert result.passed and result.earned == result.points == 4 and result.mistake is None


def spoiled(change):
    def function(x):
        shares, cache = right(x)
        return change(shares, x), cache

    return function


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (lambda x: None, "type", "A `return` is missing"),
        (lambda x: right(x)[0], "type", "a NumPy array, where 2 values are expected: end with `return shares, cache`."),
        (lambda x: (*right(x), 1), "structure", "3 items where 2 are expected: end with `return shares, cache`."),
        (spoiled(lambda s, x: s[None]), "shape", "an extra axis of length 1"),
        (lambda x: (x / x.sum(-1), x), "raised", "Was an axis summed away? `keepdims=True` keeps it"),
        (spoiled(lambda s, x: None), "type", "`shares` is None where a NumPy array of float64 is expected."),
        (spoiled(lambda s, x: s.tolist()), "type", "a list where a NumPy array"),
        (spoiled(lambda s, x: s.astype(complex)), "type", "of complex128 where a NumPy array of float64"),
        (spoiled(lambda s, x: s.T), "shape", "transpose"),
        (spoiled(lambda s, x: s.ravel()), "shape", "lacks an axis of length 1"),
        (spoiled(lambda s, x: s[None, None]), "shape", "2 extra axes of length 1"),
        (spoiled(lambda s, x: s[:1, :1]), "shape", "n = 2"),
        (spoiled(lambda s, x: s.astype(np.float64)), "dtype", "float64 where float32"),
        (spoiled(lambda s, x: np.where(s > 0.7, np.nan, s).astype(s.dtype)), "nan", "NaN"),
        (spoiled(lambda s, x: s * np.inf), "nan", "infinite"),
        (spoiled(lambda s, x: s * (1 + 1e-4)), "value", "none of its entries"),
        (spoiled(lambda s, x: np.subtract(x, 1, out=x) * 0 + s), "modified", "changed its input `x`"),
        (lambda x: x.no_such_thing, "raised", "AttributeError"),
        (lambda x: (_ for _ in ()).throw(NotImplementedError()), "blank", "not written yet"),
        (lambda x: (x / x.sum(axis=-1, keepdims=True), x), "no error", "should raise ValueError"),
    ],
)
def test_the_first_fault_is_named(key, function, kind, words):
    result = graded(key, function)
    assert (result.verdict.kind, result.passed) == (kind, False)
    assert words in result.verdict.message


def test_a_renamed_parameter_is_named(key):
    def normalised(values):
        return right(values)

    normalised.__qualname__ = "normalised"  # the name that it would have in a notebook
    assert "your `def` line lacks `x`, and asks for `values`" in graded(key, normalised).verdict.message


def test_each_aspect_earns_its_own_points(key):
    promoted = graded(key, spoiled(lambda s, x: s.astype(np.float64)))
    assert [(a.name, a.earned) for a in promoted.aspects] == [("the idea", 2), ("float32", 0), ("errors", 1)]


@pytest.mark.parametrize("value", [np.float64(0), np.array(0), np.zeros(2), np.zeros((2, 3)), np.zeros(0)])
@pytest.mark.parametrize("name", ["diagnose_gradient", "smoothed_cross_entropy", "batches_by_length", "attention"])
def test_one_array_in_place_of_several_outputs_is_a_fault(name, value):
    key = public_key(find_exercise(name))
    result = graded(key, lambda *inputs, **named: value)
    assert result.earned == 0 and result.verdict


def test_outputs_of_one_shape_may_come_stacked():
    exercise = Exercise(lambda x: (x + 1, 2 * x), outputs={"next": "", "double": ""}, section="Rows")
    exercise.cases("the idea", points=1)(lambda draw: [("one", {"x": draw.normal(3)}), ("two", {"x": draw.normal(2)})])
    key = make_key(exercise, seed=5)
    assert graded(key, lambda x: np.stack([x + 1, 2 * x])).passed
    assert not graded(key, lambda x: np.stack([x + 1, 2 * x, x])).passed


def test_raising_alone_earns_nothing(key):
    def always_raises(x):
        raise ValueError

    assert graded(key, always_raises).earned == 0


def test_only_the_known_mistake_that_was_made_is_named(key, exercise):
    for slug, (mistake, wrong) in exercise.mistakes.items():
        assert graded(key, wrong).mistake == mistake, slug
    assert graded(key, spoiled(lambda s, x: s + 1)).mistake is None


def test_a_mistake_that_promotes_float32_is_recognised_up_to_float32_s_rounding(exercise):
    @exercise.mistake("promotes what it gets")
    def promoted(x):
        """The wider type has no better digits."""
        return right(x)[0].astype(np.float64), x

    key = make_key(exercise, seed=1)
    result = graded(key, lambda x: ((right(x)[0] * (1 + 1e-7 * (x.dtype == np.float32))).astype(np.float64), x))
    assert result.mistake.name == "promotes what it gets"


@pytest.mark.parametrize("value", [lambda x: x, lambda x: (x,), lambda x: None])
def test_a_mistake_may_return_another_structure(exercise, value):
    @exercise.mistake("returns something else")
    def other(x):
        """Two things are asked for."""
        return value(x)

    assert graded(make_key(exercise, seed=1), other).mistake.name == "returns something else"


def test_a_mistake_with_half_of_its_values_shuffled_is_not_named(key, exercise):
    whole_sum = exercise.mistakes["whole_sum"][1]
    assert graded(key, lambda x: right(x) if x.dtype == np.float32 else whole_sum(x)).mistake is None


def test_a_mistake_keeps_its_name_when_numbers_are_promoted_too(key, exercise):
    wrong = exercise.mistakes["whole_sum"][1]
    result = graded(key, lambda x: (wrong(x)[0].astype(np.float64), x))
    assert [mistake.name for mistake in result.mistakes] == ["divides by the whole sum"]
    assert result.verdict.kind == "value"
    assert result.remarks == (
        "`shares` has dtype float64 where float32 is expected. Something promoted it, such as an array that "
        "np.zeros or np.arange made without a dtype, or a NumPy scalar such as np.sqrt(64). Python's own "
        "numbers, such as math.sqrt(64), promote nothing. (On the case “single precision”.)",
    )


def test_a_mistake_keeps_its_name_when_its_input_is_changed_too(key, exercise):
    wrong = exercise.mistakes["column_sum"][1]
    result = graded(key, lambda x: (wrong(x.copy())[0], np.multiply(x, 2, out=x)))
    assert [mistake.name for mistake in result.mistakes] == ["divides by the column sum"]
    (remark,) = result.remarks
    assert "changed its input `x` in place" in remark and "a small matrix" in remark


def test_a_mistake_keeps_its_name_when_some_input_raises_too(key, exercise):
    wrong = exercise.mistakes["whole_sum"][1]
    result = graded(key, lambda x: wrong(x) if x.dtype == np.float64 else x.no_such_thing)
    assert [mistake.name for mistake in result.mistakes] == ["divides by the whole sum"]
    assert result.verdict.kind == "value" and "AttributeError" in result.remarks[0]


def test_two_mistakes_on_different_cases_are_both_named(key, exercise):
    whole, column = (exercise.mistakes[slug][1] for slug in ("whole_sum", "column_sum"))
    result = graded(key, lambda x: whole(x) if x.dtype == np.float32 else column(x))
    assert {mistake.name for mistake in result.mistakes} == {"divides by the whole sum", "divides by the column sum"}
    assert result.remarks == ()


def test_a_fault_that_no_mistake_explains_is_named_besides_a_known_mistake(key, exercise):
    wrong = exercise.mistakes["whole_sum"][1]
    result = graded(key, lambda x: wrong(x) if len(x) > 1 else (x * 0.5, x))
    assert [mistake.name for mistake in result.mistakes] == ["divides by the whole sum"]
    assert len(result.remarks) == 1 and "a small matrix" in result.remarks[0]


def test_a_known_mistake_without_wrong_values_is_named_besides_wrong_values(exercise):
    @exercise.mistake("changes what it is given")
    def in_place(x):
        """Others use the array too."""
        y = right(x)
        x *= 2
        return y

    key = make_key(exercise, seed=1)
    wrong = exercise.mistakes["whole_sum"][1]
    result = graded(key, lambda x: (wrong(x.copy())[0], np.multiply(x, 2, out=x)))
    assert [mistake.name for mistake in result.mistakes] == ["divides by the whole sum", "changes what it is given"]
    assert result.remarks == ()


def test_a_mistake_that_only_raises_is_recognised_by_its_message(exercise, tmp_path):
    @exercise.mistake("multiplies what does not fit")
    def unfit(x):
        """Look at the shapes."""
        return x @ np.ones((17, 2)), x

    save(make_key(exercise, seed=1), tmp_path / "key.npz")
    key = load(tmp_path / "key.npz")

    def mine(rows):
        return rows @ np.zeros((17, 2)), None

    assert [mistake.name for mistake in graded(key, lambda x: mine(x)).mistakes] == ["multiplies what does not fit"]
    assert graded(key, lambda x: (x + np.ones((17, 19)), x)).mistakes == ()


def test_a_relation_of_wrong_values_is_named_even_if_an_overflow_comes_first():
    def multiplied(scores):
        return np.exp(scores + np.logaddexp.reduce(scores, axis=-1, keepdims=True))

    result = graded(public_key(find_exercise("softmax")), multiplied)
    assert result.verdict.kind == "nan"
    assert "one slip: `+` and `-` exchanged. (On the cases with wrong values.)" in result.remarks[-1]


def test_two_mistakes_that_fit_equally_are_both_left_out(exercise):
    @exercise.mistake("divides by the whole sum, and by rows in single precision")
    def whole_sum_sometimes(x):
        """One of many."""
        return right(x) if x.dtype == np.float32 else (x / x.sum(), x)

    key = make_key(exercise, seed=1)
    wrong = exercise.mistakes["whole_sum"][1]
    hidden = graded(key, lambda x: wrong(x) if x.dtype == np.float64 else x.no_such_thing)
    assert hidden.mistakes == ()


def test_wrong_values_come_before_a_wrong_precision(key):
    result = graded(key, spoiled(lambda s, x: s.astype(np.float64) + 1))
    assert result.verdict.kind == "value"
    assert [words in result.remarks[0] for words in ("float64 where float32", "single precision")] == [True, True]


def test_single_instead_of_double_precision_is_a_fault_of_dtype(key):
    result = graded(key, spoiled(lambda s, x: s.astype(np.float32)))
    assert result.verdict.kind == "dtype" and result.earned < result.points


def test_an_array_in_place_of_a_number_is_said_to_have_axes():
    message = difference(np.array(3), np.array([3]), "step").message
    assert message == "`step` has axes where a single number is expected: its shape should be ()."


@pytest.mark.parametrize(("expected", "value"), [(3, 3.0), (np.array(3), np.array(3, np.float32))])
def test_a_float_in_place_of_an_int_is_a_fault_of_dtype(expected, value):
    fault = precision_difference({"step": expected}, {"step": value}, "run")
    assert (fault.kind, fault.message) == ("dtype", "`run['step']` is a float where an int is expected.")
    assert precision_difference(expected, np.array(3, np.int32), "step") is None


def test_an_error_of_many_times_the_largest_entry_is_said_in_words():
    message = difference(np.ones(3), np.full(3, 20.0), "weights").message
    assert "off by more than ten times the largest entry (allowed: 1e-09 of the largest entry)." in message


def test_the_smallest_failing_case_is_shown(key):
    assert graded(key, spoiled(lambda s, x: s + 1)).case == "a small matrix"


def test_a_stopped_function_is_reported_before_anything_else(key):
    outcomes = [run(right, case.inputs) for case in key.cases]
    outcomes[0] = Outcome(stopped="used more than 5 seconds of processor time")
    assert grade(key, outcomes).verdict.message == "`normalised` used more than 5 seconds of processor time."


def test_a_wrong_exercise_that_the_function_calls_is_named(key):
    result = replace(graded(key, spoiled(lambda s, x: s + 1)), mend_first=("total",))
    assert "It calls `total`, which is also wrong. Fix that first." in as_text(result)
    both = as_text(replace(result, mend_first=("total", "other")))
    assert "It calls `total` and `other`, which are also wrong. Fix those first." in both


def test_result_survives_json(key, exercise):
    wrong = exercise.mistakes["whole_sum"][1]
    result = graded(key, lambda x: (wrong(x)[0].astype(np.float64), x))
    assert result.mistakes and result.remarks
    assert Result.from_json(result.to_json()) == result


def test_a_stored_result_without_remarks_can_be_read(key, exercise):
    result = graded(key, exercise.mistakes["whole_sum"][1])
    earlier = result.to_json()
    (earlier["mistake"],) = earlier.pop("mistakes")
    del earlier["remarks"]
    assert Result.from_json(earlier) == result


def test_a_stored_result_without_the_section_to_reread_can_be_read(key, exercise):
    result = graded(key, exercise.mistakes["whole_sum"][1])
    earlier = result.to_json()
    (mistake,) = earlier["mistakes"]
    mistake["message"] += f"\nReread '{mistake.pop('reread')}'."
    assert result.mistake.reread == "Shares" and Result.from_json(earlier) == result
    mistake["message"] = "It names no section."
    assert Result.from_json(earlier).mistake == Mistake(mistake["name"], "It names no section.")


def test_a_known_mistake_ends_with_the_section_to_reread(key, exercise):
    messages = [as_text(graded(key, exercise.mistakes[slug][1])) for slug in ("whole_sum", "column_sum")]
    assert "Known mistake: divides by the whole sum. Each row has a sum of its own. Reread “Shares”.\n" in messages[0]
    assert "Known mistake: divides by the column sum. The last axis is the row. Reread “Rows & sums”.\n" in messages[1]


def test_a_message_emphasises_words(key, exercise):
    result = graded(key, exercise.mistakes["whole_sum"][1])
    mistake = replace(result.mistake, message="The sum is *each row's*, `x * y * z`.")
    result = replace(result, mistakes=(mistake,))
    assert "<em>each row&#x27;s</em>, <code>x * y * z</code>." in as_html(result)
    assert "The sum is each row's, `x * y * z`. Reread" in as_text(result)


@pytest.mark.parametrize("sentence", ["beta * old * new", "1 - beta**step, or beta**2", "f(*args, *more)", "a*b*c"])
def test_asterisks_of_code_are_no_emphasis(sentence):
    assert sentence_as_html(sentence) == without_emphasis(sentence) == sentence


def test_no_sentence_contains_an_expected_value(key):
    secret = key.cases[0].expected.value[0]
    message = graded(key, spoiled(lambda s, x: s + 1)).verdict.message
    assert not any(f"{entry:.3f}" in message for entry in secret.ravel())


@pytest.mark.parametrize(("dtype", "noise"), [(np.float64, 1e-16), (np.float32, 1e-7)])
def test_the_arrays_of_a_dict_share_one_scale(dtype, noise):
    """A gradient that is zero in theory is noise in practice. Other noise is right, and a larger number is wrong."""
    expected = {"w": np.ones((2, 3), dtype), "b": np.full(3, noise, dtype)}
    assert difference(expected, expected | {"b": np.zeros(3, dtype)}, "gradients") is None
    assert difference(expected, expected | {"b": -expected["b"]}, "gradients") is None
    wrong = difference(expected, expected | {"b": np.full(3, 0.01, dtype)}, "gradients")
    assert wrong.kind == "value" and "gradients['b']" in wrong.message


@pytest.mark.filterwarnings("error")
def test_an_infinite_error_is_a_fault_and_gives_no_warning():
    wrong = difference(np.full(3, 1e-10), np.full(3, 1e300), "output")
    assert wrong.kind == "value"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("grad_w", "grad_b"), "leave out 'grad_' before each of them"),
        (("w_grad", "b_grad"), "leave out '_grad' after each of them"),
        (("grad_w", "b"), "leave out 'grad_' before it"),
        (("v", "b"), "lacks 'w' and has an unexpected 'v'"),
        (("w",), "lacks 'b'."),
    ],
)
def test_names_with_the_same_difference_get_one_sentence(names, words):
    assert words in difference({"w": 1.0, "b": 2.0}, dict.fromkeys(names, 1.0), "gradients").message


def test_a_name_without_the_common_part_is_named():
    assert "add 'grad_' before it" in difference({"grad_w": 1.0}, {"w": 1.0}, "gradients").message


@pytest.mark.parametrize("names", [["x" * 10**6], [f"{n:03d}" for n in range(1000)], ["x" * 10**6 + "w"]])
def test_long_names_and_many_names_are_shortened(names):
    assert len(difference({"w": 1.0}, dict.fromkeys(names, 1.0), "gradients").message) < 200


def test_many_names_are_counted_and_not_compared(monkeypatch):
    """To look for each of 20,000 names in the others took the judge up to 18 seconds."""
    monkeypatch.setattr(comparing, "_renaming", lambda missing, extra: pytest.fail("names were compared"))
    many = dict.fromkeys(map(str, range(20_000)), 1.0)
    message = difference({"w": 1.0, "b": 1.0}, many, "gradients").message
    assert message == "`gradients` has 20000 keys where 2 are expected."


def test_a_wrong_scalar_shows_the_size_of_the_error_and_not_the_right_value():
    message = difference(0.123456, 0.15, "loss").message
    assert message == "`loss` has the wrong value: it is off by 22%."
    assert difference(7, 8, "n").message == "`n` has the wrong value."
