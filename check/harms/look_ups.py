"""Harm a student's own backward pass of a look-up: change its arguments, or what it returns.

A backward pass gets grad_output, (..., T, d_model), and cache, (tokens, vocab). It returns (vocab, d_model).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Cache = tuple[np.ndarray, int]


def _last_item(function: Callable, grad_output: np.ndarray, cache: Cache) -> Any:
    tokens, vocab = cache
    return function(grad_output[-1], (tokens[-1], vocab)) if tokens.ndim > 1 else function(grad_output, cache)


def _next_position(function: Callable, grad_output: np.ndarray, cache: Cache) -> Any:
    return function(np.roll(grad_output, 1, axis=-2), cache)


def _last_place_of_each_token(function: Callable, grad_output: np.ndarray, cache: Cache) -> Any:
    tokens, _ = cache
    _, from_the_end = np.unique(tokens.ravel()[::-1], return_index=True)
    is_last = np.isin(np.arange(tokens.size)[::-1], from_the_end).reshape(tokens.shape)
    return function(np.where(is_last[..., None], grad_output, 0).astype(grad_output.dtype), cache)


def _without_unused_rows(function: Callable, grad_output: np.ndarray, cache: Cache) -> Any:
    return function(grad_output, cache)[np.unique(cache[0])]


def _row_0_as_zeros(function: Callable, grad_output: np.ndarray, cache: Cache) -> Any:
    grad_table = np.array(function(grad_output, cache))
    grad_table[:1] = 0
    return grad_table


LOOK_UP_HARMS: dict[str, tuple[str, Callable]] = {
    "last item": ("reads the last item of a batch only", _last_item),
    "other positions": ("gives a token the gradient of another position", _next_position),
    "repeated tokens": ("counts a repeated token once", _last_place_of_each_token),
    "unused tokens": ("leaves out the rows of tokens that do not occur", _without_unused_rows),
    "token 0": ("gives token 0 no gradient", _row_0_as_zeros),
}
