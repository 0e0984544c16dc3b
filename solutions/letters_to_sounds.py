"""The trained model of chapter 10: a recipe makes its weights, and its errors are counted sound by sound.

    python -m solutions.letters_to_sounds WORDS.npz FILE.npz

trains on the known words with the book's recipe and writes the weights.
"""

import sys

import numpy as np

from solutions.decoding import incremental_greedy_decode
from solutions.parameters import initialise, save
from solutions.project import batches_by_length, continue_run, edit_path
from solutions.pronunciations import EOS, VOCABULARY, load_words, pairs, token_counts
from solutions.training import average, zero_moments

N_HEADS = 4
SIZES = {"d_model": 64, "d_ff": 256, "n_encoder": 2, "n_decoder": 2}
EVERY = 20  # steps between two sets of weights that are averaged

# Everything that decides the weights, besides the words: see `trained`.
RECIPE = {
    "seed": 0,
    "steps": 1500,
    "tokens": 1000,
    "peak": 0.003,
    "warmup": 150,
    "longest": 1.0,
    "smoothing": 0.1,
    "averaged": 0.25,
}
RANGES = {
    "seed": (0, 2**32 - 1),
    "steps": (1, 100_000),
    "tokens": (1, 100_000),
    "peak": (0, 1),
    "warmup": (1, 100_000),
    "longest": (1e-6, 1e6),
    "smoothing": (0, 0.9),
    "averaged": (0, 1),
}


def checked_recipe(recipe):
    """Return a recipe as a new dict of int and float.

    Args:
        recipe: dict with the keys of RECIPE, and a number for each.

    Raises:
        ValueError: a key is missing or unknown, a value is not a number, a whole number has a fraction, or a number is
        out of its range.
    """
    if not isinstance(recipe, dict) or set(recipe) != set(RECIPE):
        raise ValueError(f"a recipe is a dict with the keys {', '.join(RECIPE)}")
    checked = {}
    for name, usual in RECIPE.items():
        value, (low, high) = recipe[name], RANGES[name]
        kind = "a whole number" if isinstance(usual, int) else "a number"
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not low <= value <= high or (isinstance(usual, int) and value != int(value)):
            raise ValueError(f"{name} of a recipe is {kind} from {low:g} to {high:g}, and this one is {value!r}")
        checked[name] = type(usual)(value)
    return checked


def fresh_model(seed):
    """The parameters before training: 237,888 numbers, float32. See `initialise`."""
    return initialise(np.random.default_rng(seed), {"shared": len(VOCABULARY)}, **SIZES, dtype=np.float32)


def endless_batches(seed, source, target, tokens):
    """Batches by length, in a new random order in each pass over the words.

    Args:
        seed: decides the orders.
        source, target: (N, T_source) and (N, T_target), tokens.
        tokens: places in a batch, padding included; see `batches_by_length`.

    Yields:
        src, tgt: see `pairs`.
    """
    rng = np.random.default_rng([seed, 1])
    sizes = np.stack([token_counts(source), token_counts(target)], axis=1)
    while True:
        order = rng.permutation(len(sizes))
        batches, _ = batches_by_length(sizes[order], tokens)
        for i in rng.permutation(len(batches)).tolist():
            rows = order[batches[i]]
            yield pairs(source[rows], target[rows])


def train(recipe, source, target, params=None, n_heads=N_HEADS):
    """Train a model, and pause every 20 steps.

    Args:
        recipe: see RECIPE and `checked_recipe`.
        source, target: (N, T_source) and (N, T_target), tokens: letters and sounds, or the other way round.
        params: the parameters before training; by default the fresh model of the recipe's seed.
        n_heads: int

    Yields:
        run, log: see `continue_run`.
    """
    params = params or fresh_model(recipe["seed"])
    run = {"params": params, "moments": zero_moments(params), "step": 0}
    batches = endless_batches(recipe["seed"], source, target, recipe["tokens"])
    numbers = {name: recipe[name] for name in ("peak", "warmup", "longest", "smoothing")}
    while run["step"] < recipe["steps"]:
        n_steps = min(EVERY, recipe["steps"] - run["step"])
        run, log = continue_run(run, [next(batches) for _ in range(n_steps)], n_heads, **numbers)
        yield run, log


def trained(recipe, source, target):
    """Train a model to the end.

    Args: see `train`.

    Returns:
        params: the mean of the weights at the pauses in the last share `averaged` of the steps, or those of the last
            step if there are none.
        log: (steps, 2), see `continue_run`.
    """
    kept, log = [], []
    for run, part in train(recipe, source, target):
        log.append(part)
        if run["step"] > (1 - recipe["averaged"]) * recipe["steps"]:
            kept.append(run["params"])
    return average(kept or [run["params"]]), np.concatenate(log)


def transcribe(params, rows, max_length=20, n_heads=N_HEADS):
    """Write the likeliest tokens for each row: sounds for letters, or letters for sounds.

    Args:
        params: nested dict, see `fresh_model`.
        rows: (N, T), tokens, padded at the end.
        max_length: how many tokens may be written.
        n_heads: int

    Returns:
        tokens: (N, T_written), with the end mark and padding after it, without the begin mark.
    """
    return incremental_greedy_decode(params, rows.astype(np.int64), n_heads, max_length)


def errors(written, target):
    """Count the edits between what was written and what is right.

    Args:
        written: (N, T_written), tokens; a row counts up to its end mark.
        target: (N, T), tokens, padded at the end.

    Returns:
        n_edits: int, of all rows.
        n_tokens: int, of all targets. The error rate is n_edits / n_tokens.
    """
    n_edits = sum(edit_path(*row)[0] for row in zip(map(until_end, written), map(until_end, target), strict=True))
    return n_edits, int(token_counts(target).sum())


def until_end(row):
    """The tokens of a row before its end mark and its padding."""
    ends = np.flatnonzero((row == EOS) | (row == 0))
    return row[: ends[0]] if len(ends) else row


def main(words_path, path):
    words = load_words(words_path)
    params, _ = trained(RECIPE, *words["known"])
    save(path, params)
    for part in ("held_out", "held_out_families"):
        n_edits, n_sounds = errors(transcribe(params, words[part].letters), words[part].sounds)
        print(f"{part}: {n_edits / n_sounds:.2%} of {n_sounds:,} sounds wrong")


if __name__ == "__main__":
    main(*sys.argv[1:])
