"""Weights that the example class hands in: honest, lazy, stolen, and files that try to harm the grader."""

import io
import json
import pickle
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograder.authoring.hand_in import hand_in_of
from autograder.layout import number_and_word
from check.handing_in import packed
from check.weights_file import MAX_BYTES, unpack

LAZY_SEED = 7


@cache
def honest(chapter: str) -> bytes:
    """Return the file of weights of an honest run, which `benchmarks/weight_limits.py` made with seed 1."""
    return Path(__file__).with_name(f"honest_{number_and_word(chapter)[1]}.npz").read_bytes()


def dishonest(chapter: str) -> Iterator[tuple[str, str, bytes, bool]]:
    """Yield student, description, file of weights, and whether grading gives its points.

    Grading alone cannot see that a classmate's file is another student's; `autograder audit` reports it.
    """
    hand_in = hand_in_of(chapter)
    assert hand_in is not None
    good, recipe = unpack(honest(chapter), hand_in.expected)
    lazy = hand_in.start(recipe | {"seed": LAZY_SEED})
    objects = np.array([_Harmful()], dtype=object)
    not_a_number = np.full_like(good, np.nan)
    yield "lazy", "untrained weights", saved(lazy.astype(np.float16), recipe | {"seed": LAZY_SEED}), False
    yield "books-own", "the book's weights under another seed", saved(hand_in.book(), recipe), False
    yield "classmate", "a classmate's weights", honest(chapter), True
    yield "oversized", "a file that is too large", saved(np.zeros(MAX_BYTES, np.float16), recipe), False
    yield "pickle", "a pickle among the arrays", saved(objects, recipe), False
    yield "pickle-alone", "a pickle instead of a file of weights", pickle.dumps(_Harmful()), False
    yield "wrong-shape", "weights of another model", saved(good[:-1], recipe), False
    yield "not-a-number", "NaN in every weight", saved(not_a_number, recipe), False
    yield "zip-bomb", "a small file that unpacks to 200 MB", saved(np.zeros(10**8, np.float16), recipe, True), False
    yield "giant", "a header that declares a billion numbers", _giant(good, recipe), False


def output(raw: bytes, recipe: dict[str, float]) -> dict[str, Any]:
    """Return the output that `hand_in` leaves in a notebook."""
    shown = packed(raw, recipe)
    return {"output_type": "display_data", "metadata": {}, "data": {"text/html": shown.html, "text/plain": shown.text}}


def saved(weights: np.ndarray, recipe: dict[str, float], compressed: bool = False) -> bytes:
    """Return a file of weights, whatever they are."""
    save = np.savez_compressed if compressed else np.savez
    buffer = io.BytesIO()
    save(buffer, weights=weights, recipe=np.frombuffer(json.dumps(recipe).encode(), np.uint8))
    return buffer.getvalue()


class _Harmful:
    """An object whose pickle ends the process that opens it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exit, (1,)


def _giant(weights: np.ndarray, recipe: dict[str, float]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(weights, recipe))) as honest_file, zipfile.ZipFile(buffer, "w") as file:
        content = honest_file.read("weights.npy")
        declared = f"({10**9},)".encode()
        shape = f"({len(weights)},)".encode()
        file.writestr(
            "weights.npy", content.replace(shape, declared).replace(b" " * (len(declared) - len(shape)), b"", 1)
        )
        file.writestr("recipe.npy", honest_file.read("recipe.npy"))
    return buffer.getvalue()
