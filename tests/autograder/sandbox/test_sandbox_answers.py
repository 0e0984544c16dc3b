"""Functions that are answered for: the values come over the pipe, so many of them, and the code stays where it is."""

from dataclasses import replace

import numpy as np
import pytest

from autograder.sandbox import AnsweredFunctions, Call, Cell, SandboxUnavailable, run
from tests.autograder.sandbox.conftest import GOOD, QUICK, X
from tests.forging_tools import FINDING_THE_CHANNEL
from tests.patience import PATIENT

pytestmark = pytest.mark.sandbox
NOT_AN_ANSWER = "sent something that is not an answer"

REFERENCE = '''\
import time

import numpy as np


class Odd(Exception):
    pass


def doubled(x, *, more=0):
    """A word that nobody can know: sesquipedalian."""
    if x is None:
        raise ValueError("sesquipedalian")
    if isinstance(x, str):
        raise Odd("sesquipedalian")
    return 2 * x + more, {"x": x}


def drawn(rng, size):
    return rng.normal(size=size)


def large(n):
    return np.ones(n)


def slow(seconds):
    time.sleep(seconds)


def mean(x):
    return np.mean(x)
'''
WRONG = "def doubled(x):\n    return x\n\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    (folder / "theirs").mkdir()
    (folder / "theirs" / "kept_apart.py").write_text(REFERENCE)
    return folder


@pytest.fixture
def answered(bundle, folder):
    """answered(source, *names): as `submit`, with every function of REFERENCE answered for; `f` is given X as x."""

    def answered(source, *names, limits=PATIENT, kind="bwrap", functions=("doubled", "drawn", "large", "slow", "mean")):
        answers = AnsweredFunctions(dict.fromkeys(functions, "theirs.kept_apart"), folder)
        calls = [Call(name, {"x": X}) for name in names]
        cells = [Cell("good", GOOD), Cell("mine", WRONG + source)]
        return run(cells, calls, bundle=bundle, limits=limits, kind=kind, answered=answers)

    return answered


@pytest.mark.parametrize("kind", ["bwrap", "none"])
def test_what_calls_a_wrong_function_gets_right_values(answered, kind):
    done = answered("def f(x):\n    value, cache = doubled(x, more=1)\n    return value, cache", "f", kind=kind)
    value, cache = done.outcomes[0].value
    np.testing.assert_array_equal(value, 2 * X + 1)
    np.testing.assert_array_equal(cache["x"], X)
    assert done.questions == 1 and done.notes == []


def test_cells_run_before_anything_is_answered(answered):
    done = answered("seen = doubled(3)\ndef f(x):\n    return seen, doubled(3)[0]", "f")
    assert done.outcomes[0].value == (3, 6)


def test_a_generator_moves_on_as_if_it_had_been_used_here(answered):
    source = "def f(x):\n    rng = np.random.default_rng(5)\n    return drawn(rng, 3), drawn(rng, size=2), rng.normal()"
    first, second, third = answered(source, "f").outcomes[0].value
    expected = np.random.default_rng(5).normal(size=6)
    np.testing.assert_array_equal([*first, *second, third], expected)


def test_a_number_is_a_number(answered):
    assert answered("def f(x):\n    return type(mean(x)).__name__", "f").outcomes[0].value == "float64"


@pytest.mark.parametrize(
    ("call", "name"),
    [("doubled(None)", "ValueError"), ("doubled('x')", "RuntimeError"), ("doubled()", "TypeError")],
)
def test_an_exception_comes_as_its_type_and_in_our_words(answered, call, name):
    raised = answered(f"def f(x):\n    return {call}", "f").outcomes[0].raised
    assert (raised.type, raised.message) == (
        name,
        "raised by the grader's `doubled`, which was called instead of yours",
    )


def test_what_cannot_be_sent_is_an_exception_too(answered):
    raised = answered("def f(x):\n    return doubled(object())", "f").outcomes[0].raised
    assert raised.type == "TypeError"


def test_nothing_of_the_code_is_there(answered):
    source = """
import gc, os, sys

def f(x):
    doubled(x)
    kept = [thing for thing in gc.get_objects() if getattr(thing, "__name__", "") in ("kept_apart", "theirs")]
    held = [c for c in (doubled, *doubled.__closure__) if "sesqui" in str(getattr(c, "__doc__", ""))]
    seen = []
    for folder, _, files in os.walk("/"):
        seen += [name for name in files if name == "kept_apart.py"]
    import theirs.kept_apart  # what is not there can be imported, and comes from no file
    seen += [theirs.kept_apart.__file__] if hasattr(theirs.kept_apart, "__file__") else []
    return len(kept), len(held), seen
"""
    assert answered(source, "f").outcomes[0].value == (0, 0, [])


def test_questions_are_counted(answered):
    limits = replace(PATIENT, questions=5)
    done = answered("def f(x):\n    return [doubled(x)[0] for _ in range(5)]", "f", "good", limits=limits)
    assert done.questions == 5 and len(done.outcomes[0].value) == 5
    done = answered("def f(x):\n    return [doubled(x)[0] for _ in range(6)]", "f", "good", limits=limits)
    assert done.outcomes[0].stopped == "asked the grader for more than 5 values"
    np.testing.assert_array_equal(done.outcomes[1].value, 2 * X)


@pytest.mark.parametrize("body", ["doubled(np.zeros(2**18))", "large(2**18)"])
def test_bytes_are_counted_both_ways(answered, body):
    limits = replace(PATIENT, answers_mb=5)
    assert answered(f"def f(x):\n    {body}\n    return 1", "f", limits=limits).outcomes[0].value == 1
    stopped = answered(f"def f(x):\n    for _ in range(4):\n        {body}", "f", limits=limits).outcomes[0].stopped
    assert stopped in (
        NOT_AN_ANSWER,
        "asked the grader for a value that exceeds its limits",
    )


@pytest.mark.parametrize("call", ["large(10**12)", "slow(60)", "large(3 * 10**7)"])
def test_what_the_reference_cannot_bear_costs_the_one_who_asked(answered, call):
    done = answered(f"def f(x):\n    return {call}", "f", "good", limits=replace(QUICK, patience=3.0))
    assert done.outcomes[0].stopped == "asked the grader for a value that exceeds its limits"
    np.testing.assert_array_equal(done.outcomes[1].value, 2 * X)


def test_an_alarm_between_question_and_answer_confuses_neither(answered):
    source = "def f(x):\n    while True:\n        doubled(x)\n\ndef g(x):\n    return doubled(x)[0]"
    done = answered(source, "f", "g", limits=QUICK)
    assert done.outcomes[0].stopped == "took longer than 2 seconds"
    np.testing.assert_array_equal(done.outcomes[1].value, 2 * X)
    assert done.notes == []


TOOLS = (
    FINDING_THE_CHANNEL
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
def test_a_question_about_anything_else_is_none(answered, tree):
    done = answered(f"{TOOLS}\ndef f(x):\n    ask({tree})", "f", "good")
    assert done.outcomes[0].stopped == NOT_AN_ANSWER and done.questions == 0
    np.testing.assert_array_equal(done.outcomes[1].value, 2 * X)


def test_where_nothing_is_answered_a_question_is_no_reply(submit):
    assert submit(f"{TOOLS}\ndef f():\n    ask(packed())", "f", "good").outcomes[0].stopped == NOT_AN_ANSWER


def test_an_answer_that_is_not_waited_for_costs_the_one_who_asked(answered):
    source = f"{TOOLS.replace('    time.sleep(60)', '')}\ndef f(x):\n    ask(packed())\n    return 1"
    done = answered(source, "f", "good")
    assert done.outcomes[0].value is None and done.outcomes[0].stopped
    np.testing.assert_array_equal(done.outcomes[1].value, 2 * X)


def test_a_reference_that_is_not_there_is_nobodys_fault(answered):
    with pytest.raises(SandboxUnavailable, match="reference of tripled"):
        answered("", "good", functions=("tripled",))
