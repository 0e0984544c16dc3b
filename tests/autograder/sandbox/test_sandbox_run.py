"""Honest code runs as in a notebook, and code that breaks affects only itself."""

import os
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest

from autograder.sandbox import Call, Cell, MachineTooBusy, SandboxUnavailable, process, run
from autograder.sandbox.launch import launch
from autograder.sandbox.process import Process
from autograder.sandbox.starting import close_with
from check.calling import Raised
from tests.autograder.sandbox.conftest import GOOD, SHORT, X
from tests.choosing import thinned
from tests.patience import PATIENT

pytestmark = pytest.mark.sandbox
KINDS = pytest.mark.parametrize("kind", thinned(["bwrap", "none"], ["bwrap"], "the same limits without its walls"))


@KINDS
def test_cells_share_a_namespace_and_functions_answer_in_order(bundle, kind):
    cells = [
        Cell("setup", "import numpy as np\nfactor = 3"),
        Cell("f", "def f(x):\n    return factor * x, {'n': len(x)}"),
    ]
    calls = [Call("f", {"x": X}), Call("f", {"x": X.astype(np.float32)}), Call("f", {"x": X[:0]})]
    result = run(cells, calls, bundle=bundle, limits=PATIENT, kind=kind)
    assert result.cells == {"setup": None, "f": None} and result.notes == []
    for call, outcome in zip(calls, result.outcomes, strict=True):
        value, cache = outcome.value
        np.testing.assert_array_equal(value, 3 * call.inputs["x"])
        assert value.dtype == call.inputs["x"].dtype and cache == {"n": len(call.inputs["x"])}


@KINDS
def test_imports_come_from_the_bundle(ask, bundle, kind):
    source = """
from check import check
from solutions.earlier import halve
import figures
assert __name__ == "__main__" and "__file__" not in globals()
display("shown to nobody")
def look():
    return check(look), halve(4.0), figures.INK
"""
    assert ask(source, "look", kind=kind).value == (None, 2.0, "black")


def test_files_of_the_bundle_are_found_beside_the_notebook(ask):
    assert ask("def look():\n    return open('poem.txt').read()", "look").value == "shipped with the chapter"


def test_an_exception_names_the_line_of_the_student(ask):
    outcome = ask("def f():\n    rows = 3\n    return rows / 0", "f")
    assert outcome.raised == Raised("ZeroDivisionError", "division by zero", "line 3: return rows / 0")


def test_the_line_that_raised_is_read_from_the_submitted_source(ask):
    source = "class Odd(Exception):\n    pass\ndef f():\n    eval(compile('1 / 0', '<cell mine>', 'eval'))"
    assert ask(source, "f").raised.line == "line 1: class Odd(Exception):"
    elsewhere = source.replace("<cell mine>", "<cell 0.25 0.5>")
    assert ask(elsewhere, "f").raised.line == ""


def test_a_cell_that_raises_stops_no_other(submit):
    result = submit("def early():\n    return 1\nraise ValueError('half way')", "early", "good")
    assert result.cells["mine"] == Raised("ValueError", "half way", "line 3: raise ValueError('half way')")
    assert result.outcomes[0].value == 1


def test_what_a_cell_defines_after_it_raised_counts_if_nothing_else_does(bundle):
    raising = """
def first():
    return "before"
raise ValueError(
    "in a cell")
import math
from math import nothing_of_that_name
@missing
def undecorated():
    return 0
class Number(int):
    pass
def first():
    return "after"
def earlier():
    return "after"
def later():
    return "after"
def max(x):
    return "after"
@staticmethod
def function(x=math.pi):
    return int(Number(x))
not_run = 3
if True:
    def not_run():
        return 4
"""
    cells = [
        Cell("before", "def earlier():\n    return 'before'"),
        Cell("mine", raising),
        Cell("after", "def later():\n    return 'later'\ndef largest():\n    return max([1, 3, 2])"),
    ]
    names = ["first", "earlier", "later", "largest", "function", "undecorated", "not_run"]
    result = run(cells, [Call(name, {}) for name in names], bundle=bundle, limits=PATIENT)
    assert result.cells["mine"] == Raised("ValueError", "in a cell", "line 4: raise ValueError(")
    assert [outcome.value for outcome in result.outcomes] == ["before", "before", "later", 3, 3, None, None]
    assert [outcome.raised.type for outcome in result.outcomes[5:]] == ["NameError"] * 2


def test_definitions_after_an_exception_have_the_time_of_their_cell(submit):
    source = "1 / 0\ndef defined(x=[0 for _ in iter(int, 1)]):\n    pass"
    result = submit(source, "good", limits=SHORT)
    assert result.cells["mine"] == "used more than 3 seconds of processor time"
    assert result.outcomes[0].value is not None


def test_a_cell_that_is_not_python_stops_no_other(submit):
    for source in ("def f(:", "\0", "(" * 5000):
        result = submit(source, "good")
        assert isinstance(result.cells["mine"], Raised) and result.outcomes[0].value is not None


AWAITING = {
    "a coroutine": "async def three():\n    return 3\nresult = await three()",
    "a pause": "import asyncio\nawait asyncio.sleep(0)\nawait asyncio.sleep(0.02)\nresult = 3",
    "several coroutines": (
        "import asyncio\nasync def slept(seconds):\n    await asyncio.sleep(seconds)\n    return seconds\n"
        "result = 3 if await asyncio.gather(slept(0.02), slept(0.01)) == [0.02, 0.01] else None"
    ),
    "a thread": "import asyncio\nresult = await asyncio.to_thread(lambda: 3)",
    "an iterator": (
        "async def numbers():\n    yield 1\n    yield 2\nresult = 0\n"
        "async for number in numbers():\n    result += number"
    ),
}


@KINDS
@pytest.mark.parametrize("source", AWAITING.values(), ids=AWAITING)
def test_a_cell_may_await(submit, source, kind):
    result = submit(f"{source}\ndef f():\n    return result", "f", kind=kind)
    assert (result.cells["mine"], result.outcomes[0].value) == (None, 3)


def test_a_cell_may_await_the_task_of_another(bundle):
    started = (
        "import asyncio\nasync def three():\n    return 3\ntask = asyncio.create_task(three())\nawait asyncio.sleep(0)"
    )
    cells = [Cell("1", started), Cell("2", "result = await task\ndef f():\n    return result")]
    assert run(cells, [Call("f", {})], bundle=bundle, limits=PATIENT).outcomes[0].value == 3


def test_an_exception_in_a_cell_that_awaits_names_its_line(submit):
    source = "import asyncio\nasync def fails():\n    return 1 / 0\nawait asyncio.gather(fails())"
    raised = submit(source, "good").cells["mine"]
    assert raised == Raised("ZeroDivisionError", "division by zero", "line 3: return 1 / 0")


def test_a_cell_that_awaits_without_end_is_stopped(submit):
    result = submit("import asyncio\nwhile True:\n    await asyncio.sleep(0)", "good", limits=SHORT)
    assert result.cells["mine"] == "used more than 3 seconds of processor time"
    assert result.outcomes[0].value is not None


def test_a_missing_function_is_named(ask):
    outcome = ask("", "softmax")
    assert outcome.raised == Raised("NameError", "softmax is not defined: was its cell deleted or did it fail?")


def test_the_message_on_a_missing_function_names_what_its_cell_defines(bundle):
    source = "def row_max(x):\n    return x.max(-1)\n\ndef soft_max(x):\n    return x\n\nsize = 3"
    outcome = run([Cell("softmax", source)], [Call("softmax", {})], bundle=bundle, limits=PATIENT).outcomes[0]
    assert outcome.raised.message == "softmax is not defined: its cell defines row_max, soft_max and no softmax."


def test_sys_exit_counts_as_an_exception(ask):
    assert ask("import sys\ndef f():\n    sys.exit('bye')", "f").raised.type == "SystemExit"


def test_input_raises_an_exception(ask):
    assert "no one can type" in ask("def f():\n    return input('? ')", "f").raised.message


def test_a_changed_input_is_reported(bundle):
    cell = Cell("f", "def f(x):\n    x += 1\n    return x")
    inputs = {"x": X.copy()}
    result = run([cell], [Call("f", inputs)], bundle=bundle, limits=PATIENT)
    assert result.outcomes[0].modified == ("x",)
    np.testing.assert_array_equal(inputs["x"], X)


def test_a_changed_input_is_reported_even_if_the_original_is_changed_too(bundle):
    cell = Cell(
        "f", "import sys\ndef f(x):\n    x += 1\n    sys._getframe(1).f_locals['inputs']['x'] += 1\n    return 1"
    )
    result = run([cell], [Call("f", {"x": X.copy()})], bundle=bundle, limits=PATIENT)
    assert result.outcomes[0].value == 1 and result.outcomes[0].modified == ("x",)


def test_large_arrays_can_be_sent_both_ways(bundle):
    big = np.random.default_rng(0).normal(size=2**20)
    result = run([Cell("f", "def f(x):\n    return -x")], [Call("f", {"x": big})], bundle=bundle, limits=PATIENT)
    np.testing.assert_array_equal(result.outcomes[0].value, -big)


def test_random_generators_can_be_sent(bundle):
    cell = Cell("f", "def f(rng):\n    return rng.normal(size=3)")
    result = run([cell], [Call("f", {"rng": np.random.default_rng(5)})], bundle=bundle, limits=PATIENT)
    np.testing.assert_array_equal(result.outcomes[0].value, np.random.default_rng(5).normal(size=3))


def test_threads_can_be_used(ask):
    source = (
        "import threading\ndef f():\n    t = threading.Thread(target=print)\n    t.start()\n    t.join()\n    return 1"
    )
    assert ask(source, "f").value == 1


def test_a_function_that_hangs_is_not_called_again(submit, monkeypatch):
    asked, ask = [], Process.ask
    monkeypatch.setattr(
        Process,
        "ask",
        lambda self, question, *rest, **limits: asked.append(question) or ask(self, question, *rest, **limits),
    )
    result = submit("def f():\n    while True:\n        pass", "f", "f", "f", "good", limits=SHORT)
    assert [outcome.stopped for outcome in result.outcomes[:3]] == ["used more than 2 seconds of processor time"] * 3
    assert result.outcomes[3].value is not None
    assert [question["function"] for question in asked if question["do"] == "call"] == ["f", "good"]


@KINDS
def test_a_function_that_swallows_the_interruption_ends_one_process(submit, kind):
    source = """
def f():
    while True:
        try:
            while True:
                n = 1
        except BaseException:
            n = 2
"""
    result = submit(source, "good", "f", "good", "f", kind=kind, limits=SHORT)
    assert [o.stopped for o in result.outcomes] == [
        "",
        "used more than 2 seconds of processor time",
        "",
        "used more than 2 seconds of processor time",
    ]
    assert result.notes == ["function f used more than 2 seconds of processor time; the rest ran in a new process"]


@pytest.mark.thorough("the same for a cell as for a function")
def test_a_cell_that_hangs_is_not_run_again(submit):
    source = "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0)\nwhile True:\n    n = 1"
    result = submit(source, "good", limits=SHORT)
    assert result.cells == {"good": None, "mine": "used more than 3 seconds of processor time"}
    assert result.outcomes[0].value is not None


def test_a_long_call_into_c_is_stopped(ask):
    outcome = ask("def f():\n    return sum(range(10**12))", "f", limits=SHORT)
    assert outcome.stopped == "used more than 2 seconds of processor time"


@KINDS
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import os\ndef f():\n    os._exit(3)", "ended the Python process (exit status 3)"),
        ("import ctypes\ndef f():\n    ctypes.string_at(0)", "crashed the Python process (Segmentation fault)"),
        ("import os\ndef f():\n    os.abort()", "crashed the Python process (Aborted)"),
        ("import os\ndef f():\n    os.kill(os.getpid(), 9)", "was killed, perhaps because it needed more than"),
    ],
)
def test_a_function_that_ends_the_process_is_stopped_for_a_reason(ask, source, words, kind):
    assert ask(source, "f", kind=kind).stopped.startswith(words)


def test_a_cell_that_ends_the_process_stops_no_other(submit):
    result = submit("import os\nos._exit(0)", "good")
    assert result.cells["mine"] == "ended the Python process (exit status 0)" and result.outcomes[0].value is not None


@KINDS
def test_too_much_memory_at_once_stops_the_function(ask, kind):
    assert ask("def f():\n    return np.ones(50 * 2**27)", "f", kind=kind).stopped == "used more than 2048 MB of memory"


def test_too_much_memory_in_small_steps_stops_the_function(ask):
    limits = replace(PATIENT, memory_mb=300)
    outcome = ask(
        "kept = []\ndef f():\n    for _ in range(10**6):\n        kept.append(bytes(2**20))", "f", limits=limits
    )
    assert outcome.stopped == "used more than 300 MB of memory"


@pytest.mark.parametrize("memory_mb", [132, 150, 180, 204, 300])
def test_deep_recursion_stops_the_function(ask, memory_mb):
    """The recursion ends at the limit of memory or, on a slow machine, of time."""
    source = "import sys\nsys.setrecursionlimit(10**9)\ndef f(n=0):\n    return f(n + 1)"
    assert ask(source, "f", limits=replace(SHORT, memory_mb=memory_mb)).stopped


def test_a_value_that_is_too_large_is_not_accepted(ask):
    source = "def f():\n    return np.zeros(2**21, np.int8)"
    assert (
        ask(source, "f", limits=replace(PATIENT, answers_mb=1)).stopped == "returned more data than the grader accepts"
    )
    source = "def f():\n    return [[0.5] * 1000] * 1000"
    assert ask(source, "f").value.type_name == "value too large to look at"


def test_values_that_are_too_large_together_are_not_accepted(submit):
    limits = replace(PATIENT, answers_mb=5)
    result = submit("def f():\n    return np.zeros(2**18)", *["f"] * 4, limits=limits)
    assert [outcome.value is not None for outcome in result.outcomes] == [True, True, False, False]


def test_output_is_discarded(ask):
    flood = "for _ in range(200):\n        print('x' * 10**6)\n        os.write(2, bytes(10**6))"
    assert ask(f"import os\ndef f():\n    {flood}\n    return 1", "f").value == 1


@pytest.mark.thorough("it waits twenty seconds; processor time has such a limit too")
def test_the_whole_submission_has_a_time_limit(submit):
    source = "import time\ndef f():\n    return 1\ndef g():\n    time.sleep(600)"
    result = submit(source, "f", "g", "g", "good", limits=replace(PATIENT, wall_seconds=20))
    words = "was not finished when the whole submission had taken 20 seconds"
    assert result.outcomes[0].value == 1 and [o.stopped for o in result.outcomes[1:]] == [words] * 3


def test_long_experiments_leave_time_for_the_exercises(bundle):
    limits = replace(SHORT, cell_seconds=2.0, own_cells_seconds=2.0, processor_seconds=8.0)
    endless = [Cell(f"{n} of your own", "while True:\n    pass", own=True) for n in range(1, 7)]
    helper = Cell("7 of your own", "def helper():\n    return 7", own=True)
    cells = [*endless, helper, Cell("f", "def f():\n    return helper()")]
    ran = run(cells, [Call("f", {})], bundle=bundle, limits=limits)
    assert ran.outcomes[0].value == 7 and ran.cells["7 of your own"] is None
    assert ran.cells["1 of your own"] == "used more than 1 second of processor time"
    assert ran.cells["6 of your own"] == "used more than 0.4 seconds of processor time"


def test_a_long_experiment_is_executed_in_the_first_process_only(bundle):
    long = "import time\nend = time.process_time() + 1\nwhile time.process_time() < end:\n    pass\nlong = True"
    cells = [
        Cell("1 of your own", long, own=True, experiment=True),
        Cell("2 of your own", "short = True", own=True, experiment=True),
        Cell("f", "def f():\n    return [name for name in ('long', 'short') if name in globals()]"),
    ]
    calls = [Call("f", {}, group="a"), Call("f", {}, group="b")]
    ran = run(cells, calls, bundle=bundle, limits=PATIENT)
    assert [outcome.value for outcome in ran.outcomes] == [["long", "short"], ["short"]]
    assert ran.long_experiments == {"1 of your own"}
    assert ran.cells == dict.fromkeys(["1 of your own", "2 of your own", "f"])


def test_the_whole_submission_has_a_limit_of_processor_time(submit):
    source = """
import time
def f():
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass
    return 1
def g():
    import os
    os._exit(0)
"""
    many = replace(PATIENT, processor_seconds=1.2)
    words = "was not finished when the whole submission had used 1.2 seconds of processor time"
    # What the first process used is not left for the next.
    result = submit(source, "f", "g", "f", "f", "f", "good", limits=many)
    assert result.outcomes[0].value == 1 and "ended" in result.outcomes[1].stopped
    assert [outcome.stopped for outcome in result.outcomes[-2:]] == [words, words]
    assert words in result.notes[-1]


@pytest.mark.thorough("test_sandbox_clocks shows it for one call")
def test_processor_time_is_summed_over_threads(submit):
    source = """
import threading, time, numpy as np
def f():
    x = np.random.default_rng(0).normal(size=2**18)
    def sort():
        while True:
            np.sort(x)
    for _ in range(2):
        threading.Thread(target=sort, daemon=True).start()
    time.sleep(600)
"""
    result = submit(source, "f", "good", limits=replace(PATIENT, processor_seconds=1.5))
    assert "1.5 seconds of" in result.outcomes[0].stopped  # whether the grader or the kernel stops it


def test_without_calls_the_cells_still_run(submit):
    assert submit("1 / 0").cells["mine"].type == "ZeroDivisionError"


def test_only_root_can_run_code_as_another_user(bundle, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SandboxUnavailable, match="Only root can"):
        run([Cell("good", GOOD)], [], bundle=bundle, kind="user")


def test_an_unknown_kind_of_sandbox_raises_an_exception(bundle):
    with pytest.raises(ValueError, match="bwrap or user or none"):
        run([Cell("good", GOOD)], [], bundle=bundle, kind="docker")


@pytest.fixture
def silent(monkeypatch):
    """Sandboxes that never say that they are ready."""
    with ExitStack() as stack:

        def launch_silently(*args):
            replies, kept_open = os.pipe()
            close_with(stack, replies, kept_open)
            os.set_blocking(replies, False)
            return replace(launch(*args), replies=replies)

        monkeypatch.setattr(process, "launch", launch_silently)
        yield


@pytest.mark.usefixtures("silent")
def test_a_sandbox_that_does_not_start_in_time_is_worth_a_retry(bundle):
    with pytest.raises(MachineTooBusy, match=r"did not start within 0\.05 seconds\. The machine may be too busy"):
        run([Cell("good", GOOD)], [], bundle=bundle, limits=replace(PATIENT, start_seconds=0.05), kind="none")
