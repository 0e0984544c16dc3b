"""Harm a student's own `train_step`: change its arguments, or what it returns.

A step gets params, moments, step, src, tgt, n_heads, learning_rate, smoothing and pad. It returns params, moments and
the loss.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from check.tested import named_arguments

Arguments = dict[str, Any]
Result = tuple[Any, Any, float]  # params, moments, loss
KEPT = 0.9  # the share of the first moment that a step keeps


def _pairwise(change: Callable[[np.ndarray, np.ndarray], np.ndarray], old: Any, new: Any) -> Any:
    """The tree of change(old array, new array) for two trees with the same names."""
    if isinstance(new, dict):
        return {name: _pairwise(change, old[name], part) for name, part in new.items()}
    if isinstance(new, tuple | list):
        return type(new)(_pairwise(change, *pair) for pair in zip(old, new, strict=True))
    return change(old, new)


def _with(change: Callable[[Arguments], Arguments]) -> Callable:
    """The harm that replaces arguments. change: the arguments -> those that replace them."""

    def harmed(function: Callable, *args: Any, **kwargs: Any) -> Result:
        arguments = named_arguments(function, args, kwargs)
        return function(**arguments | change(arguments))

    return harmed


def _then(change: Callable[..., Result]) -> Callable:
    """The harm that changes the result. change: (function, arguments, params, moments, loss) -> another result."""

    def harmed(function: Callable, *args: Any, **kwargs: Any) -> Result:
        arguments = named_arguments(function, args, kwargs)
        return change(function, arguments, *function(**arguments))

    return harmed


def _zeros(tree: Any) -> Any:
    return _pairwise(lambda old, new: np.zeros_like(new), tree, tree)


def _moved(factor: float) -> Callable:
    """The harm that lengthens the parameters' step by a factor."""

    def change(function: Callable, own: Arguments, params: Any, moments: Any, loss: float) -> Result:
        return _pairwise(lambda old, new: old + factor * (new - old), own["params"], params), moments, loss

    return _then(change)


def _without_adam(function: Callable, own: Arguments, params: Any, moments: Any, loss: float) -> Result:
    gradients = _pairwise(lambda old, new: (new - KEPT * old) / (1 - KEPT), own["moments"][0], moments[0])
    return _pairwise(lambda p, g: p - own["learning_rate"] * g, own["params"], gradients), moments, loss


def _other_gradient(change: Callable[[Arguments], Arguments]) -> Callable:
    """The harm that keeps the loss but takes the step of other arguments."""
    return _then(lambda function, own, params, moments, loss: (*function(**own | change(own))[:2], loss))


def _one_array_left_out(function: Callable, own: Arguments, params: Any, moments: Any, loss: float) -> Result:
    """The result with the old tables and their old moments."""
    kept = [{**tree, "embeddings": old["embeddings"]} for tree, old in _with_old(own, params, moments)]
    return kept[0], (kept[1], kept[2]), loss


def _with_old(own: Arguments, params: Any, moments: Any) -> list[tuple[Any, Any]]:
    return [(params, own["params"]), *zip(moments, own["moments"], strict=True)]


def _writes(into: str) -> Callable:
    """The harm that writes the new values into the arrays of an argument."""

    def write(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        old[...] = new
        return old

    def change(function: Callable, own: Arguments, params: Any, moments: Any, loss: float) -> Result:
        _pairwise(write, own[into], {"params": params, "moments": moments}[into])
        return params, moments, loss

    return _then(change)


def _writes_tokens(function: Callable, own: Arguments, params: Any, moments: Any, loss: float) -> Result:
    own["tgt"][:, :-1] = own["tgt"][:, 1:].copy()
    return params, moments, loss


STEP_HARMS: dict[str, tuple[str, Callable]] = {
    "loss after": (
        "returns the loss after the step",
        _then(lambda f, own, params, moments, loss: (params, moments, f(**own | {"params": params})[2])),
    ),
    "source for target": ("exchanges source and target", _with(lambda own: {"src": own["tgt"], "tgt": own["src"]})),
    "begin mark": ("leaves out the begin mark of the target", _with(lambda own: {"tgt": own["tgt"][:, 1:]})),
    "backwards": ("reads the target from right to left", _with(lambda own: {"tgt": own["tgt"][:, ::-1]})),
    "not smoothed": ("does not smooth", _with(lambda own: {"smoothing": 0.0})),
    "loss not smoothed": (
        "smooths the gradient but not the loss",
        _then(lambda f, own, params, moments, loss: (params, moments, f(**own | {"smoothing": 0.0})[2])),
    ),
    "a tenth": ("smooths by a tenth, whatever `smoothing` is", _with(lambda own: {"smoothing": 0.1})),
    "padding": ("treats padding as a word", _with(lambda own: {"pad": -1})),
    "pad 0": ("treats 0 as padding, whatever `pad` is", _with(lambda own: {"pad": 0})),
    "gradient not smoothed": ("smooths the loss but not its gradient", _other_gradient(lambda own: {"smoothing": 0.0})),
    "first sentence": (
        "learns from the first sentence of the batch only",
        _other_gradient(lambda own: {name: own[name][:1] for name in ("src", "tgt")}),
    ),
    "one array": ("leaves the embedding tables and their moments unchanged", _then(_one_array_left_out)),
    "stands still": ("returns the old parameters", _moved(0.0)),
    "twice": ("takes each step twice", _moved(2.0)),
    "uphill": ("takes each step in the opposite direction", _moved(-1.0)),
    "without Adam": ("moves the parameters by rate times gradient", _then(_without_adam)),
    "old moments": (
        "returns the old moments",
        _then(lambda f, own, params, moments, loss: (params, own["moments"], loss)),
    ),
    "old squares": (
        "returns the old mean of the squares",
        _then(lambda f, own, params, moments, loss: (params, (moments[0], own["moments"][1]), loss)),
    ),
    "zero moments": ("begins with moments of zero", _with(lambda own: {"moments": _zeros(own["moments"])})),
    "step 1": ("corrects the bias as in step 1, whatever `step` is", _with(lambda own: {"step": 1})),
    "params in place": ("writes the new parameters into the caller's arrays", _writes("params")),
    "moments in place": ("writes the new moments into the caller's arrays", _writes("moments")),
    "tokens in place": ("shifts the caller's target in place", _then(_writes_tokens)),
}
