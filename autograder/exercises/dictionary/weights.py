"""Grade the weights that chapter 12 asks for: check the form of the file, and give points for the loss on withheld
entries.

`benchmarks/weight_limits.py` trains models of several seeds, and prints the losses from which the limits were chosen.
"""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np

from autograder.authoring.hand_in import HandIn, Tier
from autograder.layout import REPO
from check.weights_file import Expected
from solutions import definer as model
from solutions.definitions import END, PAD, load_entries, load_merges, numbered, padded, vocabulary_of
from solutions.dictionary import text_tokens
from solutions.parameters import flatten, named, unflatten

ENTRIES = REPO / "chapters" / "definitions.npz"
WITHHELD = Path(__file__).with_name("withheld.npz")
N_WITHHELD, N_ENTRIES = 3000, 1000
EXAMPLES = ("gloamer n", "snorfle v", "tremoric a")

MODEL = """
import numpy as np

from solutions.definer import SIZES, definer_forward, fresh_definer, token_losses
from solutions.definitions import END, PAD
from solutions.parameters import unflatten

LONGEST = 24  # how many tokens of a definition are written


def params_of(weights):
    return unflatten(weights.astype(np.float32), fresh_definer(np.random.default_rng(0), **SIZES))


def measured(weights, rows):
    # In groups of texts that are about as long, because all texts of a group take as long as its longest.
    params, lengths = params_of(weights), (rows != PAD).sum(axis=1)
    losses = np.zeros((len(rows), rows.shape[1] - 1), np.float32)
    for group in np.array_split(np.argsort(lengths, kind="stable"), min(10, len(rows))):
        longest = lengths[group[-1]]
        losses[group, : longest - 1] = token_losses(params, rows[group, :longest], SIZES["n_heads"])
    return losses


def written(weights, rows):
    # The likeliest token, again and again.
    params, texts = params_of(weights), np.full((len(rows), LONGEST), PAD)
    for text, row in zip(texts, rows):
        row = row[row != PAD]
        for i in range(LONGEST):
            logits, _ = definer_forward(params, row, SIZES["n_heads"])
            text[i] = logits[-1].argmax()
            if text[i] == END:
                break
            row = np.append(row, text[i])
    return texts
"""


@cache
def merges() -> list[tuple[str, str]]:
    """Return the merges of the book's model."""
    return load_merges(ENTRIES)


def tokens(texts: list[str]) -> list[list[int]]:
    """Return the numbers of the tokens of each text."""
    return numbered(texts, partial(text_tokens, merges=merges()), vocabulary_of(merges()))


@cache
def known() -> list[list[int]]:
    """Return the entries to train on."""
    return tokens(load_entries(ENTRIES)["known"])


def withheld(seed: int, n: int = N_ENTRIES) -> tuple[np.ndarray, np.ndarray]:
    """Return n entries that students do not have, chosen for a course: all tokens, and those that are predicted."""
    entries = load_entries(WITHHELD)["withheld"]
    chosen = np.random.default_rng(seed).choice(len(entries), n, replace=False)
    rows = padded(tokens([entries[i] for i in chosen]))
    return rows, rows[:, 1:]


def loss(losses: np.ndarray, right: np.ndarray) -> float:
    """Return the mean loss of a token, from those of all tokens, which are 0 at padding."""
    return float(losses.sum(dtype=np.float64) / (right != PAD).sum())


def encoded(words: tuple[str, ...]) -> np.ndarray:
    """Return the beginnings of entries, up to the colon."""
    texts = tokens([f"{word}:" for word in words])
    rows = padded(texts)
    rows[np.arange(len(rows)), [len(text) + 1 for text in texts]] = PAD
    return rows


def spelled(row: np.ndarray) -> str:
    """Return a definition in quotes."""
    names, text = vocabulary_of(merges()), row.tolist()
    end = next((i for i, token in enumerate(text) if token in (PAD, END)), len(text))
    return f"“{''.join(names[token] for token in text[:end]).strip()}”"


def book() -> np.ndarray:
    with np.load(REPO / "chapters" / "dictionary_run.npz", allow_pickle=False) as file:
        return file["weights"]


def hidden(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return what the last layer hands to the table, for each token."""
    like = model.fresh_definer(np.random.default_rng(0), **model.SIZES)
    params = unflatten(weights.astype(np.float32), like)
    _, (*_, (normed, _)) = model.definer_forward(params, rows, model.SIZES["n_heads"])
    return normed[rows != PAD]


def start(recipe: Mapping[str, float]) -> np.ndarray:
    return flatten(model.fresh_definer(np.random.default_rng(int(recipe["seed"])), **model.SIZES))


def retrained(recipe: Mapping[str, float]) -> np.ndarray:
    for run, _ in model.train(recipe, known()):
        last = run
    return flatten(last["params"])


def work(recipe: Mapping[str, float]) -> float:
    # A step of a single entry takes about a quarter of the time of one of 32.
    return recipe["steps"] * max(recipe["size"], 9) / (model.RECIPE["steps"] * model.RECIPE["size"])


hand_in = HandIn(
    expected=Expected(
        layout={
            path: array.shape
            for path, array in named(model.fresh_definer(np.random.default_rng(0), **model.SIZES)).items()
        },
        recipe={name: (*model.RANGES[name], isinstance(usual, int)) for name, usual in model.RECIPE.items()},
        taken_seed=model.RECIPE["seed"],
    ),
    section="Hand in weights",
    tiers=tuple(Tier(1.0, limit, f"a loss of at most {limit:.2f} nats") for limit in (4.40, 3.80, 3.40, 3.25)),
    model=MODEL,
    withheld=withheld,
    figure=loss,
    sentence="The loss of {n:,} withheld entries is {figure:.3f} nats for each token.",
    examples=EXAMPLES,
    encoded=encoded,
    spelled=spelled,
    book=book,
    hidden=hidden,
    start=start,
    retrained=retrained,
    work=work,
    same_seed=0.1,
    same_run=0.9,
    same_way=0.04,
    copy=0.8,  # five honest models have 0.41 or less; copies have 1.00 in disguise, and 0.90 with noise of 0.02
)
