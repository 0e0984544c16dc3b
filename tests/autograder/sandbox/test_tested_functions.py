"""Exercises that ask for a test: a submission's test learns nothing about a function except its values."""

import inspect
import time
from dataclasses import replace

import numpy as np
import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import make_key
from autograder.grading.judging import calls_of
from autograder.sandbox import Call, Cell, process, run
from check import scoring, tested
from check.tested import FunctionUnderTest
from solutions import backward
from solutions.attention import softmax
from tests.choosing import thinned
from tests.forging_tools import FIND_CHANNEL
from tests.patience import PATIENT

pytestmark = pytest.mark.sandbox

NAME = "tests_softmax_backward"
SETUP = "import numpy as np\n" + inspect.getsource(softmax)
OWN = inspect.getsource(backward.softmax_backward)
HONEST = inspect.getsource(backward.numerical_gradient) + inspect.getsource(backward.tests_softmax_backward)


@pytest.fixture
def called(bundle):
    """called(source, function) -> the outcome of the cell's function `f`, called with a tested function."""

    def called(source, function, kind="bwrap", limits=PATIENT):
        cells = [Cell("setup", SETUP), Cell("own", "def doubled(x):\n    return 2 * x"), Cell("f", source)]
        calls = [Call("f", {"function": FunctionUnderTest("doubled", function)})]
        return run(cells, calls, bundle=bundle, limits=limits, kind=kind).outcomes[0]

    return called


@pytest.fixture(scope="module")
def result_of(bundle):
    """result_of(source, seed) -> the result of a test of softmax_backward that is graded in the sandbox."""

    def result_of(source, seed=3):
        key = make_key(find_exercise(NAME), seed)
        cells = [Cell("setup", SETUP), Cell("softmax_backward", OWN), Cell(NAME, source)]
        calls = calls_of("02_backward", {NAME: key})
        return scoring.grade(key, run(cells, calls, bundle=bundle, limits=PATIENT).outcomes)

    return result_of


def test_an_honest_test_earns_everything(result_of):
    result = result_of(HONEST)
    assert (result.earned, result.verdict) == (result.points, None)


@pytest.mark.parametrize("kind", ["bwrap", "none"])
def test_values_come_back_and_so_does_what_is_written_into_arguments(called, kind):
    def changing(x, tree=None):
        x += 1
        tree["a"][0][...] = 7
        return {"sum": x.sum(), "all": (x, [None, "word", True, 3])}

    source = """
def f(function):
    x, tree = np.arange(3.0), {"a": [np.zeros((2, 2), np.float32)], "b": np.float64(2)}
    result = function(x, tree=tree)
    assert type(result["sum"]) is np.float64 and result["sum"] == 6
    assert result["all"][1] == [None, "word", True, 3] and (result["all"][0] == [1, 2, 3]).all()
    assert (x == [1, 2, 3]).all() and (tree["a"][0] == 7).all() and tree["a"][0].dtype == np.float32
"""
    assert called(source, changing, kind).value is True


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("return True", True),
        ("pass", True),
        ("return np.all([True])", True),
        ("return False", False),
        ("assert False", False),
        ("return 1", 1),
    ],
)
def test_a_verdict_is_a_value_or_an_assertion(called, body, value):
    outcome = called(f"def f(function):\n    {body}", np.sin)
    assert type(outcome.value) is type(value) and outcome.value == value


def test_an_exception_of_the_function_shows_only_its_type(called):
    def failing(x):
        raise KeyError("secret")

    raised = called("def f(function):\n    function(1)", failing).raised
    assert raised.type == "KeyError" and "secret" not in raised.message


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("np.zeros(101)", tested.too_large(tested.MAX_AXIS)),
        ("np.zeros((0, 10**9))", tested.too_large(tested.MAX_AXIS)),
        ("np.zeros((30, 30, 30))", tested.too_large(tested.MAX_AXIS)),
        ("[np.zeros((90, 90))] * 3", tested.too_large(tested.MAX_AXIS)),
        ("10**6", tested.too_large(tested.MAX_AXIS)),
        ("np.int64(10**6)", tested.too_large(tested.MAX_AXIS)),
        ("np.array(10**6)", tested.too_large(tested.MAX_AXIS)),
        ("[[]] * 30_000", tested.too_large(tested.MAX_AXIS)),
        ("np.zeros(2) + 1j", tested.UNSUITABLE),
        ("lambda x: x", tested.UNSUITABLE),
        ("np.random.default_rng()", tested.UNSUITABLE),
        ("{1: 2}", tested.UNSUITABLE),
    ],
)
def test_arguments_have_limits(called, argument, message):
    raised = called(f"def f(function):\n    function({argument})", lambda x: 0).raised
    assert raised.message == message


@pytest.mark.parametrize("argument", ["np.zeros(101)", "np.zeros((0, 10**9))", "10**6", "np.random.default_rng()"])
def test_the_grader_enforces_the_limits_itself(called, argument):
    """The submission asks through the pipe, without the function that it was given."""
    received = []
    source = FIND_CHANNEL + (
        "def f(function):\n"
        f"    question = {{'function': 'function', 'args': ({argument},), 'kwargs': {{}}}}\n"
        "    return runner()._ask(question)['raised']"
    )
    assert called(source, received.append).value in ("ValueError", "TypeError")
    assert received == []


@pytest.mark.parametrize("argument", ["np.zeros(21)", "[0.5] * 21"])
def test_a_costly_function_takes_shorter_axes_and_lists(bundle, argument):
    """The scores of a training step have four axes, and a model has as many layers as its list."""
    received = []
    honest = f"def f(function):\n    function({argument})"
    through_the_pipe = FIND_CHANNEL + (
        "def g(function):\n"
        f"    question = {{'function': 'function', 'args': ({argument},), 'kwargs': {{}}}}\n"
        "    return runner()._ask(question)['raised']"
    )
    cells = [Cell("setup", SETUP), Cell("f", honest), Cell("g", through_the_pipe)]
    inputs = {"function": FunctionUnderTest("train_step", received.append)}
    honest, asked = run(cells, [Call(name, inputs) for name in "fg"], bundle=bundle, limits=PATIENT).outcomes
    assert honest.raised.message == tested.too_large(20) and asked.value == "ValueError"
    assert received == []


def test_the_number_of_calls_has_a_limit(called):
    received = []
    source = "def f(function):\n    for _ in range(3000):\n        function(1)"
    assert called(source, received.append).raised.message == tested.TOO_MANY_CALLS
    assert len(received) == tested.MAX_CALLS
    source = FIND_CHANNEL + (
        "def f(function):\n"
        "    for _ in range(2100):\n"
        "        answer = runner()._ask({'function': 'function', 'args': (1,), 'kwargs': {}})\n"
        "    return answer['raised']"
    )
    received.clear()
    assert called(source, received.append).value == "RuntimeError"
    assert len(received) == tested.MAX_CALLS


def test_the_process_s_files_are_not_counted_at_every_question(called, monkeypatch):
    counts = []
    monkeypatch.setattr(process, "exceeded_limit", lambda *_: counts.append(1) or "")
    started = time.monotonic()
    source = "def f(function):\n    return sum(function(i / 7) for i in range(1500))"
    assert called(source, lambda x: 1).value == 1500
    assert len(counts) < 20 + 2 * (time.monotonic() - started) / process.WATCH_SECONDS


def test_many_questions_do_not_use_up_the_room_for_answers(called):
    source = "def f(function):\n    return all(function(np.zeros((100, 99))) == 1 for _ in range(150))"  # 12 MB
    assert called(source, lambda x: 1, limits=replace(PATIENT, answers_mb=4)).value is True


def test_the_entries_of_all_calls_together_have_a_limit(called):
    """The time that a call takes grows with them, and a limit in seconds would depend on the machine."""
    received = []
    source = "def f(function):\n    for _ in range(300):\n        function(np.zeros((100, 100)))"
    assert called(source, received.append).raised.message == tested.TOO_MANY_ENTRIES
    assert len(received) == 199  # the tuple, the dict and the array's own place count too


def test_a_slow_function_under_test_does_not_use_up_the_test_s_time(called):
    def slow(x):
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass

    source = "def f(function):\n    return all(function(i / 7) is None for i in range(100))"
    limits = replace(PATIENT, call_seconds=1.0, patience=0.5, wall_factor=6000.0)
    assert called(source, slow, limits=limits).value is True


def test_the_student_s_own_function_is_out_of_reach_and_comes_back(bundle):
    cells = [Cell("own", "def doubled(x):\n    return 2 * x"), Cell("f", "def f(function):\n    return doubled(1)")]
    calls = [Call("f", {"function": FunctionUnderTest("doubled", abs)}), Call("doubled", {"x": 2})]
    first, second = run(cells, calls, bundle=bundle, limits=PATIENT).outcomes
    assert first.raised.message == tested.out_of_reach("doubled")
    assert second.value == 4


# ---------------------------------------------------------------------------------------- attacks

SEARCH = '''
import gc

def f(function):
    """Return what the function shows, and what strings the process holds."""
    names = ("__name__", "__qualname__", "__doc__", "__module__", "__dict__", "__code__", "__defaults__")
    pending, shown = [function], []
    while pending:
        thing = pending.pop()
        shown += [repr(thing), *(repr(getattr(thing, name, None)) for name in names)]
        pending += [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
        pending += [getattr(thing, "function", None)] if hasattr(thing, "function") else []
    word = "".join(["wrong", "_", "sign"])
    shown += ["found" for thing in gc.get_objects() if type(thing) is dict and word in thing]
    return repr(shown)[:9000]
'''


def test_a_function_shows_nothing_of_itself(called):
    def wrong_sign(x):
        """The docstring of a mistake."""
        return -x

    def right(x):
        return x

    shown = [called(SEARCH, function).value for function in (wrong_sign, right)]
    assert not [word for word in ("wrong_sign", "docstring of", "test_tested", "found") if word in shown[0]]
    assert normalised(shown[0]) == normalised(shown[1])


def normalised(text):
    """Return a text without memory addresses."""
    return "".join(part for i, part in enumerate(text.replace(">", " ").split(" ")) if not part.startswith("0x"))


COUNTING = """
count = -1
verdicts = {verdicts}

def tests_softmax_backward(function):
    global count
    count += 1
    return verdicts[count]
"""


def test_the_order_of_another_key_earns_nothing(result_of):
    verdicts = [case.expected.value for case in make_key(find_exercise(NAME), 99).cases]
    assert result_of(COUNTING.format(verdicts=verdicts)).earned == 0


MEMORY = """
seen = []

def tests_softmax_backward(function):
    rng = np.random.default_rng(0)
    g, w = rng.normal(size=(3, 4)), softmax(rng.normal(size=(3, 4)))
    try:
        values = function(g, w)
    except Exception:
        return False
    again = any(np.shape(values) == np.shape(old) and np.allclose(values, old) for old in seen)
    seen.append(values)
    return again
"""


@pytest.mark.parametrize("seed", thinned([3, 4, 5], [3], "other questions"))
def test_having_met_the_values_before_earns_nothing(result_of, seed):
    assert result_of(MEMORY, seed).earned == 0


FIRST = """
seen = []

def tests_softmax_backward(function):
    rng = np.random.default_rng(0)
    g, w = rng.normal(size=(3, 4)), softmax(rng.normal(size=(3, 4)))
    try:
        values = function(g, w)
    except Exception:
        return False
    seen.append(values)
    return np.shape(values) == np.shape(seen[0]) and np.allclose(values, seen[0])
"""
RIGHT_FIRST = 19  # with this seed, three of four aspects begin with a right function


def test_remembering_the_first_function_earns_nothing(result_of):
    cases = make_key(find_exercise(NAME), RIGHT_FIRST).cases
    first = [case.expected.value for i, case in enumerate(cases) if not i or case.aspect != cases[i - 1].aspect]
    assert first.count(True) == 3
    assert result_of(FIRST, RIGHT_FIRST).earned == 0


VOTE = """
import sys

votes = sys.__dict__.setdefault("votes", {})

def shown(function):
    rng = np.random.default_rng(0)
    for shape in ((5,), (3, 4), (2, 3, 4)):
        for dtype in ("float32", "float64"):
            g, w = rng.normal(size=shape).astype(dtype), softmax(rng.normal(size=shape)).astype(dtype)
            before = g.copy(), w.copy()
            try:
                value = function(g, w)
                yield value.shape, value.dtype, np.round(value + 10, 3).tolist()
            except Exception as error:
                yield type(error)
            yield np.array_equal(before, (g, w))

def tests_softmax_backward(function):
    text = str(list(shown(function)))
    votes[text] = votes.get(text, 0) + 1
    with open("votes", "a") as file:
        print(hash(text), file=file)
    with open("votes") as file:
        return max(votes[text], file.read().split().count(str(hash(text)))) >= 3
"""


@pytest.mark.parametrize("seed", thinned([3, 4, 5], [3], "other questions"))
def test_a_vote_among_the_functions_earns_nothing(result_of, seed):
    """Right functions come three times in each aspect, wrong ones once in total."""
    assert result_of(VOTE, seed).earned == 0


ORACLE = """
def tests_softmax_backward(function):
    rng = np.random.default_rng(0)
    g, w = rng.normal(size=(3, 4)), softmax(rng.normal(size=(3, 4)))
    return bool(np.allclose(function(g, w), softmax_backward(g, w)))
"""


def test_comparing_with_the_student_s_own_function_earns_nothing(result_of):
    result = result_of(ORACLE)
    assert result.earned == 0
    assert tested.out_of_reach("softmax_backward") in result.verdict.message


@pytest.mark.parametrize(
    "expression",
    thinned(
        [
            "'wrong' not in function.__name__",
            "not function.__doc__",
            "len(function.__code__.co_code) > 90",
            "id(function) % 32 == 0",
            "hash(function) % 2 == 0",
            "len(repr(function)) > 40",
            "function.__defaults__ is None",
        ],
        ["not function.__doc__", "hash(function) % 2 == 0"],
        "another look",
    ),
)
def test_a_look_at_the_function_earns_nothing(result_of, expression):
    assert result_of(f"def tests_softmax_backward(function):\n    return bool({expression})").earned == 0


def test_a_hang_costs_no_other_exercise(bundle):
    endless = "def f(function):\n    while True:\n        function(1)"
    cells = [Cell("f", endless.replace("function(1)", "pass")), Cell("g", "def g():\n    return 5")]
    calls = [Call("f", {"function": FunctionUnderTest("doubled", abs)}), Call("g", {})]
    limits = PATIENT.__class__(**vars(PATIENT) | {"call_seconds": 0.5})
    first, second = run(cells, calls, bundle=bundle, limits=limits).outcomes
    assert first.stopped and second.value == 5
