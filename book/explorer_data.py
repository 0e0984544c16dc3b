"""What a page contains for its explorers: parameters of models in few bytes, and words and entries to try them on."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from solutions.definer_parameters import SIZES, fresh_definer
from solutions.definitions import load_entries
from solutions.letters_to_sounds import fresh_model
from solutions.page_model import code_bits, quantised
from solutions.parameters import load, named, unflatten
from solutions.pronunciations import load_words, spelled

N_WORDS = 100  # words to test a model on
N_OTHERS = 8  # words of a part of speech to compare a word with
STACK_BITS = 6  # with these, the stack that invents words pronounces as many unseen words rightly as with 16


def parameters_of(path: Path) -> dict[str, Any]:
    """Return the content of a file of parameters: see `packed`, and "notice" if the file has one.

    The file has an array for each path, or one vector `weights`, as `hand_in` of chapter 10 writes it, or it is one of
    `solutions.page_model`. Raises OSError, ValueError or BadZipFile if the file cannot be read, or the vector is too
    short.
    """
    with np.load(path, allow_pickle=False) as file:
        arrays = named(unflatten(file["weights"], fresh_model(0))) if "weights" in file.files else dict(file)
    notice = {"notice": str(arrays.pop("notice"))} if "notice" in arrays else {}
    return packed(arrays) | notice


def unseen_words(path: Path) -> list[tuple[str, str]]:
    """Return letters and sounds of N_WORDS words of word families that training has not seen: ("choir", "K W AY ER").

    Raises OSError, ValueError, BadZipFile or KeyError if it is not a file of words.
    """
    letters, sounds = load_words(path)["held_out_families"]
    chosen = np.random.default_rng(0).choice(len(letters), N_WORDS, replace=False)
    return [(spelled(word), spelled(spoken)) for word, spoken in zip(letters[chosen], sounds[chosen], strict=True)]


def six_bits(path: Path) -> dict[str, Any]:
    """Return the content of a file of parameters, see `packed`, with STACK_BITS for each number of a matrix."""
    return packed(quantised(load(path), STACK_BITS))


def packed(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return what `Model.read` restores: "shapes" by path, "bits" of the codes of a path, and "base64".

    The bytes of "base64" are the arrays in the order of the shapes, in half precision. Codes are packed without gaps,
    the highest bit first, each plus 2**(bits - 1), and their scales follow.

    Args:
        arrays: by path; codes are int8, see `quantised`.
    """
    shapes = {path: array.shape for path, array in arrays.items() if not path.endswith(".scales")}
    bits = {path: code_bits(array) for path, array in arrays.items() if array.dtype == np.int8}
    parts = []
    for path in shapes:
        if path in bits:
            codes = (arrays[path].ravel() + np.int16(2 ** (bits[path] - 1))).astype(np.uint8)
            parts.append(np.packbits(np.unpackbits(codes[:, None], axis=1)[:, 8 - bits[path] :]).tobytes())
        parts.append(arrays[f"{path}.scales" if path in bits else path].astype("<f2").tobytes())
    return {"shapes": shapes, "bits": bits, "base64": base64.b64encode(b"".join(parts)).decode()}


def entries_of(path: Path) -> dict[str, Any]:
    """Return what a page needs from a file of entries.

    Returns:
        "merges": their text. "others": N_OTHERS words by part of speech. "shapes": by path, of the model that readers
        train.
    """
    with np.load(path, allow_pickle=False) as file:
        merges = file["merges"].tobytes().decode()
    heads = [line.split(":")[0].split(" ") for line in load_entries(path)["known"]]
    rng = np.random.default_rng(0)
    others = {
        part: rng.choice([word for word, its_part in heads if its_part == part], N_OTHERS, replace=False).tolist()
        for part in "nvar"
    }
    shapes = {name: array.shape for name, array in named(fresh_definer(rng, **SIZES)).items()}
    return {"merges": merges, "others": others, "shapes": shapes}
