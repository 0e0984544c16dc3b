"""Harm a student's own `modern_layer`: change its parameters, its output or its cache.

A layer gets x, params and n_heads. It returns the output and the cache (norm_attention, (normed, (queries, keys,
values, weights), merged, weights), norm_feed_forward, feed_forward).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from check.trees import mapped

Params = dict[str, Any]


def _with_attention(change: Callable[[Params, int], Params]) -> Callable:
    """The harm that replaces matrices of the attention. change: (matrices, n_heads) -> other matrices."""

    def harmed(function: Callable, x: np.ndarray, params: Params, n_heads: int) -> Any:
        attention = params["attention"]
        return function(x, params | {"attention": attention | change(attention, n_heads)}, n_heads)

    return harmed


def _with_params(change: Callable[[Params], Params]) -> Callable:
    """The harm that replaces other parameters."""
    return lambda function, x, params, n_heads: function(x, params | change(params), n_heads)


def _columns(matrix: np.ndarray, d_key: int, order: np.ndarray) -> np.ndarray:
    """The matrix with the columns of each head in another order."""
    return matrix.reshape(len(matrix), -1, d_key)[..., order].reshape(matrix.shape)


def _halves(attention: Params, n_heads: int) -> Params:
    d_key = len(attention["w_query"]) // n_heads
    order = np.arange(d_key).reshape(2, -1).T.ravel()
    return {name: _columns(attention[name], d_key, order) for name in ("w_query", "w_key")}


def _taking_turns(attention: Params, n_heads: int) -> Params:
    d_model = len(attention["w_query"])
    n_groups = attention["w_key"].shape[1] * n_heads // d_model
    order = np.arange(n_heads).reshape(-1, n_groups).T.ravel()  # first all heads of the first group
    query = attention["w_query"].reshape(d_model, n_heads, -1)[:, order].reshape(d_model, d_model)
    output = attention["w_output"].reshape(n_heads, -1, d_model)[order].reshape(d_model, d_model)
    return {"w_query": query, "w_output": output}


def _exchanged(one: str, other: str) -> Callable[[Params], Params]:
    return lambda params: {one: params[other], other: params[one]}


def _gate_for_up(function: Callable, x: np.ndarray, params: Params, n_heads: int) -> Any:
    exchanged = _exchanged("w_gate", "w_up")(params["feed_forward"])
    return function(x, params | {"feed_forward": params["feed_forward"] | exchanged}, n_heads)


def _of_output(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable:
    """The harm that changes the output. change: (x, output) -> another output."""

    def harmed(function: Callable, x: np.ndarray, params: Params, n_heads: int) -> Any:
        output, cache = function(x, params, n_heads)
        return change(x, output), cache

    return harmed


def _next_signs(x: np.ndarray, output: np.ndarray) -> np.ndarray:
    """No slope shows these additions, because small steps change no sign."""
    output = output.copy()
    output[..., :-1, :] += np.sign(x[..., 1:, :]) / 10
    return output


def _of_cache(change: Callable[[np.ndarray, Any, int], Any]) -> Callable:
    """The harm that changes the cache of the attention. change: (x, cache, n_heads) -> another cache."""

    def harmed(function: Callable, x: np.ndarray, params: Params, n_heads: int) -> Any:
        output, (norm, attention, *rest) = function(x, params, n_heads)
        return output, (norm, change(x, attention, n_heads), *rest)

    return harmed


def _copies(x: np.ndarray, attention: Any, n_heads: int) -> Any:
    normed, (queries, keys, values, weights), *rest = attention
    keys, values = (np.repeat(shared, n_heads // shared.shape[-3], axis=-3) for shared in (keys, values))
    return normed, (queries, keys, values, weights), *rest


def _writes_gains(function: Callable, x: np.ndarray, params: Params, n_heads: int) -> Any:
    result = function(x, mapped(lambda part: part.copy() if isinstance(part, np.ndarray) else part, params), n_heads)
    params["norm_attention"] += params["norm_attention"].dtype.type(1)
    return result


def _first_weights(x: np.ndarray, attention: Any, n_heads: int) -> Any:
    normed, (queries, keys, values, weights), *rest = attention
    return normed, (queries, keys, values, np.repeat(weights[..., :1, :], weights.shape[-2], axis=-2)), *rest


LAYER_HARMS: dict[str, tuple[str, Callable]] = {
    "halves": ("pairs column i of a head with column i + d_key/2", _with_attention(_halves)),
    "heads in turns": ("lets the heads of a group take turns", _with_attention(_taking_turns)),
    "scores not divided": (
        "does not divide the scores",
        _with_attention(
            lambda own, n_heads: {
                "w_query": own["w_query"] * own["w_query"].dtype.type((len(own["w_query"]) / n_heads) ** 0.5)
            }
        ),
    ),
    "keys for values": (
        "exchanges keys and values",
        _with_attention(lambda own, n_heads: _exchanged("w_key", "w_value")(own)),
    ),
    "no output matrix": (
        "forgets the output matrix",
        _with_attention(lambda own, n_heads: {"w_output": np.eye(len(own["w_output"]), dtype=own["w_output"].dtype)}),
    ),
    "gains exchanged": ("exchanges the two gains", _with_params(_exchanged("norm_attention", "norm_feed_forward"))),
    "gate for up": ("exchanges w_gate and w_up", _gate_for_up),
    "writes gains": ("writes into the first gain", _writes_gains),
    "x not added": ("forgets to add x", _of_output(lambda x, output: output - x)),
    "next signs": ("adds a tenth of the signs of the next token's row to each row", _of_output(_next_signs)),
    "cache of copies": ("keeps the copies of keys and values in its cache", _of_cache(_copies)),
    "cache of weights": ("keeps in its cache the first token's weights for all tokens", _of_cache(_first_weights)),
    "cache of rows": (
        "keeps x in its cache instead of the normalised rows",
        _of_cache(lambda x, own, n_heads: (x.copy(), *own[1:])),
    ),
}
