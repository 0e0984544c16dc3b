"""A test that calls each function with the same arguments gets most answers before it asks, and notices nothing."""

import time

import numpy as np
import pytest

from autograder.sandbox import Call, Cell, run, under_test
from check import tested, values
from check.tested import FunctionUnderTest
from tests.forging_tools import FIND_CHANNEL
from tests.patience import PATIENT

pytestmark = pytest.mark.sandbox


@pytest.fixture
def in_turn(bundle, monkeypatch):
    """in_turn(source, *functions) -> values of the cell's function `f` for each tested function, number of messages."""
    messages = []
    encoded = under_test._frame
    monkeypatch.setattr(under_test, "_frame", lambda *args: messages.append(args) or encoded(*args))

    def in_turn(source, *functions):
        messages.clear()
        calls = [Call("f", {"function": FunctionUnderTest("doubled", function)}) for function in functions]
        outcomes = run(
            [Cell("setup", "import numpy as np"), Cell("f", source)], calls, bundle=bundle, limits=PATIENT
        ).outcomes
        assert not [outcome for outcome in outcomes if outcome.raised or outcome.stopped]
        return [outcome.value for outcome in outcomes], len(messages)

    return in_turn


def test_the_answers_that_the_last_test_needed_come_ahead(in_turn):
    source = "def f(function):\n    return [function(np.arange(i), i / 2) for i in range(500)][-1]"
    got, messages = in_turn(source.replace("arange(i)", "arange(i % 7)"), *[lambda x, y, k=k: k * y for k in (1, 2)])
    assert got == [249.5, 499.0]
    assert messages <= 520


OBSERVED = """
def f(function):
    seen = []
    for i in [*range(40), 3, 3, 39]:
        x, tree = np.arange(4.0) + i, {"a": [np.full((1, 2), i), None], "b": np.float32(i), "c": "word"}
        try:
            value = function(x, tree=tree)
            seen.append((type(value).__name__, value))
            value[0][...] = 0
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
        seen.append((x, tree))
    return seen
"""


def changing(x, tree):
    x[1:] *= 2
    tree["a"][0] -= 1
    return x, tree


def raising(x, tree):
    tree["a"][0] += 1
    if x[0] % 3 == 1:
        raise KeyError("secret")
    return np.flip(x), type(tree["b"]).__name__, x.sum()


@pytest.mark.parametrize("function", [changing, raising])
def test_an_answer_ahead_is_like_any_other(in_turn, function):
    def packed(value):
        tree, arrays = values.pack(value)
        return tree, [(array.dtype, array.tobytes()) for array in arrays]

    [alone], _ = in_turn(OBSERVED, function)
    [*_, after], messages = in_turn(OBSERVED, changing, function)
    assert packed(after) == packed(alone)
    assert messages < 75


ALIKE = """
def f(function):
    x = np.array([[1, 2]])
    points = [x, x.astype(np.int32), x.astype(float), x[0], x.T, [x], (x,), [[1, 2]], np.zeros(2), -np.zeros(2)]
    points += [1, 1.0, True, np.float64(1), np.float32(1), "1", None, float("nan"), x.T.copy(), np.zeros((0, 2))]
    return [function(point) for point in points] + [function(x=x), function(point=x), function(x, x)]
"""


def test_arguments_that_differ_a_little_are_other_points(in_turn):
    def shown(*args, **kwargs):
        return repr((args, kwargs, [(a.dtype.str, a.shape) for a in tested.arrays_in((args, kwargs))]))

    first, second = in_turn(ALIKE, shown, shown)[0]
    assert first == second and len(set(first)) == 22  # x.T is its copy


def test_a_slow_function_is_not_called_ahead(in_turn):
    def slow(x):
        received.append(x)
        end = time.thread_time() + 2 * under_test.AHEAD_SECONDS
        while time.thread_time() < end:
            pass

    received = []
    source = (
        "def f(function):\n    function(1) if seen else [function(i) for i in range(9)]\n    seen.append(1)\nseen = []"
    )
    in_turn(source, slow, slow)
    assert received == [*range(9), 1]


def test_a_test_may_make_as_many_calls_of_each_function(in_turn):
    source = "def f(function):\n    return len({function(i % 1000, i // 1000) for i in range(2000)})"
    received = []
    got, _ = in_turn(source, lambda x, y: 2 * x + y, lambda x, y: received.append(x) or 2 * x + y)
    assert got == [2000, 2000]
    assert len(received) == tested.MAX_CALLS


def test_the_number_of_answers_ahead_has_a_limit(in_turn):
    """The submission asks through the pipe for the same points again and again, and needs no answer ahead."""
    source = FIND_CHANNEL + (
        "def f(function):\n"
        "    [function(i) for i in range(200)]\n"
        "    for i in range(2100):\n"
        "        answer = runner()._ask({'function': 'function', 'point': i % 200})\n"
        "    return answer['raised']"
    )
    received = []
    got, _ = in_turn(source, lambda x: x, received.append)
    assert got == ["RuntimeError", "RuntimeError"]
    assert len(received) == 2 * tested.MAX_CALLS


@pytest.mark.parametrize("number", [-1, 3])
def test_a_point_that_was_not_sent_is_not_an_answer(bundle, number):
    source = FIND_CHANNEL + (
        "def f(function):\n"
        "    [function(i) for i in range(3)]\n"
        f"    runner()._ask({{'function': 'function', 'point': {number}}})"
    )
    calls = [Call("f", {"function": FunctionUnderTest("doubled", abs)})]
    [outcome] = run([Cell("f", source)], calls, bundle=bundle, limits=PATIENT).outcomes
    assert outcome.stopped == "sent something that is not an answer"


def test_a_process_does_not_learn_how_many_points_another_one_had(bundle):
    """The number would tell a process how much the processes before it had asked."""
    source = FIND_CHANNEL + (
        "def f(function):\n    return runner()._ask({'function': 'function', 'args': (0,), 'kwargs': {}})['point']"
    )
    inputs = {"function": FunctionUnderTest("doubled", abs)}
    calls = [Call("f", inputs, group=group) for group in ("one", "one", "another", "another")]
    outcomes = run([Cell("f", source)], calls, bundle=bundle, limits=PATIENT).outcomes
    assert [outcome.value for outcome in outcomes] == [0, 1, 0, 1]


def test_large_points_are_not_remembered(in_turn):
    source = "def f(function):\n    return sum(function(np.full((100, 99), i)) for i in range(100))"
    (first, second), messages = in_turn(source, lambda x: x[0, 0], lambda x: x[0, 0])
    assert first == second == 4950
    assert messages > 150
