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
NO_POSITION = -1  # the value of `attended` if two weights tie for the largest
HALF, SURE = 50, 99  # the limits of the bands of sharpness, in percent


class Malformed(ValueError):
    """A student's value that no measure can use; the message tells the student why."""


@dataclass(frozen=True)
class Attention:
    """What attention did: strengths (..., T, T_key), output (..., T, n_words) or None, counts (..., T).

    The strengths of a row are its weights as shares of the largest weight; the output may have any scale, row by row.
    counts says which positions are judged.
    """

    strengths: np.ndarray
    output: np.ndarray | None
    counts: np.ndarray


def properties(attention: Attention, asks: Sequence[str]) -> tuple[np.ndarray | None, ...]:
    """Return each of PROPERTIES as integers (..., T), or None if it is not in `asks`.

    attended: the position with the largest weight, or NO_POSITION. sharpness: the largest weight in percent, rounded
    down; only its `bands` are judged. copied: the word for which the output is largest. Positions that do not count
    have zeros.
    """
    properties = {"attended": _attended, "sharpness": _sharpness, "copied": _copied}
    return tuple(
        np.where(attention.counts, properties[name](attention), 0) if name in asks else None for name in PROPERTIES
    )


def _attended(attention: Attention) -> np.ndarray:
    second = np.partition(attention.strengths, -2, axis=-1)[..., -2]
    return np.where(second < 1 - 1e-9, attention.strengths.argmax(axis=-1), NO_POSITION)


def _sharpness(attention: Attention) -> np.ndarray:
    # The small number keeps a share of 0.57, say, from becoming 56%.
    return np.floor(100 / attention.strengths.sum(axis=-1) + 1e-9).astype(np.int64)


def bands(name: str, values: np.ndarray) -> np.ndarray:
    """What is compared: whether the sharpness reaches HALF and SURE; any other property as it is."""
    return (values >= HALF) + (values >= SURE).astype(np.int64) if name == "sharpness" else values


def _copied(attention: Attention) -> np.ndarray:
    assert attention.output is not None
    return attention.output.argmax(axis=-1)


def words_and_positions(words: np.ndarray, n_words: int, length: int) -> np.ndarray:
    """Return (..., T, n_words + length): a one for each word, then a one for its position. words: (..., T), ints."""
    positions = np.broadcast_to(np.eye(length)[: words.shape[-1]], (*words.shape, length))
    return np.concatenate([np.eye(n_words)[words], positions], axis=-1)


def attend(
    x: np.ndarray, memory: np.ndarray, w_query: np.ndarray, w_key: np.ndarray, *, causal: bool = False
) -> np.ndarray:
    """Return the strengths (..., T, T_memory) with which rows of x attend to rows of memory.

    causal: give later rows no strength.
    """
    scores = (x @ w_query) @ (memory @ w_key).swapaxes(-1, -2) / np.sqrt(max(w_query.shape[-1], 1))
    if causal:
        scores = np.where(np.tri(x.shape[-2], dtype=bool), scores, -np.inf)
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


def matrices(value: Any, names: Sequence[str], rows: int | dict[str, int], columns: dict[str, int]) -> list[np.ndarray]:
    """Return a student's matrices in float64.

    Args:
        value: what the student's function returned.
        names: of the matrices, in their order. `w_query` and `w_key` must have equally many columns.
        rows: how many rows each must have, or name -> how many rows that matrix must have.
        columns: name -> how many columns that matrix must have.

    Raises Malformed.
    """
    if not isinstance(value, tuple | list) or len(value) != len(names):
        raise Malformed(f"The result should be {len(names)} matrices: end with `return {', '.join(names)}`.")
    rows_of = dict.fromkeys(names, rows) if isinstance(rows, int) else rows
    for name, matrix in zip(names, value, strict=True):
        if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
            raise Malformed(f"`{name}` should be a matrix: a NumPy array of numbers with two axes.")
        if len(matrix) != rows_of[name]:
            shape, needs = f"{len(matrix)} rows and {matrix.shape[1]} columns", f"needs {rows_of[name]} rows"
            raise Malformed(f"`{name}` has {shape}, but {needs}: the input has {rows_of[name]} features.")
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
    strengths = attend(x, x, w_query, w_key)
    return Attention(strengths, strengths @ x @ w_value, np.broadcast_to(np.arange(words.shape[-1]) > 0, words.shape))


def looking_back(value: Any, k: int, d_model: int, encoding: np.ndarray) -> Attention:
    """Let positions attend to each other; those without a position k before them are not judged.

    value: w_query and w_key, with d_model rows. encoding: (T, d_model), a row for each position.
    """
    w_query, w_key = matrices(value, ("w_query", "w_key"), d_model, columns={})
    places = np.arange(len(encoding)) - k
    return Attention(attend(encoding, encoding, w_query, w_key), None, (places >= 0) & (places < len(encoding)))


def two_heads(value: Any, n_words: int, length: int, words: np.ndarray) -> Attention:
    """Let each word attend in two heads; its arrays are (2, sentences, T, ...).

    value: w_query, w_key and w_value as in `copying`; the left half of their columns belongs to head 0, the right half
    to head 1. The first word is judged in head 1 only.
    """
    names = ("w_query", "w_key", "w_value")
    whole = matrices(value, names, n_words + length, columns={"w_value": 2 * n_words})
    if whole[0].shape[1] % 2:
        raise Malformed(f"`w_query` has {whole[0].shape[1]} columns, which two heads cannot share equally.")
    x = words_and_positions(words, n_words, length)
    heads = [[np.split(w, 2, axis=1)[head] for w in whole] for head in (0, 1)]
    strengths = np.stack([attend(x, x, w_query, w_key) for w_query, w_key, _ in heads])
    output = np.stack([strengths[head] @ x @ heads[head][2] for head in (0, 1)])
    counts = np.ones((2, *words.shape), dtype=bool)
    counts[0, :, 0] = False
    return Attention(strengths, output, counts)


def finding_subjects(value: Any, kinds: np.ndarray, length: int, words: np.ndarray) -> Attention:
    """Let each word of sentences attend to itself and to earlier words; only verbs are judged.

    value: as in `copying`. kinds: (n_words,), the kind of each word; 3 and 4 are verbs. words: (sentences, T), ints.
    """
    n_words = len(kinds)
    names = ("w_query", "w_key", "w_value")
    w_query, w_key, w_value = matrices(value, names, n_words + length, columns={"w_value": n_words})
    x = words_and_positions(words, n_words, length)
    strengths = attend(x, x, w_query, w_key, causal=True)
    return Attention(strengths, strengths @ x @ w_value, kinds[words] >= 3)


def copying_sources(value: Any, n_words: int, backwards: bool, words: np.ndarray) -> Attention:
    """Let a decoder that copies each source attend to the source's memory.

    value: w_query has a row for each word and the mark; w_key and w_value have a second set of these rows, for the word
    before. words: (sentences, T), ints; a mark follows the last word. The output has a position for each word that the
    decoder writes, and one for the mark.
    """
    n = n_words + 1
    names = ("w_query", "w_key", "w_value")
    rows = dict(zip(names, (n, 2 * n, 2 * n), strict=True))
    w_query, w_key, w_value = matrices(value, names, rows, columns={"w_value": n})
    here = np.concatenate([words, np.full_like(words[..., :1], n_words)], axis=-1)
    before = np.roll(here, 1, axis=-1)  # the mark is also before the first word
    memory = np.concatenate([np.eye(n)[here], np.eye(n)[before]], axis=-1)
    strengths = attend(np.eye(n)[here[..., ::-1] if backwards else before], memory, w_query, w_key)
    return Attention(strengths, strengths @ memory @ w_value, np.ones(here.shape, dtype=bool))


# Each takes the value, the inputs of the function, and the unseen inputs except `asks`; raises Malformed.
MEASURES: dict[str, Callable[..., Attention]] = {
    "copying": copying,
    "looking_back": looking_back,
    "two_heads": two_heads,
    "finding_subjects": finding_subjects,
    "copying_sources": copying_sources,
}
