"""Measure what a student's attention matrices do on sentences that the student's function never saw.

Many different matrices do the same. So an exercise that asks for matrices names one of the MEASURES, and the judge
compares what the student's matrices do with what the reference's do. Nothing here is secret.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_COLUMNS = 512  # more would take time, and no exercise needs them
LARGEST = 1e6  # far more than any softmax needs; the products of two such numbers do not overflow
PROPERTIES = ("attended", "sharpness", "copied")
NO_POSITION = -1  # in `attended`, where two weights are the largest
HALF, SURE = 0.5, 0.99  # the limits of the bands of sharpness


class Malformed(ValueError):
    """A student's value has no form that a measure can use; the message says so to the student."""


@dataclass(frozen=True)
class Attention:
    """What attention did: weights (..., T, T_key), output (..., T, n_words) or None, counts (..., T).

    counts says which positions are judged.
    """

    weights: np.ndarray
    output: np.ndarray | None
    counts: np.ndarray


def properties(attention: Attention, asks: Sequence[str]) -> tuple[np.ndarray | None, ...]:
    """Return each of PROPERTIES as integers (..., T), or None in the place of those that are not in `asks`.

    attended: the position with the largest weight, or NO_POSITION. sharpness: 0 if the largest weight is below one
    half, 1 if it is below 99%, and 2 otherwise. copied: the word for which the output is largest. Positions that do
    not count have zeros.
    """
    found = {"attended": _attended, "sharpness": _sharpness, "copied": _copied}
    return tuple(np.where(attention.counts, found[name](attention), 0) if name in asks else None for name in PROPERTIES)


def _attended(attention: Attention) -> np.ndarray:
    best, second = (np.partition(attention.weights, -n, axis=-1)[..., -n] for n in (1, 2))
    return np.where(best - second > 1e-9, attention.weights.argmax(axis=-1), NO_POSITION)


def _sharpness(attention: Attention) -> np.ndarray:
    largest = attention.weights.max(axis=-1)
    return (largest >= HALF).astype(np.int64) + (largest >= SURE)


def _copied(attention: Attention) -> np.ndarray:
    assert attention.output is not None
    return attention.output.argmax(axis=-1)


def words_and_positions(words: np.ndarray, n_words: int, length: int) -> np.ndarray:
    """Return (..., T, n_words + length): a one for each word, then a one for its position. words: (..., T), ints."""
    positions = np.broadcast_to(np.eye(length)[: words.shape[-1]], (*words.shape, length))
    return np.concatenate([np.eye(n_words)[words], positions], axis=-1)


def attend(x: np.ndarray, w_query: np.ndarray, w_key: np.ndarray) -> np.ndarray:
    """Return the weights (..., T, T) with which the rows of x attend to each other."""
    scores = (x @ w_query) @ (x @ w_key).swapaxes(-1, -2) / np.sqrt(max(w_query.shape[-1], 1))
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def matrices(value: Any, names: Sequence[str], rows: int, columns: dict[str, int]) -> list[np.ndarray]:
    """Return a student's matrices in float64.

    Args:
        value: what the student's function returned.
        names: of the matrices, in their order. `w_query` and `w_key` must have equally many columns.
        rows: how many rows each must have.
        columns: name -> how many columns that matrix must have.

    Raises Malformed.
    """
    if not isinstance(value, tuple | list) or len(value) != len(names):
        raise Malformed(f"The result should be {len(names)} matrices: end with `return {', '.join(names)}`.")
    for name, matrix in zip(names, value, strict=True):
        if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
            raise Malformed(f"`{name}` should be a matrix: a NumPy array of numbers with two axes.")
        if len(matrix) != rows:
            raise Malformed(f"`{name}` has {len(matrix)} rows, but the input has {rows} features.")
        if matrix.shape[1] > MOST_COLUMNS:
            raise Malformed(f"`{name}` has {matrix.shape[1]} columns, but at most {MOST_COLUMNS} are allowed.")
        if matrix.shape[1] != columns.get(name, matrix.shape[1]):
            raise Malformed(f"`{name}` has {matrix.shape[1]} columns, but should have {columns[name]}.")
        if not np.isfinite(matrix).all():
            raise Malformed(f"`{name}` contains NaN or infinity.")
        if np.abs(matrix.astype(np.float64)).max(initial=0.0) > LARGEST:
            raise Malformed(f"`{name}` contains a number beyond a million. No softmax needs that much.")
    widths = {name: matrix.shape[1] for name, matrix in zip(names, value, strict=True)}
    if widths["w_query"] != widths["w_key"]:
        raise Malformed(f"`w_query` has {widths['w_query']} columns and `w_key` has {widths['w_key']}.")
    return [matrix.astype(np.float64) for matrix in value]


def copying(value: Any, n_words: int, length: int, words: np.ndarray) -> Attention:
    """Let each word of sentences attend to the others; the first word of each sentence is not judged.

    value: w_query, w_key and w_value, with a row for each word and each position. words: (sentences, T), ints.
    """
    w_query, w_key, w_value = matrices(
        value, ("w_query", "w_key", "w_value"), n_words + length, columns={"w_value": n_words}
    )
    x = words_and_positions(words, n_words, length)
    weights = attend(x, w_query, w_key)
    return Attention(weights, weights @ x @ w_value, np.broadcast_to(np.arange(words.shape[-1]) > 0, words.shape))


# Takes the value, the inputs of the function, and the unseen inputs except `asks`; raises Malformed.
MEASURES: dict[str, Callable[..., Attention]] = {"copying": copying}
