"""What a student reads about names, calls, types and prints that have nothing to do with the mathematics."""

import linecache

import numpy as np
import pytest

from check import checking as module
from check.calling import Outcome, Raised, describe
from check.checking import CheckFailed, check, checked
from check.comparing import difference
from check.faults import faults

pytestmark = pytest.mark.autograder
PUBLIC_KEY = module.public_key


@pytest.fixture(autouse=True)
def public(monkeypatch, key):
    monkeypatch.setattr(module, "public_key", {"normalised": key}.__getitem__)


def defined(source, **names):
    """Return what a cell of a notebook defines."""
    exec(compile(source, "<cell normalised>", "exec"), names)
    return names["normalised"]


def read_about(source, **names):
    return checked(defined(source, np=np, **names)).text


def raised(source):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        exec(source, {"np": np, "softmax": len, "scores": np.ones(3)})
    return describe(caught.value).message


def test_an_unknown_name_gets_the_name_that_is_close_to_it():
    text = read_about("def normalised(x):\n    return x / row_sms(x), x", row_sums=np.sum)
    assert "name 'row_sms' is not defined; did you mean `row_sums`?" in text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("sofmax(scores)", "name 'sofmax' is not defined; did you mean `softmax`?"),
        ("def f(queries):\n    return querys\nf(1)", "name 'querys' is not defined; did you mean `queries`?"),
        ("pritn(scores)", "name 'pritn' is not defined; did you mean `print`?"),
        ("scores.tranpose()", "'numpy.ndarray' object has no attribute 'tranpose'; did you mean `transpose`?"),
        ("nothing_like_it", "name 'nothing_like_it' is not defined"),
        ("raise NameError('mine')", "mine"),
        ("raise AttributeError('mine')", "mine"),
    ],
)
def test_a_name_is_suggested_only_if_one_is_close(source, message):
    assert raised(source) == message


def test_an_exception_is_shown_where_none_is_expected():
    text = read_about("def normalised(x):\n    return nrmalised(x), x")
    assert "NameError" in text and "should raise" not in text


def test_an_object_that_cannot_list_its_attributes_is_no_problem():
    assert (
        raised("class A:\n    def __dir__(self):\n        raise ValueError\nA().b") == "'A' object has no attribute 'b'"
    )


@pytest.mark.parametrize(
    ("parameters", "hint"),
    [
        ("x, axis", "your `def` line asks for `axis`, which it does not get. Leave it out, or give it a default."),
        ("x, axis, *, eps", "your `def` line asks for `axis` and `eps`, which it does not get. Leave them out, or"),
        ("x, axis, eps=1", "your `def` line asks for `axis`, which it does not get. Leave it out, or give it"),
        ("rows", "your `def` line lacks `x`, and asks for `rows`, which it does not get."),
        ("", "your `def` line lacks `x`."),
        ("*rows", "your `def` line lacks `x`."),
        ("rows, **others", "your `def` line asks for `rows`, which it does not get."),
        ("x, /", "your parameters must have these names, without `/` after them."),
    ],
)
def test_a_function_with_other_parameters_hears_how_it_is_called(parameters, hint):
    assert f" `check` calls `normalised(x)`: {hint}" in read_about(f"def normalised({parameters}):\n    return None")


def test_a_lambda_with_other_parameters_hears_how_it_is_called():
    text = read_about("normalised = lambda rows: rows")
    assert "`check` calls `normalised(x)`: your `lambda` lacks `x`, and asks for `rows`, which it does not get." in text


@pytest.mark.parametrize(
    "body",
    ["return normalised(x, 1)", "return (lambda a: a)(x, 1)", "def inner(a):\n        return a\n    return inner()"],
)
def test_a_wrong_call_inside_the_answer_is_no_call_of_check(body):
    text = read_about(f"def normalised(x):\n    {body}")
    assert "argument" in text and "`check` calls" not in text


def test_a_forged_message_about_parameters_is_not_repeated(key):
    raised = Raised("TypeError", "normalised() missing 1 required positional argument: 'hidden_17'", quoted=False)
    sentence = next(faults(key, key.cases[0].expected, Outcome(raised=raised))).message
    assert "hidden" not in sentence and "a call passes too few arguments." in sentence
    assert "`check` calls `normalised(x)`: your parameters must have these names." in sentence


def test_a_lambda_that_check_calls_gets_the_hint_in_grading_too(key):
    raised = Raised("TypeError", "<lambda>() got an unexpected keyword argument 'x'", quoted=False)
    sentence = next(faults(key, key.cases[0].expected, Outcome(raised=raised))).message
    assert "`check` calls `normalised(x)`: your parameters must have these names." in sentence


def test_a_function_that_prints_its_result_prints_one_case_and_hears_to_return_it(capsys):
    with pytest.raises(CheckFailed):
        check(defined("def normalised(x):\n    print('ROW', x / x.sum(axis=-1, keepdims=True))", np=np))
    shown = capsys.readouterr().out
    assert shown.count("ROW") == 1
    assert "You print the result of `normalised`. Return it: the checks read only what it returns." in shown


def test_prints_beside_a_result_stay(capsys):
    with pytest.raises(CheckFailed):
        check(defined("def normalised(x):\n    print('ROW')\n    return x, x"))
    shown = capsys.readouterr().out
    assert shown.count("ROW") == 4 and "You print" not in shown


def read_about_line(line):
    """Return what a student reads about a function whose one line computes with two batches, a and b."""
    source = f"def normalised(x):\n    return {line}, x"
    function = defined(source, **BATCHES)
    linecache.cache["<cell normalised>"] = (len(source), None, source.splitlines(keepends=True), "<cell normalised>")
    return checked(function).text


BATCHES = {"a": np.ones((2, 3, 4)), "b": np.ones((2, 5, 4)), "np": np}


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("a @ b.T", "`.T` reverses all axes, those of a batch too"),
        ("np.dot(a, b)", "`np.dot` does not pair the matrices of two batches"),
        ("a.dot(b)", "`np.dot` does not pair the matrices of two batches"),
        ("np.matmul(a, b.transpose())", "`.transpose()` reverses all axes, those of a batch too"),
        ("a @ b.swapaxes(0, 1)", "`swapaxes(0, 1)` counts axes from the front"),
        ("a @ np.swapaxes(b, 0, 1)", "`swapaxes(b, 0, 1)` counts axes from the front"),
        ("a @ b.transpose(1, 0, 2)", "`transpose(1, 0, 2)` counts axes from the front"),
        ("a @ b[0].swapaxes(1, 2)", "-1 and -2 are the last two, with and without a batch."),
        ("a @ b", None),
    ],
)
def test_a_product_of_batches_that_does_not_fit_gets_the_hint_about_axes(line, hint):
    text = read_about_line(line)
    assert "raised ValueError" in text or "raised AxisError" in text
    assert (hint in text) if hint else ("batch" not in text)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("x if a else b", "For arrays, write `&`, `|` and `~`"),
        ("a > 0 and b > 0", "For arrays, write `&`, `|` and `~`"),
        ("x + (a, b)", "take it apart, `output, cache = ...`"),
        ("(a, b).shape", "take it apart, `output, cache = ...`"),
        ("{} + (a, b)", "take it apart, `output, cache = ...`"),
        ("max(a, 0)", "`np.maximum(a, b)` compares them entry by entry"),
        ("a - min(a, a)", "`np.minimum(a, b)` compares them entry by entry"),
        ("a - a.max", "Are the parentheses after a method's name missing?"),
        ("a.mean[0]", "Are the parentheses after a method's name missing?"),
        ("a.missing", None),
    ],
)
def test_an_array_or_a_tuple_in_a_place_of_something_else_gets_a_hint(line, hint):
    text = read_about_line(line)
    assert (hint in text) if hint else ("`output, cache = ...`" not in text and "`&`" not in text)


def test_a_tuple_where_an_array_is_asked_for_hears_which_item_has_its_shape():
    x, cache = np.ones((2, 3)), np.ones(2)
    assert "Its first item has the right shape" in difference(x, (x, cache), "output").message
    assert "item" not in difference(x, (cache, x), "output").message


def test_np_dot_of_two_batches_is_recognised_by_its_shape():
    a, b = np.ones((2, 3, 4)), np.ones((2, 4, 5))
    message = difference(a @ b, np.dot(a, b), "scores", "... T_query T_key").message
    assert "`np.dot` and `np.inner` pair each matrix of one batch with each of the other" in message
    assert "np.dot" not in difference(a @ b, np.ones((2, 3, 5, 5)), "scores", "... T_query T_key").message


@pytest.mark.parametrize(
    ("expected", "yours", "sentence"),
    [
        ((4,), (4, 4), "Yours has 2 axes where one is expected."),
        ((2, 3), (3,), "Yours has one axis where 2 are expected."),
        ((5,), (), "Yours has no axes where one is expected."),
        ((4, 4), (1, 1, 4, 4), "Yours has 2 extra axes of length 1."),
        ((3,), (3, 1), "Yours has an extra axis of length 1."),
        ((0, 2), (0,), "Yours has one axis where 2 are expected."),
        ((2, 6), (3, 4), "The number of entries is right; they are folded differently."),
    ],
)
def test_a_sentence_counts_axes_in_plain_english(expected, yours, sentence):
    assert sentence in difference(np.ones(expected), np.ones(yours), "mask", "").message


def test_an_axis_whose_name_is_its_length_is_not_explained():
    message = difference(np.ones((2, 1, 6)), np.ones((2, 6, 1)), "mask", "... 1 T_key").message
    assert "(batch = 2, T_key = 6)" in message


@pytest.mark.parametrize(
    ("line", "end"),
    [
        ("raise ValueError('bad.')", "raised ValueError: bad. "),
        ("raise ValueError('bad. ')", "raised ValueError: bad. "),
        ("return nrmalised(x), x", "did you mean `normalised`? "),
    ],
)
def test_a_message_that_ends_with_a_mark_gets_no_second_one(line, end):
    assert end in read_about(f"def normalised(x):\n    {line}")


def test_a_masked_array_gets_the_method_that_fills_it():
    text = read_about("def normalised(x):\n    return np.ma.array(x / x.sum(), mask=x > 1), x")
    assert "MaskedArray" in text and "`.filled(0)`" in text


def test_a_lambda_is_checked_under_the_name_that_it_has_in_the_notebook():
    text = read_about("normalised = lambda x: (x / x.sum(axis=-1, keepdims=True), x)")
    assert "✓ the idea" in text


def test_a_lambda_without_a_name_hears_to_be_written_with_def(tmp_path, monkeypatch):
    (tmp_path / "keys").mkdir()
    monkeypatch.setattr(module, "data_folder", lambda: tmp_path)
    with pytest.raises(LookupError, match="a lambda has no name: write the function with def"):
        PUBLIC_KEY("<lambda>")
