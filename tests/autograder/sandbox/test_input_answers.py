"""Functions that are inputs of a case: submissions get their values through the pipe, and nothing else of them."""

import inspect

import numpy as np
import pytest

from autograder.authoring.make_key import make_questions
from autograder.exercises.backward.numerical_gradient import numerical_gradient
from autograder.exercises.masking.leaks import leaks
from autograder.sandbox import AnsweredFunctions, Call, Cell, input_answers, run
from check import input_functions, scoring
from tests.autograder.sandbox.conftest import GOOD
from tests.forging_tools import FIND_CHANNEL
from tests.patience import PATIENT

pytestmark = pytest.mark.sandbox

SEARCH = '''
import gc
from check import input_functions

def f(decoder):
    """Return what a decoder shows, and what the process holds, in words."""
    names = ("__name__", "__qualname__", "__doc__", "__module__", "__dict__", "weights")
    pending, shown = [decoder], []
    while pending:
        thing = pending.pop()
        shown += [repr(thing), *(repr(getattr(thing, name, None)) for name in names)]
        shown += ["identified"] * any(thing is function for function in input_functions._FUNCTIONS.values())
        pending += [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
    shown += [thing.weights.tolist() for thing in gc.get_objects() if type(thing) is input_functions.Mixture]
    return repr(shown)[:9000]
'''
MIXTURE = input_functions.Mixture(np.tril(np.full((4, 4), 0.625)))


@pytest.fixture
def called(bundle):
    """called(source, inputs) -> the outcome of the cell's function f."""

    def called(source, inputs, kind="bwrap"):
        cells = [Cell("good", GOOD), Cell("f", source)]
        return run(cells, [Call("f", inputs)], bundle=bundle, limits=PATIENT, kind=kind).outcomes[0]

    return called


@pytest.mark.parametrize("decoder", [input_functions.looks_around, MIXTURE], ids=["named", "mixture"])
def test_a_given_function_shows_nothing_of_itself(called, decoder):
    shown = called(SEARCH, {"decoder": decoder}).value
    secrets = ("looks_around", "soft look-up", "mixture", "Mixture", "0.625", "identified")
    assert not [word for word in secrets if word in shown]


@pytest.mark.parametrize("kind", ["bwrap", "none"])
@pytest.mark.parametrize("decoder", [input_functions.looks_back, MIXTURE], ids=["named", "mixture"])
def test_a_given_function_returns_its_values(called, decoder, kind):
    x = np.random.default_rng(3).normal(size=(4, 2))
    outcome = called("def f(decoder, x):\n    return decoder(x), decoder(x=x[:2])", {"decoder": decoder, "x": x}, kind)
    np.testing.assert_array_equal(outcome.value[0], decoder(x))
    np.testing.assert_array_equal(outcome.value[1], decoder(x[:2]))
    assert outcome.modified == ()


def test_a_scalar_function_returns_a_numpy_scalar(called):
    outcome = called("def f(f, x):\n    return type(f(x)).__name__, f([1.0, 2.0])", {
        "f": input_functions.sum_of_squares, "x": np.arange(3.0)
    })  # fmt: skip
    assert outcome.value == ("float64", 5.0)


@pytest.mark.parametrize(
    ("argument", "type_name"),
    [("None", "TypeError"), ("x + 1j", "TypeError"), ("np.zeros((400, 400))", "ValueError"), ("x[0, 0]", "ValueError")],
)
def test_an_argument_that_does_not_fit_raises_an_exception(called, argument, type_name):
    inputs = {"decoder": input_functions.looks_back, "x": np.ones((3, 2))}
    assert (
        called(f"import numpy as np\ndef f(decoder, x):\n    return decoder({argument})", inputs).raised.type
        == type_name
    )


def test_the_book_s_function_is_asked_once_about_an_array(called, monkeypatch):
    received = []
    compute = input_functions.Mixture.__call__
    monkeypatch.setattr(input_functions.Mixture, "__call__", lambda self, x: received.append(x) or compute(self, x))
    source = """
def f(decoder, x):
    first = decoder(x)
    kept = first.copy()
    first[...] = 0
    others = [decoder(other) for other in (x.astype("float32"), x[:2], x.reshape(2, -1), -x, x)]
    return kept, others
"""
    x = np.arange(16.0).reshape(4, 4)
    kept, others = called(source, {"decoder": MIXTURE, "x": x}).value
    for got, argument in zip(others, (x.astype("float32"), x[:2], x.reshape(2, -1), -x, x), strict=True):
        np.testing.assert_array_equal(got, MIXTURE(argument))
    np.testing.assert_array_equal(kept, MIXTURE(x))
    assert len(received) == 5 + 6


@pytest.fixture
def asked(bundle, monkeypatch):
    """asked(source, function, x, likely) -> value of the cell's function `f`, arrays it asked for, arrays computed."""
    questions, computed = [], []
    at, called = input_answers._Values.at, input_answers._Values._called
    monkeypatch.setattr(input_answers._Values, "at", lambda self, x: questions.append(x) or at(self, x))
    monkeypatch.setattr(input_answers._Values, "_called", lambda self, x: computed.append(x) or called(self, x))

    def asked(source, function, x, likely):
        questions.clear(), computed.clear()
        call = Call("f", {"function": function, "x": x}, lambda function, x: likely(x))
        (outcome,) = run([Cell("f", source)], [call], bundle=bundle, limits=PATIENT).outcomes
        return outcome.value, len(questions), len(computed)

    return asked


@pytest.mark.parametrize("order", ["", "[::-1]", "[::-3]", "[20:30]", "* 2"])
def test_values_at_likely_arguments_come_ahead_and_change_nothing(asked, order):
    source = f"def f(function, x):\n    return [function(x + i) for i in list(range(60)){order}]"
    x = np.arange(3.0)
    value, n_questions, n_computed = asked(
        source, input_functions.sum_of_squares, x, lambda x: (x + i for i in range(60))
    )
    assert value == eval(f"[((x + i) ** 2).sum() for i in list(range(60)){order}]", {"x": x})
    assert n_computed <= 60
    assert n_questions <= {"": 5, "[::-1]": 60, "[::-3]": 20, "[20:30]": 2, "* 2": 5}[order]


def test_a_value_that_came_ahead_is_the_caller_s_own(asked):
    source = """
def f(function, x):
    for _ in range(2):
        values = [function(x + i) for i in range(3)]
        for value in values:
            value += 1
    return values
"""
    value, n_questions, _ = asked(source, input_functions.running_sum, np.ones(2), lambda x: (x + i for i in range(3)))
    np.testing.assert_array_equal(value, [[2, 3], [3, 5], [4, 7]])
    assert n_questions == 1


@pytest.mark.parametrize("exercise", [leaks, numerical_gradient], ids=lambda exercise: exercise.name)
def test_a_right_answer_needs_few_messages(bundle, monkeypatch, exercise):
    questions = []
    at = input_answers._Values.at
    monkeypatch.setattr(input_answers._Values, "at", lambda self, x: questions.append(x) or at(self, x))
    key = make_questions(exercise, 5)
    cells = [Cell("setup", "import numpy as np"), Cell(exercise.name, inspect.getsource(exercise.reference))]
    calls = [Call(exercise.name, case.inputs, exercise.likely) for case in key.cases]
    result = scoring.grade(key, run(cells, calls, bundle=bundle, limits=PATIENT).outcomes)
    assert result.earned == result.points
    assert len(questions) <= 3 * len(calls)


def test_the_reference_asks_the_submission_s_function_each_time(bundle, tmp_path):
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "twice.py").write_text("def twice(f, x):\n    return f(x), f(x)\n")
    answered = AnsweredFunctions({"twice": "references.twice"}, tmp_path)
    source = "calls = []\ndef f(x):\n    return twice(lambda x: calls.append(x) or len(calls), x)"
    result = run([Cell("f", source)], [Call("f", {"x": np.ones(2)})], bundle=bundle, limits=PATIENT, answered=answered)
    assert result.outcomes[0].value == (1, 2)


def test_the_reference_answers_all_other_questions(bundle, tmp_path):
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "doubling.py").write_text("def doubled(x):\n    return 2 * x\n")
    answered = AnsweredFunctions({"doubled": "references.doubling"}, tmp_path)
    inputs = {"decoder": input_functions.running_sum, "x": np.ones((3, 2))}
    cells = [Cell("f", "def f(decoder, x):\n    return doubled(decoder(doubled(x)))")]
    result = run(cells, [Call("f", inputs)], bundle=bundle, limits=PATIENT, answered=answered)
    np.testing.assert_array_equal(result.outcomes[0].value, 4 * np.cumsum(inputs["x"], axis=0))
    assert result.answered_calls["f"] == 2


def test_questions_about_other_functions_are_no_answer(called):
    source = FIND_CHANNEL + "def f(decoder):\n    runner()._ask({'function': 'softmax', 'args': (), 'kwargs': {}})"
    assert called(source, {"decoder": input_functions.looks_back}).stopped == "sent something that is not an answer"
