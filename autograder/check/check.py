"""`check(softmax)`: what a student presses. It judges with the public key, and shows what is wrong first."""

import sys
from collections.abc import Callable
from functools import cache
from html import escape
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from autograder.check import judge, render
from autograder.check.calling import Outcome, run
from autograder.check.comparing import difference
from autograder.check.explain import explain
from autograder.check.faults import Verdict, judged_outputs
from autograder.check.key import Case, Key, load
from autograder.check.picture import picture

KEYS = Path(__file__).with_name("keys")


class CheckFailed(AssertionError):
    """A check that failed, shown as its headline and not as a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"CheckFailed: {self}"]


class _Shown:
    """Something to display: HTML where there is HTML, plain text elsewhere."""

    def __init__(self, text: str, html: str) -> None:
        self.text, self.html = text, html

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def check(function: Callable) -> None:
    """Try a function on the public cases of its exercise and show how it came out.

    Args:
        function: the function itself, not its value: `check(softmax)`.

    Raises:
        CheckFailed: some case does not hold; what is wrong first has been shown.
        TypeError: `function` is no function.
        LookupError: no exercise has its name.
    """
    if not callable(function) or not hasattr(function, "__name__"):
        raise TypeError("check wants the function itself, as in check(softmax), and not what it returned")
    if isinstance(function, type) and find_spec("torch") is None:
        print(f"{function.__name__} is a PyTorch module, and PyTorch is not here: pip install torch, then check again.")
        return
    key = public_key(function.__name__)
    outcomes = [run(function, case.inputs) for case in key.cases]
    result = judge.blame_what_is_used(judge.grade(key, outcomes), key, _failing_helpers(function, key))
    _show(_Shown(*_words(key, outcomes, result)))
    if not result.passed:
        raise CheckFailed(render.headline(result))


def public_key(name: str) -> Key:
    """The public key of an exercise. Raises LookupError, naming the exercises there are."""
    if (KEYS / f"{name}.npz").is_file():
        return load(KEYS / f"{name}.npz")
    if not KEYS.is_dir():
        return _house()(name)
    there = ", ".join(sorted(file.stem for file in KEYS.glob("*.npz")))
    raise LookupError(f"there is no exercise called {name!r} here; there are: {there}")


@cache
def _house() -> Callable[[str], Key]:
    """What makes a public key in the authors' house, where none is stored and so none can be stale.

    Its name stands in pyproject.toml: nothing that students get leans on it.
    """
    (house,) = entry_points(group="autograder.public_keys")
    return house.load()


def _failing_helpers(function: Callable, key: Key) -> set[str]:
    """Names of the exercises that the function calls and that fail their own check."""
    theirs = getattr(function, "__globals__", {})
    return {name for name in key.uses if callable(theirs.get(name)) and not _passes(theirs[name], public_key(name))}


def _passes(function: Callable, key: Key) -> bool:
    return all(judge.judge(key, case, run(function, case.inputs)).passed for case in key.cases)


def _words(key: Key, outcomes: list[Outcome], result: judge.Result) -> tuple[str, str]:
    text, more = render.as_text(result), []
    why = explain(key, outcomes)
    if why and result.verdict and result.verdict.kind != "blank":
        case = key.cases[why.shown]
        inputs = _inputs(case.inputs)
        text += f"\nThe smallest failing input: {inputs}"
        more = [
            f"<details><summary>The smallest failing input</summary><pre>{escape(inputs)}</pre></details>",
            *_pictures(key, case, outcomes[why.shown], result.verdict),
        ]
    return text, render.as_html(result, *more)


def _inputs(inputs: dict[str, Any]) -> str:
    with np.printoptions(precision=4, threshold=60, edgeitems=2, suppress=True):
        return "\n".join(f"{name} = {getattr(value, '__name__', repr(value))}" for name, value in inputs.items())


def _pictures(key: Key, case: Case, outcome: Outcome, verdict: Verdict) -> list[str]:
    """A picture of the first judged output that differs, where the verdict is about values."""
    if verdict.kind not in ("nan", "value"):
        return []
    outputs = judged_outputs(key, case.expected.value, outcome.value)
    return [picture(e, v, name) for name, e, v in outputs if difference(e, v, name, "", key.tolerance)][:1]


def _show(shown: _Shown) -> None:
    # IPython is there in every notebook and need not be anywhere else.
    ipython = sys.modules.get("IPython")
    if ipython and ipython.get_ipython():
        ipython.display.display(shown)
    else:
        print(shown)
