"""Answered functions: their values come through the pipe, their number is limited, and their code stays outside."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from autograder.sandbox import (
    AnsweredFunctions,
    Call,
    Cell,
    Limits,
    MachineTooBusy,
    References,
    SandboxUnavailable,
    answering,
    references,
    run,
)
from tests.autograder.sandbox.conftest import GOOD, SHORT, X
from tests.choosing import thinned
from tests.forging_tools import FIND_CHANNEL
from tests.patience import PATIENT

pytestmark = pytest.mark.sandbox
NOT_AN_ANSWER = "sent something that is not an answer"

REFERENCE = '''\
import numpy as np


class Odd(Exception):
    pass


def doubled(x, *, more=0):
    """A word that no submission knows: sesquipedalian."""
    if x is None:
        raise ValueError("sesquipedalian")
    if isinstance(x, str):
        raise Odd("sesquipedalian")
    return 2 * x + more, {"x": x}


def drawn(rng, size):
    return rng.normal(size=size)


def large(n):
    return np.ones(n)


def endless():
    while True:
        pass


def mean(x):
    return np.mean(x)


def summed(function, x):
    """The function's values for the first entry, the first two, and so on."""
    return sum(function(x[:n]) for n in range(1, len(x) + 1))


def root(function, x):
    """Halves the interval between the two entries of x twenty times. The places depend on the function's values."""
    low, high = x
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if function(np.array([middle])) < 0 else (low, middle)
    return high
'''
FUNCTIONS = ("doubled", "drawn", "large", "endless", "mean", "summed", "root")
ANSWERED_AS_EVER = "\n\ndef g(x):\n    return doubled(3)[0]"
WRONG = "def doubled(x):\n    return x\n\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    (folder / "references").mkdir()
    (folder / "references" / "kept_outside.py").write_text(REFERENCE)
    (folder / "references" / "slow_to_load.py").write_text(
        "import time\n\nwhile time.process_time() < 1:\n    pass\n\ndef doubled(x):\n    return 2 * x\n"
    )
    return folder


@pytest.fixture
def answered(bundle, folder):
    """answered(source, *names) -> as `submit`, but REFERENCE answers its functions, and each call gets X as x."""

    def answered(source, *names, limits=PATIENT, kind="bwrap", functions=FUNCTIONS, module="kept_outside", shared=None):
        functions = AnsweredFunctions(dict.fromkeys(functions, f"references.{module}"), folder)
        calls = [Call(name, {"x": X}) for name in names]
        cells = [Cell("good", GOOD), Cell("mine", WRONG + source)]
        return run(cells, calls, bundle=bundle, limits=limits, kind=kind, answered=functions, references=shared)

    return answered


@pytest.mark.parametrize("kind", ["bwrap", "none"])
def test_a_call_of_a_wrong_function_returns_the_value_of_the_reference(answered, kind):
    result = answered("def f(x):\n    value, cache = doubled(x, more=1)\n    return value, cache", "f", kind=kind)
    value, cache = result.outcomes[0].value
    np.testing.assert_array_equal(value, 2 * X + 1)
    np.testing.assert_array_equal(cache["x"], X)
    assert result.answered_calls["f"] == 1 and result.notes == []


def test_cells_call_the_functions_of_the_submission_itself(answered):
    result = answered("own = doubled(3)\ndef f(x):\n    return own, doubled(3)[0]", "f")
    assert result.outcomes[0].value == (3, 6)


def test_an_answered_call_advances_the_generator_of_its_caller(answered):
    source = "def f(x):\n    rng = np.random.default_rng(5)\n    return drawn(rng, 3), drawn(rng, size=2), rng.normal()"
    first, second, third = answered(source, "f").outcomes[0].value
    expected = np.random.default_rng(5).normal(size=6)
    np.testing.assert_array_equal([*first, *second, third], expected)


def test_an_answered_scalar_is_a_numpy_scalar(answered):
    assert answered("def f(x):\n    return type(mean(x)).__name__", "f").outcomes[0].value == "float64"


def test_the_reference_calls_a_function_among_its_arguments(answered):
    source = """
def f(x):
    seen = []
    def largest(part):
        seen.append(part)
        return part.max()
    return summed(largest, np.array([1.0, 5.0, 2.0])), summed(x=np.ones(2), function=np.sum), seen
"""
    first, second, seen = answered(source, "f").outcomes[0].value
    assert (first, second) == (11, 3)
    assert [part.tolist() for part in seen] == [[1], [1, 5], [1, 5, 2]]


@pytest.fixture
def relayed(monkeypatch):
    """The questions of the reference about a function of the submission."""
    relayed = []
    relay = answering._Relay.__call__
    monkeypatch.setattr(
        answering._Relay, "__call__", lambda self, tree, *others: relayed.append(tree) or relay(self, tree, *others)
    )
    return relayed


@pytest.mark.parametrize("length, n_questions", [(100, 1), (300, 1), (400, 84)])
def test_the_reference_asks_once_for_all_values_at_places_that_do_not_depend_on_them(
    answered, relayed, length, n_questions
):
    source = f"""
def f(x):
    seen = []
    def mean(part):
        seen.append(len(part))
        return part.mean()
    return summed(mean, np.arange({length}.0)), seen
"""
    value, seen = answered(source, "f").outcomes[0].value
    assert value == sum(range(length)) / 2
    assert seen == list(range(1, length + 1))
    assert len(relayed) == n_questions


def test_the_reference_asks_for_each_value_at_places_that_depend_on_them(answered, relayed):
    source = "def f(x):\n    return root(lambda part: part[0] ** 2 - 2, np.array([0.0, 2.0]))"
    value = answered(source, "f").outcomes[0].value
    assert abs(value - 2**0.5) < 1e-5
    assert len(relayed) == 20


def test_an_exception_of_a_function_among_the_arguments_is_passed_on_as_it_is(answered):
    source = "def f(x):\n    return summed(lambda part: {}['nothing'], np.ones(3))"
    result = answered(source + ANSWERED_AS_EVER, "f", "g")
    assert (result.outcomes[0].raised.type, result.outcomes[0].raised.message) == ("KeyError", "'nothing'")
    assert result.outcomes[1].value == 6


def test_a_function_among_the_arguments_cannot_call_an_answered_one(answered):
    source = "def f(x):\n    return summed(lambda part: doubled(part)[0].sum(), np.ones(3))"
    result = answered(source + ANSWERED_AS_EVER, "f", "g")
    assert result.outcomes[0].raised.type == "RuntimeError"
    assert result.outcomes[1].value == 6


def test_a_value_that_the_grader_did_not_ask_for_is_not_an_answer(answered):
    source = f"{FIND_CHANNEL}\ndef f(x):\n    return runner()._ask({{'value': 1, 'raised': ''}}, 'returned')"
    assert answered(source, "f").outcomes[0].stopped == NOT_AN_ANSWER


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("os._exit(3)", "exit status 3"),
        ("while True: pass", "processor time"),
        ("raise SystemExit", "SystemExit"),
        ("os.write(runner().replies, b'x' * 9)", "not an answer"),
        ("runner()._send({'id': outstanding(), 'returned': 5}, ())", "not an answer"),
        ("runner()._send({'id': outstanding(), 'tree': 5}, ())", "not an answer"),
    ],
)
def test_after_a_function_among_the_arguments_broke_the_reference_answers_on(answered, body, reason):
    source = f"{FIND_CHANNEL}\ndef broken(part):\n    {body}\n\ndef f(x):\n    return summed(broken, np.ones(3))"
    result = answered(source + ANSWERED_AS_EVER, "f", "g", limits=SHORT)
    first, second = result.outcomes
    assert reason in (first.stopped or first.raised.type)
    assert second.value == 6


@pytest.mark.parametrize(
    ("call", "name"),
    [("doubled(None)", "ValueError"), ("doubled('x')", "RuntimeError"), ("doubled()", "TypeError")],
)
def test_an_exception_of_the_reference_keeps_its_type_but_not_its_message(answered, call, name):
    raised = answered(f"def f(x):\n    return {call}", "f").outcomes[0].raised
    assert (raised.type, raised.message) == (
        name,
        "raised by the grader's `doubled`, which was called instead of yours",
    )


def test_arguments_that_cannot_be_sent_raise_a_type_error(answered):
    raised = answered("def f(x):\n    return doubled(object())", "f").outcomes[0].raised
    assert raised.type == "TypeError"


def test_the_sandbox_holds_no_code_of_the_reference(answered):
    source = """
import gc, os, sys

def f(x):
    doubled(x)
    names = ("kept_outside", "references")
    modules = [thing for thing in gc.get_objects() if getattr(thing, "__name__", "") in names]
    docstrings = [c for c in (doubled, *doubled.__closure__) if "sesqui" in str(getattr(c, "__doc__", ""))]
    paths = []
    for folder, _, files in os.walk("/"):
        paths += [name for name in files if name == "kept_outside.py"]
    import references.kept_outside  # this gives a placeholder, which comes from no file
    paths += [references.kept_outside.__file__] if hasattr(references.kept_outside, "__file__") else []
    return len(modules), len(docstrings), paths
"""
    assert answered(source, "f").outcomes[0].value == (0, 0, [])


def test_the_number_of_questions_is_limited(answered):
    limits = replace(PATIENT, answered_calls=5)
    result = answered("def f(x):\n    return [doubled(x)[0] for _ in range(5)]", "f", "good", limits=limits)
    assert result.answered_calls["f"] == 5 and len(result.outcomes[0].value) == 5
    result = answered("def f(x):\n    return [doubled(x)[0] for _ in range(6)]", "f", "good", limits=limits)
    assert result.outcomes[0].stopped == "asked the grader for more than 5 values"
    np.testing.assert_array_equal(result.outcomes[1].value, 2 * X)


@pytest.mark.parametrize("body", ["doubled(np.zeros(2**18))", "large(2**18)"])
def test_the_bytes_of_questions_and_answers_are_limited(answered, body):
    limits = replace(PATIENT, answers_mb=5)
    assert answered(f"def f(x):\n    {body}\n    return 1", "f", limits=limits).outcomes[0].value == 1
    stopped = answered(f"def f(x):\n    for _ in range(4):\n        {body}", "f", limits=limits).outcomes[0].stopped
    assert stopped in (
        NOT_AN_ANSWER,
        "asked the grader for a value that exceeds its limits",
    )


@pytest.mark.parametrize(
    "call",
    thinned(["large(10**12)", "endless()", "large(3 * 10**7)"], ["large(10**12)", "endless()"], "another limit"),
)
def test_a_question_that_breaks_the_reference_stops_only_its_caller(answered, call):
    result = answered(f"def f(x):\n    return {call}", "f", "good", limits=replace(SHORT, patience=3.0))
    assert result.outcomes[0].stopped == "asked the grader for a value that exceeds its limits"
    np.testing.assert_array_equal(result.outcomes[1].value, 2 * X)


@pytest.mark.thorough("test_sandbox_run stops calls by the same alarm")
def test_an_alarm_during_a_question_does_not_break_the_exchange(answered):
    source = "def f(x):\n    while True:\n        doubled(x)\n\ndef g(x):\n    return doubled(x)[0]"
    # The patience lets the alarm come before the grader ends the process.
    limits = replace(SHORT, patience=60.0, answer_seconds=600.0, answered_calls=10**6)
    result = answered(source, "f", "g", limits=limits)
    assert result.outcomes[0].stopped == "used more than 2 seconds of processor time"
    np.testing.assert_array_equal(result.outcomes[1].value, 2 * X)
    assert result.notes == []


TOOLS = (
    FIND_CHANNEL
    + """
def ask(tree):
    data = json.dumps({"id": outstanding(), "question": tree, "arrays": []}).encode()
    os.write(runner().replies, struct.pack(">I", len(data)) + data)
    time.sleep(60)

def packed(**parts):
    return sys.modules['check.values'].pack({"function": "doubled", "args": (1,), "kwargs": {}, **parts})[0]
"""
)


@pytest.mark.parametrize(
    "tree",
    [
        "packed(function='exec', args=('1',))",
        "packed(function='answer')",
        "packed(function=1)",
        "packed(args=[1])",
        "packed(kwargs=None)",
        "packed(more=1)",
        "{'kind': 'array', 'index': 0}",
        "{'kind': 'code'}",
        "[1]",
        "None",
    ],
)
def test_a_question_that_is_not_about_an_answered_function_stops_its_caller(answered, tree):
    result = answered(f"{TOOLS}\ndef f(x):\n    ask({tree})", "f", "good")
    assert result.outcomes[0].stopped == NOT_AN_ANSWER and result.answered_calls["f"] == 0
    np.testing.assert_array_equal(result.outcomes[1].value, 2 * X)


def test_a_question_is_not_a_reply_if_no_function_is_answered(submit):
    assert submit(f"{TOOLS}\ndef f():\n    ask(packed())", "f", "good").outcomes[0].stopped == NOT_AN_ANSWER


IMPATIENT = f"{TOOLS.replace('    time.sleep(60)', '')}\ndef f(x):\n    ask(packed())\n    return 1"
# Then the process reads the answer and the next question at once.
WAITS_AFTER_ITS_REPLY = """
send = runner()._send
def _send(message, arrays):
    send(message, arrays)
    time.sleep(0.5)
runner()._send = _send
"""


@pytest.mark.parametrize("then", ["", WAITS_AFTER_ITS_REPLY])
def test_a_question_without_waiting_for_its_answer_stops_its_caller(answered, then):
    result = answered(IMPATIENT + then, "f", "good")
    assert result.outcomes[0].value is None and result.outcomes[0].stopped
    np.testing.assert_array_equal(result.outcomes[1].value, 2 * X)


def test_a_missing_reference_makes_the_sandbox_unavailable(answered):
    with pytest.raises(SandboxUnavailable, match="reference of tripled"):
        answered("", "good", functions=("tripled",))


def test_a_reference_may_take_longer_to_load_than_a_call_may(answered):
    """PyTorch's import takes seconds on a busy machine. Its failure ended the grading of the whole class."""
    short = replace(SHORT, call_seconds=0.1, patience=0.1)
    result = answered("", "good", limits=short, functions=("doubled",), module="slow_to_load")
    assert result.answered_calls == {"good": 0}


def test_a_reference_that_is_not_loaded_in_time_is_worth_a_retry(answered):
    short = replace(PATIENT, start_seconds=0.2, patience=0.2)
    with pytest.raises(MachineTooBusy, match="too busy"):
        answered("", "good", limits=short, functions=("doubled",), module="slow_to_load")


@pytest.fixture
def started(monkeypatch):
    """The references that were started."""
    started = []

    class Spied(references.Reference):
        def __init__(self, *args):
            started.append(self)
            super().__init__(*args)

    monkeypatch.setattr(references, "Reference", Spied)
    return started


CALLS_DOUBLED = "def f(x):\n    return doubled(x)[0]"


def test_the_runs_of_a_submission_share_one_reference(answered, started):
    with References(PATIENT, "bwrap") as shared:
        for functions in (("doubled",), ("doubled", "mean"), ("mean", "doubled")):
            result = answered(CALLS_DOUBLED, "f", functions=functions, shared=shared)
            np.testing.assert_array_equal(result.outcomes[0].value, 2 * X)
            assert result.answered_calls["f"] == 1
    assert len(started) == 1


def test_a_run_cannot_ask_about_the_functions_of_another_run(answered):
    """Otherwise an exercise could use the answer to itself."""
    with References(PATIENT, "bwrap") as shared:
        answered(CALLS_DOUBLED, "f", functions=("doubled",), shared=shared)
        result = answered(f"{TOOLS}\ndef f(x):\n    ask(packed())", "f", functions=("mean",), shared=shared)
    assert result.outcomes[0].stopped == NOT_AN_ANSWER and result.answered_calls["f"] == 0


@pytest.mark.parametrize(
    ("worn_out_by", "limits"),
    [
        ("large(10**12)", PATIENT),
        ("large(2**18)", replace(PATIENT, answers_mb=5)),  # the submission has sent a quarter of what it may send
    ],
)
def test_a_later_run_gets_a_new_reference_for_one_that_is_worn_out(answered, started, worn_out_by, limits):
    with References(limits, "bwrap") as shared:
        answered(f"def f(x):\n    {worn_out_by}", "f", limits=limits, shared=shared)
        result = answered(CALLS_DOUBLED, "f", limits=limits, shared=shared)
        np.testing.assert_array_equal(result.outcomes[0].value, 2 * X)
        assert len(started) == 2


def test_a_later_function_gets_a_new_reference_for_one_that_is_worn_out(answered, started):
    source = "def f(x):\n    large(10**12)\n\ndef g(x):\n    return doubled(x)[0]"
    np.testing.assert_array_equal(answered(source, "f", "g").outcomes[1].value, 2 * X)
    assert len(started) == 2


def test_a_reference_beside_code_of_another_user_is_not_of_that_user(bundle, monkeypatch):
    started = Mock()
    monkeypatch.setattr(references, "Process", started)
    with References(Limits(), "user") as waiting:
        waiting.holding({}, bundle, ())
    assert started.call_args.args[2] == "none"
