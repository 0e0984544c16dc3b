"""Grade the weights that chapter 10 asks for: check the form of the file, and give points for the error rate on
withheld words.

`benchmarks/weight_limits.py` trains the models of ten seeds, and prints the error rates from which the limits were
chosen.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from autograder.authoring.hand_in import HandIn, Tier
from autograder.layout import REPO
from check.weights_file import Expected
from solutions import letters_to_sounds as model
from solutions.model import encode as read
from solutions.parameters import flatten, named, unflatten
from solutions.pronunciations import PAD, Words, encode, load_words, spelled

FOLDER = Path(__file__).parent
N_WITHHELD, N_WORDS = 4000, 1000
EXAMPLES = ("choir", "colonel", "knight")

MODEL = """
import numpy as np

from solutions.letters_to_sounds import fresh_model, transcribe
from solutions.parameters import unflatten


def written(weights, rows):
    # In groups of words that are about as long, because a group is decoded until its last word ends.
    params = unflatten(weights.astype(np.float32), fresh_model(0))
    lengths = (rows != 0).sum(axis=1)
    texts = np.zeros((len(rows), 20), np.int64)
    for group in np.array_split(np.argsort(lengths, kind="stable"), 3):
        tokens = transcribe(params, rows[group, : lengths[group[-1]]])
        texts[group, : tokens.shape[1]] = tokens
    return texts


measured = written
"""


@cache
def known() -> Words:
    """Return the words to train on."""
    return load_words(REPO / "chapters" / "pronunciations.npz")["known"]


def withheld(seed: int, n: int = N_WORDS) -> tuple[np.ndarray, np.ndarray]:
    """Return letters and sounds of n words that students do not have, chosen for a course."""
    letters, sounds = load_words(FOLDER / "withheld.npz")["withheld"]
    chosen = np.random.default_rng(seed).choice(len(letters), n, replace=False)
    return letters[chosen], sounds[chosen]


def error_rate(written: np.ndarray, right: np.ndarray) -> float:
    n_edits, n_sounds = model.errors(written, right)
    return n_edits / n_sounds


def book() -> np.ndarray:
    with np.load(REPO / "chapters" / "book_weights.npz", allow_pickle=False) as file:
        return file["weights"]


def hidden(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return what the encoder computes for each letter."""
    params = unflatten(weights.astype(np.float32), model.fresh_model(0))
    memory, _ = read(params, rows.astype(np.int64), model.N_HEADS)
    return memory[rows != PAD]


def start(recipe: Mapping[str, float]) -> np.ndarray:
    return flatten(model.fresh_model(int(recipe["seed"])))


def retrained(recipe: Mapping[str, float]) -> np.ndarray:
    return flatten(model.trained(recipe, *known())[0])


def work(recipe: Mapping[str, float]) -> float:
    tokens = max(recipe["tokens"], model.RECIPE["tokens"])  # `trained` keeps models by the step, even in a short run
    return recipe["steps"] * tokens / (model.RECIPE["steps"] * model.RECIPE["tokens"])


hand_in = HandIn(
    expected=Expected(
        layout={path: array.shape for path, array in named(model.fresh_model(0)).items()},
        recipe={name: (*model.RANGES[name], isinstance(usual, int)) for name, usual in model.RECIPE.items()},
        taken_seed=model.RECIPE["seed"],
    ),
    section="Hand in weights",
    tiers=tuple(Tier(1.0, limit, f"at most {limit:.0%} errors") for limit in (0.50, 0.25, 0.19, 0.17)),
    model=MODEL,
    withheld=withheld,
    figure=error_rate,
    sentence="{figure:.1%} of the sounds of {n:,} withheld words are wrong.",
    examples=EXAMPLES,
    encoded=lambda words: encode(list(words)),
    spelled=spelled,
    book=book,
    hidden=hidden,
    start=start,
    retrained=retrained,
    work=work,
    same_seed=0.7,  # 0.88 with the book's recipe, 0.825 after four times its steps
    same_run=0.9,
    same_way=0.04,
    # Seven honest models have 0.62 or less. Copies have 1.00 in disguise, 0.97 after 300 more steps, and 0.86 with so
    # much noise that they lose points.
    copy=0.8,
)
