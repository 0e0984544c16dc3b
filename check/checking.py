"""`check(softmax)`: judge a student's function with the exercise's public key, and show the first thing wrong."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from html import escape
from importlib.util import find_spec
from typing import Any

from check import messages, scoring
from check.allowed_imports import foreign, refusal
from check.blank import is_blank, waits_for
from check.bundle_data import data_folder, sections_around
from check.caches import ANOTHER_CACHE, is_another_cache, place_of_cache
from check.calling import Outcome, Raised, run
from check.causes import Explanation, explain
from check.comparing import difference
from check.faults import CaseFaults, Verdict, judged_outputs
from check.harms.harmed import bound
from check.input_text import as_text
from check.key import Case, Key, load
from check.measuring import measured, shown_inputs
from check.picture import picture
from check.reachable import called
from check.showing import Shown, note, show
from check.tested import withheld
from check.verdicts_of_test import with_rejections
from check.while_running import printing_under, telling_what_runs
from check.words import prints_its_result

# nbgrader sets it when it validates or autogrades: https://nbgrader.readthedocs.io/en/stable/user_guide/faq.html
NBGRADER = "NBGRADER_EXECUTION"
# For readers who study alone, a function of an earlier chapter raises this exception until they have solved it.
UNSOLVED = "NotSolvedYet"


class CheckFailed(AssertionError):
    """A failed check; a notebook shows its headline instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"CheckFailed: {self}"]


class NoPyTorch(ModuleNotFoundError):
    """An exercise in PyTorch cannot be checked, because PyTorch is not installed."""


@dataclass(frozen=True, repr=False)
class Checked(Shown):
    """The result of an exercise, and the message that shows it.

    place: file and number of the line that raised an exception, if the message is about one.
    waits: whether the function calls an unsolved function of an earlier chapter, which is not a failure.
    """

    result: scoring.Result
    place: tuple[str, int] = ("", 0)
    waits: bool = False


def check(function: Callable) -> None:
    """Try a function on the public cases of its exercise and show the result.

    A stub is not a failure, and neither is a function that waits for an earlier one, unless nbgrader validates the
    notebook.

    Args:
        function: the function itself, not its value: `check(softmax)`.

    Raises:
        CheckFailed: a case fails; the first fault has been shown.
        TypeError: `function` is not a function.
        LookupError: no exercise has its name.
    """
    try:
        checked_function = checked(function)
    except NoPyTorch as missing:
        print(missing)
        return
    result = checked_function.result
    show(Shown(checked_function.text, messages.with_links(checked_function.html, sections_around(result.function))))
    excused = result.blank or checked_function.waits
    if not result.passed and (not excused or NBGRADER in os.environ):
        raise CheckFailed(messages.headline(result))


def checked(function: Callable) -> Checked:
    """Check a function without showing anything, for callers that show the result themselves.

    Args:
        function: the function itself, named after its exercise.

    Returns:
        Checked; `result.passed` says whether the function passed.

    Raises:
        NoPyTorch: it is a PyTorch module, and PyTorch is not installed.
        TypeError: `function` is not a function.
        LookupError: no exercise has its name.
    """
    if not callable(function) or not hasattr(function, "__name__"):
        raise TypeError("check needs the function itself, as in check(softmax), not the value that it returns")
    if isinstance(function, type) and find_spec("torch") is None:
        name = function.__name__
        raise NoPyTorch(
            f"{name} is a PyTorch module, and PyTorch is not installed: pip install torch, then check again."
        )
    return tried(function, public_key(_name(function)))


def _name(function: Callable) -> str:
    """The name of a function; for a lambda, the name that its notebook gives it."""
    if function.__name__ != "<lambda>":
        return function.__name__
    names = getattr(function, "__globals__", {}).items()
    return next((name for name, value in names if value is function), function.__name__)


def tried(function: Callable, key: Key, own: dict[str, Any] | None = None) -> Checked:
    """Check a function of any name with a key.

    own: the right functions on which a test is tried, by name; by default those of the function's notebook.
    """
    outcomes = _outcomes(function, key, own)
    case_faults = scoring.faults_of_cases(key, outcomes)
    why = explain(key, outcomes, case_faults)
    result = scoring.result_of(key, case_faults, why)
    if not result.passed:
        result = replace(result, mend_first=_failing_helpers(function, key))
    elif has_another_cache(key, outcomes):
        result = replace(result, found=(ANOTHER_CACHE,))
    if result.blank:
        message = note(_not_written(function, result, key.tests))
        return Checked(message.text, message.html, result)
    raised = (outcome.raised for outcome in outcomes if outcome.raised)
    if unsolved := next((error.message for error in raised if error.type == UNSOLVED), ""):
        message = note(f"`{key.function}` waits for another exercise. {unsolved}.")
        return Checked(message.text, message.html, result, waits=True)
    return Checked(*_message(key, outcomes, case_faults, result, why), result, _place(key, outcomes, result))


def has_another_cache(key: Key, outcomes: list[Outcome]) -> bool:
    """Whether a passing function's cache differs from the one in the key."""
    place = place_of_cache(key)
    if place is None:
        return False
    case = key.cases[place]
    return is_another_cache(key, case, case.expected.value, outcomes[place].value)


def _place(key: Key, outcomes: list[Outcome], result: scoring.Result) -> tuple[str, int]:
    """The place of the exception that the message is about, or ("", 0)."""
    if result.verdict is None or result.verdict.kind != "raised":
        return "", 0
    raised = [outcome.raised for case, outcome in zip(key.cases, outcomes, strict=True) if case.name == result.case]
    return raised[0].place if raised and raised[0] else ("", 0)


def _not_written(function: Callable, result: scoring.Result, tested: str) -> str:
    if tested and not is_blank(function):
        return (
            f"`{result.function}` is tried on your own `{tested}`, with mistakes added. First write `{tested}` until "
            f"it passes its check, then check this again."
        )
    if other := waits_for(function):
        return f"`{result.function}` waits for `{other}`, which is not written yet."
    fault = messages.first_fault(result)
    return fault if " calls " in fault else f"{fault} {messages.where_to_begin(result)}"


def _outcomes(function: Callable, key: Key, own: dict[str, Any] | None = None) -> list[Outcome]:
    """Call a function on each case; as in grading, do not call one that uses forbidden modules.

    If the student's own function that a test should judge is wrong, the test is not called and counts as blank.
    """
    if not isinstance(function, type) and (names := foreign(function)):
        return [Outcome(raised=Raised("ImportError", refusal(names[0])))] * len(key.cases)
    if own is None:
        own = getattr(function, "__globals__", {})
        if key.tests and not _is_solved(own.get(key.tests), key.tests):
            return [Outcome(raised=Raised("NotImplementedError", ""))] * len(key.cases)
    outcomes, stream = [Outcome()] * len(key.cases), sys.stdout
    # A test meets wrong functions first. Otherwise it could accept the student's own and remember its values.
    order = sorted(range(len(key.cases)), key=lambda i: bool(key.tests) and key.cases[i].expected.value is True)
    with telling_what_runs(key.function) as begins:
        for i in order:
            case = key.cases[i]
            begins(case.name)
            with printing_under(case.name, stream) as printed:
                inputs = bound(case.inputs, own)
                with withheld(own, {key.tests}):
                    outcome = run(function, inputs)
            outcomes[i] = measured(key.measure, case, outcome)
            returns_nothing = outcome.value is None and not outcome.raised and case.expected.value is not None
            if printed.is_used and returns_nothing and stream is sys.stdout:
                print(prints_its_result(key.function))
                stream = io.StringIO()  # the other cases print the same
    return with_rejections(key, outcomes)


def _has_key(name: str) -> bool:
    return (data_folder() / "keys" / f"{name}.npz").is_file()


def public_key(name: str) -> Key:
    """Return the public key of an exercise. Raises LookupError, naming the exercises that have one."""
    keys = data_folder() / "keys"
    if _has_key(name):
        return load(keys / f"{name}.npz")
    if not keys.is_dir():
        raise LookupError(f"there are no answer keys in {keys}: use `check` in the folder of an unzipped chapter")
    if name == "<lambda>":
        raise LookupError("a lambda has no name: write the function with def")
    names = ", ".join(sorted(file.stem for file in keys.glob("*.npz")))
    raise LookupError(f"there is no exercise called {name!r} here; there are: {names}")


def _failing_helpers(function: Callable, key: Key) -> tuple[str, ...]:
    """The names of the exercises that the function calls and that fail their own check."""
    values = getattr(function, "__globals__", {})
    others = [name for name in called(function, _has_key) if name != key.function]
    callables = {name: values[name] for name in others if callable(values.get(name))}
    return tuple(name for name, value in callables.items() if not passes(value, public_key(name)))


def _is_solved(function: Any, name: str) -> bool:
    return callable(function) and passes(function, public_key(name))


def passes(function: Callable, key: Key) -> bool:
    return all(aspect.holds for aspect in quietly_tried(function, key))


def quietly_tried(function: Callable, key: Key) -> tuple[scoring.Aspect, ...]:
    """Return what a function earns on the cases of a key, and discard what it prints."""
    with redirect_stdout(io.StringIO()):
        outcomes = _outcomes(function, key)
    return scoring.aspects_of(key, scoring.faults_of_cases(key, outcomes))


def _message(
    key: Key, outcomes: list[Outcome], case_faults: CaseFaults, result: scoring.Result, why: Explanation | None
) -> tuple[str, str]:
    text, more = messages.as_text(result), []
    if why and result.verdict and not key.tests:
        case = key.cases[why.shown]
        inputs = as_text(shown_inputs(key, case), result.verdict.message)
        least = min(other.size for other, found in zip(key.cases, case_faults, strict=True) if found)
        title = "The smallest failing input" if case.size == least else "The smallest input that fails in this way"
        text += f"\n{title}: {inputs}"
        more = [
            f"<details><summary>{title}</summary><pre>{escape(inputs)}</pre></details>",
            *_pictures(key, case, outcomes[why.shown], result.verdict),
        ]
    return text, messages.as_html(result, *more)


def _pictures(key: Key, case: Case, outcome: Outcome, verdict: Verdict) -> list[str]:
    """A picture of the first wrong output, if the verdict is about values."""
    if verdict.kind not in ("nan", "value") or key.measure:
        return []
    outputs = judged_outputs(key, case.expected.value, outcome.value)
    return [picture(e, v, name) for name, e, v in outputs if difference(e, v, name, "", key.tolerance)][:1]
