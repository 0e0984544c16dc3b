"""Make the data of an explorer with a trained model: parameters in half precision, and words to test the model on."""

import base64
from pathlib import Path
from typing import Any

import numpy as np

from solutions.letters_to_sounds import fresh_model
from solutions.parameters import named, unflatten
from solutions.pronunciations import load_words, spelled

N_WORDS = 100


def half_precision(path: Path) -> dict[str, Any]:
    """Return the content of a file of parameters: "shapes" by path, and "float16", all numbers in that order, in
    base64.

    The file has an array for each path, or one vector `weights`, as `hand_in` of chapter 10 writes it.

    Raises:
        OSError, ValueError, BadZipFile: the file cannot be read, or the vector is too short.
    """
    with np.load(path, allow_pickle=False) as file:
        arrays = named(unflatten(file["weights"], fresh_model(0))) if "weights" in file.files else dict(file)
    numbers = b"".join(array.astype("<f2").tobytes() for array in arrays.values())
    shapes = {name: array.shape for name, array in arrays.items()}
    return {"shapes": shapes, "float16": base64.b64encode(numbers).decode()}


def unseen_words(path: Path) -> list[tuple[str, str]]:
    """Return letters and sounds of N_WORDS words of word families that training has not seen: ("choir", "K W AY ER").

    Raises:
        OSError, ValueError, BadZipFile, KeyError: the file is no file of words.
    """
    letters, sounds = load_words(path)["held_out_families"]
    chosen = np.random.default_rng(0).choice(len(letters), N_WORDS, replace=False)
    return [(spelled(word), spelled(spoken)) for word, spoken in zip(letters[chosen], sounds[chosen], strict=True)]
