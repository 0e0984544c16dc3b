"""Messages name one slip in a right function or in a known mistake, in any style of code, and nothing else."""

import cProfile
import importlib
import math

import numpy as np
import pytest

from autograder.authoring import sketching
from autograder.authoring import slips as compiling
from autograder.authoring.exercise import Exercise
from autograder.authoring.make_key import full_key, make_lazy_key, narrowed_to
from autograder.authoring.sketching import sketches_of_slips
from autograder.authoring.slips import slips
from check.calling import run, value_of
from check.scoring import grade
from check.sketches import CaseSketches, sketch_row, sketched_cases, slip

pytestmark = pytest.mark.autograder


def standardised(x, gain, bias):
    """Return rows of mean 0 and standard deviation 1, times gain, plus bias."""
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-2)
    return gain * centred / spread + bias


@pytest.fixture(scope="module")
def exercise():
    exercise = Exercise(standardised, outputs={"rows": "... T d"}, section="Rows")

    @exercise.cases("the idea", points=1)
    def _(draw):
        for name, shape in {"one": (3, 4), "two": (5, 2), "three": (2, 3, 4)}.items():
            yield name, {name: draw.normal(*shape if name == "x" else shape[-1:]) for name in ("x", "gain", "bias")}

    @exercise.cases("large numbers", points=1)
    def _(draw):
        yield "large", {"x": 100 * draw.normal(3, 5), "gain": draw.normal(5), "bias": draw.normal(5)}

    @exercise.mistake("adds no epsilon")
    def without_epsilon(x, gain, bias):
        """Something small belongs under the root."""
        centred = x - x.mean(-1, keepdims=True)
        return gain * centred / np.sqrt((centred**2).mean(-1, keepdims=True)) + bias

    return exercise


@pytest.fixture(scope="module")
def key(exercise):
    return full_key(exercise, seed=5)


def result_of(key, function):
    return grade(key, [run(function, case.inputs) for case in key.cases])


def loops(x, gain, bias, statistics=lambda row: (row.mean(), row.var() + 1e-2), last=np.add):
    """Return the same result, computed row by row."""
    output = np.empty_like(x)
    for index in np.ndindex(x.shape[:-1]):
        mean, variance = statistics(x[index])
        output[index] = last(gain * (x[index] - mean) / variance**0.5, bias)
    return output


ONE_SLIP = {
    "`+` and `-` exchanged": lambda x, gain, bias: loops(x, gain, bias, last=np.subtract),
    "the term `bias` left out": lambda x, gain, bias: loops(x, gain, 0 * bias),
    "the factor `gain` left out": lambda x, gain, bias: loops(x, gain / gain, bias),
    "`gain` in a place where `bias` belongs": lambda x, gain, bias: loops(x, gain, gain),
    "a division left out": lambda x, gain, bias: loops(x, gain, bias, lambda row: (row.mean(), 1)),
    "a number that is twice what it should be": lambda x, gain, bias: loops(
        x, gain, bias, lambda row: (row.mean(), row.var() + 2e-2)
    ),
}


@pytest.mark.parametrize("words", ONE_SLIP)
def test_one_slip_is_named_in_code_of_any_style(key, words):
    result = result_of(key, ONE_SLIP[words])
    assert result.verdict.message.endswith(f"Your numbers are those of a right function with one slip: {words}.")
    assert result.mistakes == ()


@pytest.mark.parametrize("shape", [(5, 2), (2, 3, 4)])
@pytest.mark.parametrize("words", ONE_SLIP)
def test_no_slip_is_named_if_it_does_not_explain_every_case(key, words, shape):
    def nearly(x, gain, bias):
        return ONE_SLIP[words](x, gain, bias) + 1e-6 * (x.shape == shape)

    assert "one slip" not in result_of(key, nearly).verdict.message


@pytest.mark.parametrize("words", ONE_SLIP)
def test_no_slip_is_named_if_it_does_not_explain_every_aspect(key, words):
    def only_small(x, gain, bias):
        return ONE_SLIP[words](x, gain, bias) + 1e-3 * (x.shape == (3, 5))

    assert "one slip" not in result_of(key, only_small).verdict.message


def exercise_of(function, *mistakes):
    """Return the key of an exercise with two aspects. mistakes: wrong functions with docstrings."""
    exercise = Exercise(function, outputs={"rows": "... T d"}, section="Rows")
    for aspect in ("the idea", "more"):

        @exercise.cases(aspect, points=1)
        def _(draw):
            yield "one", {"x": draw.normal(3, 4)}

    for wrong in mistakes:
        exercise.mistake(wrong.__name__)(wrong)
    return full_key(exercise, seed=5)


def doubled(x):
    """Return 2 x + 1."""
    return 2.0 * x + 1


def without_the_factor(x):
    """The factor 2 belongs there, and so does the term that follows it."""
    return x + 1 + 0.0 * (1.0 - 1.0)


def test_a_slip_that_changes_nothing_in_a_mistake_is_no_slip():
    key = exercise_of(doubled, without_the_factor)
    rows = np.concatenate(list(key.slips.values()))
    cases = [CaseSketches(key, key.cases[i]) for i in sketched_cases(key)]
    own = sketch_row(cases, [sketches.case.mistakes["without_the_factor"] for sketches in cases])
    assert len(cases) == 2 and len(rows) > 2
    assert not np.isclose(rows, own).all(axis=1).any()


def waves(x):
    """Return 3 x cos(x)."""
    return 3.0 * x * np.cos(x)


def half_a_wave_and_x(x):
    """The factor is 3, and no term follows."""
    return 1.5 * x * np.cos(x) + x


def multiplied(x):
    """Return 3 x cos(x)."""
    return np.multiply(3.0 * x, np.cos(x))


def with_sines(x):
    """The last factor is a cosine."""
    return 3.0 * x * np.sin(x)


@pytest.mark.parametrize("answer", [lambda x: 3.0 * x, lambda x: 3.0 / x * np.sin(x)])
def test_a_known_mistake_is_not_named_for_the_numbers_that_it_has_with_one_more_slip(answer):
    """The slip may leave the mistake out: no sine is in 3 x."""
    result = result_of(exercise_of(multiplied, with_sines), answer)
    assert result.mistakes == ()
    assert "slip" not in result.verdict.message


def quotient(a, b):
    """Return a / b + a b."""
    return a / b + a * b


def test_slips_with_the_same_numbers_are_all_named():
    exercise = Exercise(quotient, outputs={"rows": "... T d"}, section="Rows")

    @exercise.cases("the idea", points=1)
    def _(draw):
        for name in ("one", "two"):
            yield name, {"a": draw.normal(3, 4), "b": draw.normal(3, 4)}

    result = result_of(full_key(exercise, seed=5), lambda a, b: 1 + a * b)
    words = "`b` in a place where `a` belongs, or `a` in a place where `b` belongs."
    assert result.verdict.message.endswith(words)


def difference(x, y):
    """Return x - y, and 2 x."""
    return x - y, 2 * x


def test_zeros_have_no_slip():
    exercise = Exercise(difference, outputs={"rows": "... T d", "doubled": "... T d"}, section="Rows")

    @exercise.cases("the idea", points=1)
    def _(draw):
        for name in ("one", "two"):
            yield name, {"x": draw.normal(3, 4), "y": draw.normal(3, 4)}

    result = result_of(full_key(exercise, seed=5), lambda x, y: (0 * x, 2 * x))
    assert result.verdict.message.endswith("`rows` is zero everywhere.")


def on_the_diagonal(x):
    """Return a matrix with the powers of the first column on its diagonal."""
    return np.eye(len(x)) * np.exp(x[:, 0])


def test_zeros_and_ones_have_no_slip():
    """Slips other than a missing factor make them too, such as the zeroth power of a matrix."""
    result = result_of(exercise_of(on_the_diagonal), lambda x: np.eye(len(x)))
    assert result.verdict.message.endswith("of the largest entry).")


def test_an_exact_factor_is_named_alone():
    result = result_of(exercise_of(waves, half_a_wave_and_x), lambda x: 1.5 * x * np.cos(x))
    assert result.mistakes == ()
    assert result.verdict.message.endswith("`rows` is half of what it should be.")


def test_a_slip_may_raise_where_the_answer_raises_too():
    def checked(x):
        """Return the logarithm of x + 10, which is never of a negative number."""
        return np.log(x + 10)

    exercise = Exercise(checked, outputs={"rows": "... T d"}, section="Rows")

    @exercise.cases("near zero", points=1)
    def _(draw):
        yield "one", {"x": np.abs(draw.normal(3, 4))}

    @exercise.cases("below zero", points=1)
    def _(draw):
        yield "one", {"x": -np.abs(draw.normal(3, 4))}

    key = full_key(exercise, seed=5)
    assert "a term left out" in result_of(key, lambda x: np.log(x)).remarks[-1]
    assert "one slip" not in str(result_of(key, lambda x: np.log(np.abs(x))))


@pytest.mark.parametrize("power", [0.25, 1.0, 2.0])
def test_no_slip_is_named_for_other_wrong_values(key, power):
    def wrong(x, gain, bias):
        return loops(x, gain, bias, lambda row: (row.mean(), np.abs(row).max() ** power))

    assert result_of(key, wrong).verdict.message.endswith("of the largest entry).")


def test_a_right_function_has_no_slip(key):
    assert result_of(key, loops).passed


def test_outcomes_that_raise_or_have_another_shape_have_no_slip(key):
    assert "one slip" not in result_of(key, lambda x, gain, bias: x[..., :1]).verdict.message
    assert "one slip" not in result_of(key, lambda x, gain, bias: x @ gain.T).verdict.message
    assert "one slip" not in result_of(key, lambda x, gain, bias: "rows").verdict.message


def counts(n):
    """Return 1 + 2 + ... + n."""
    total = 0
    while n > 0:
        total, n = total + n, n - 1
    return total


def test_no_slip_is_made_in_a_loop_that_might_then_never_end():
    assert list(slips(counts, {"n": 3})) == []


def add(a, b, scale):
    """Return a + scale b."""
    return a + scale * b


def test_each_slip_changes_one_place():
    first, second = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    made = list(slips(add, {"a": first, "b": second, "scale": 3.0}))
    assert {(slip.change.split("  ->  ")[1], slip.words) for slip in made} == {
        ("a - scale * b", "`+` and `-` exchanged"),
        ("scale * b", "the term `a` left out"),
        ("a", "the term `scale * b` left out"),
        ("scale / b", "`*` and `/` exchanged"),
        ("b", "the factor `scale` left out"),
        ("scale", "the factor `b` left out"),
        ("b", "`b` in a place where `a` belongs"),
        ("a", "`a` in a place where `b` belongs"),
    }
    values = [slip.function(first, second, 3.0).tolist() for slip in made]
    assert [31.0, 62.0] not in values and [-29.0, -58.0] in values


def scaled(x, width, limit):
    """Return x in units of a root, squared."""
    total = x.sum()
    return (x / math.sqrt(width)) ** 2 / total + np.array(limit)[:, None].repeat(2, axis=1).sum(axis=1, keepdims=True)


def test_a_slip_quotes_what_is_missing_if_it_has_no_names_but_the_parameters():
    words = {slip.words for slip in slips(scaled, {"x": np.eye(2), "width": 4, "limit": np.ones(2)})}
    assert {"the division by `math.sqrt(width)` left out", "a power of `x / math.sqrt(width)` left out"} <= words
    assert {"a division left out", "a term left out"} <= words  # `total` is the reference's own, and the last is long
    assert not [sentence for sentence in words if "total" in sentence]


def test_slips_are_run_without_checking_for_changed_inputs(key, monkeypatch):
    """The check would take a third of the time of a key, and a sketch does not need it."""

    def called(inputs):
        raise AssertionError

    monkeypatch.setattr(importlib.import_module("check.calling"), "input_digests", called)
    exercise = Exercise(standardised, outputs={"rows": "... T d"}, section="Rows")
    assert sketches_of_slips(exercise, key)


@pytest.mark.parametrize("words", ONE_SLIP)
def test_grading_runs_most_slips_on_one_case_only(exercise, words, monkeypatch):
    key = make_lazy_key(exercise, seed=5)
    outcomes = [run(ONE_SLIP[words], case.inputs) for case in key.cases]
    runs = []
    monkeypatch.setattr(sketching, "value_of", lambda *call: runs.append(call) or value_of(*call))
    whole = slip(key, outcomes)
    in_all, runs[:] = len(runs), []
    assert slip(narrowed_to(key, outcomes), outcomes) == whole == words
    assert 2 * len(runs) < in_all


def test_the_weights_of_a_case_are_drawn_once_for_all_slips(exercise, monkeypatch):
    key = make_lazy_key(exercise, seed=5)
    outcomes = [run(lambda x, gain, bias: 1.01 * standardised(x, gain, bias), case.inputs) for case in key.cases]
    draws = []
    drawn = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: draws.append(seed) or drawn(seed))
    assert slip(narrowed_to(key, outcomes), outcomes) == ""
    assert 0 < len(draws) <= 2 * len(key.cases)


def test_slips_are_compiled_once_for_inputs_of_the_same_kinds(monkeypatch):
    first, second, other = ({"x": np.ones((n, 3)), "gain": gain, "bias": np.ones(3)} for n, gain in GAINS)
    words = [slip.words for slip in slips(standardised, first)]
    with monkeypatch.context() as patch:
        patch.setattr(compiling, "_compiled", lambda tree: pytest.fail("compiled a slip again"))
        assert [slip.words for slip in slips(standardised, second)] == words
    assert [slip.words for slip in slips(standardised, other)] != words


GAINS = [(2, np.ones(3)), (4, np.zeros(3)), (2, np.ones((2, 3)))]


def test_slips_do_not_run_a_function_s_decorators():
    registered = []

    @registered.append
    def halved(x):
        return x / 2

    assert [slip.words for slip in slips(registered[0], {"x": 3.0})] and len(registered) == 1


def test_slips_are_made_under_a_profiler_too():
    inputs = {"x": np.eye(2), "gain": np.ones(2), "bias": np.ones(2)}
    calm = [slip.words for slip in slips(standardised, inputs)]
    with cProfile.Profile():
        profiled = [slip.words for slip in slips(standardised, inputs)]
    assert profiled == calm != []
